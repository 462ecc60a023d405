"""Promises about sessions and what they say."""

import copy
import threading

from midfold.errors import MidfoldError, SessionEnded, SessionNotFound, StoreError
from midfold.store import Call, EndReason, ImportedMessage, SessionKind, Store
from midfold.testing.conversations import transcript
from midfold.testing.stores.promises import DIALECT, promise, refuses, say
from midfold.tokens import CanonicalUsage

_HOSTILE_IDS = ("", "../../etc/passwd", "' OR '1'='1", "a\0b", "\ud800", "x" * 100_000, "%", "*")
_THREADS = 4
_APPENDS = 10


def check_messages(store: Store, dialect: str) -> None:
    """Appended messages come back, whole and in order."""
    items = transcript(dialect, seed=3, turns=6, thinking=True, images=True)
    before = copy.deepcopy(items)
    session = store.create_session(dialect=dialect).id
    promise("the first message has the number 0", store.append(session, items[:3]) == 0)
    promise("numbers are dense", store.append(session, items[3:]) == 3)
    promise("append never changes its input", items == before)
    promise(f"messages in {dialect} come back as they were", store.messages(session) == items)
    numbers = [record.seq for record in store.records(session)]
    promise("every record has its number", numbers == list(range(len(items))))
    part = [record.item for record in store.records(session, 2, 5)]
    promise("a part of a session can be read", part == items[2:5])
    refuses(MidfoldError, lambda: store.append(session, [items[0], 17]), "what is no message is refused")
    promise("a refused batch leaves nothing", len(store.messages(session)) == len(items))


def check_strangers(store: Store) -> None:
    """An unknown session is not found, whatever it is called."""
    call = Call(CanonicalUsage(), "m")
    for session in ("f" * 32, *_HOSTILE_IDS):
        for verb in (
            store.messages,
            store.records,
            store.session,
            store.chain,
            store.get_compression_tip,
            store.undo_continuation,
            store.end_session,
            store.delete,
        ):
            refuses(SessionNotFound, lambda v=verb, s=session: v(s), f"{verb.__name__} knows no stranger")  # type: ignore[misc]
        refuses(SessionNotFound, lambda s=session: store.append(s, say("x")), "append knows no stranger")  # type: ignore[misc]
        refuses(SessionNotFound, lambda s=session: store.record_call(s, call), "calls know no stranger")  # type: ignore[misc]


def check_ending(store: Store) -> None:
    """A session that ended takes no more, until it is opened again."""
    session = store.create_session().id
    store.append(session, say("the last word"))
    store.end_session(session)
    refuses(SessionEnded, lambda: store.append(session, say("x")), "a session that ended takes no more")
    promise("a session that ended can be read", store.messages(session) == [say("the last word")])
    promise("why it ended is kept", store.session(session).end_reason == EndReason.CLOSED)
    store.end_session(session, "for another reason")
    promise("the first reason counts", store.session(session).end_reason == EndReason.CLOSED)
    store.reopen_session(session)
    reopened = store.session(session)
    promise("a session can be opened again", (reopened.ended_at, reopened.end_reason) == (None, None))
    promise("one that was opened again takes more", store.append(session, say("and another")) == 1)


def check_kinds(store: Store) -> None:
    """Roots, branches and sub-agents are distinguished."""
    root = store.create_session(source="chat", model="m", title="t").id
    store.append(root, say("to begin with"))
    branch = store.create_session(parent_id=root, kind=SessionKind.BRANCH)
    helper = store.create_session(parent_id=root, kind=SessionKind.SUBAGENT)
    promise("a branch begins with what its parent says", store.messages(branch.id) == store.messages(root))
    promise("a sub-agent begins with nothing", store.messages(helper.id) == [])
    store.append(branch.id, say("another way"))
    promise("a branch goes its own way", len(store.messages(root)) == 1)
    tips = [store.get_compression_tip(each) for each in (root, branch.id, helper.id)]
    promise("neither is taken for a continuation", tips == [root, branch.id, helper.id])
    promise("parents are known", {branch.parent_id, helper.parent_id} == {root})
    listed = [each.id for each in store.sessions(limit=3)]
    promise("sessions are listed newest first", listed == [helper.id, branch.id, root])
    refuses(StoreError, lambda: store.create_session(session_id=root), "an id belongs to one session")
    listed = [each.id for each in store.sessions(limit=1, source="chat")]
    promise("sessions are listed by their source", listed == [branch.id])
    second = [each.id for each in store.sessions(limit=1, after=helper.id)]
    promise("the next page comes after the last session of this one", second == [branch.id])
    promise("a page may be empty", store.sessions(limit=0) == [])
    named = store.create_session(session_id="check-kinds-named").id
    found = [each.id for each in store.sessions(prefix="check-kinds-")]
    promise("sessions are listed by the beginning of their ids", found == [named])
    promise("signs of patterns are letters there", store.sessions(prefix="check%") == [])
    store.set_title(root, "another title")
    promise("a session can be named", store.session(root).title == "another title")
    prompt = [{"type": "text", "text": "You read meters."}]
    prompted = store.create_session(system=prompt).id
    promise("a system prompt is kept", (store.system(prompted), store.system(root)) == (prompt, None))
    again = store.create_session(parent_id=prompted, kind=SessionKind.BRANCH).id
    promise("a branch has the system prompt of its parent", store.system(again) == prompt)


def check_first_messages(store: Store) -> None:
    """A session comes with its first messages, or not at all."""
    items = transcript(DIALECT, seed=5, turns=2)
    root = store.create_session(dialect=DIALECT, messages=items)
    promise("a session begins with its first messages", store.messages(root.id) == items)
    promise("they are counted", root.message_count == len(items))
    branch = store.create_session(parent_id=root.id, kind=SessionKind.BRANCH, messages=[say("another way")])
    promise("those of a branch come after its parent's", store.messages(branch.id)[:-1] == items)
    broken = [items[0], 17]
    refuses(
        MidfoldError,
        lambda: store.create_session(session_id="begun", dialect=DIALECT, messages=broken),
        "first messages that are none are refused",
    )
    refuses(SessionNotFound, lambda: store.session("begun"), "a refused session leaves nothing")


def check_imports(store: Store) -> None:
    """A conversation from elsewhere comes in whole and dated, or not at all."""
    items = transcript(DIALECT, seed=4, turns=3)
    said = [ImportedMessage(item, at=1_000.0 + number, tokens=number) for number, item in enumerate(items)]
    session = store.import_conversation(
        said, dialect=DIALECT, source="file", model="m", title="t", system="be brief", started_at=999.0
    )
    facts = (session.source, session.model, session.title, session.started_at, session.message_count)
    promise("what is known of an import is kept", facts == ("file", "m", "t", 999.0, len(items)))
    promise("an import says what the file said", store.messages(session.id) == items)
    dated = [(record.created_at, record.tokens) for record in store.records(session.id)]
    promise("messages are dated as they were said", dated == [(each.at, each.tokens) for each in said])
    promise("so is the system prompt", store.system(session.id) == "be brief")
    broken = [*said, ImportedMessage(17)]
    refuses(
        MidfoldError,
        lambda: store.import_conversation(broken, dialect=DIALECT, session_id="half"),
        "an import with what is no message is refused",
    )
    refuses(SessionNotFound, lambda: store.session("half"), "a refused import leaves nothing")


def check_threads(store: Store) -> None:
    """Threads append side by side."""
    session = store.create_session(dialect="openai_chat").id
    work = [threading.Thread(target=_append_some, args=(store, session, name)) for name in range(_THREADS)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    records = store.records(session)
    said = {str(record.item) for record in records}
    promise("threads lose nothing", len(said) == len(records) == _THREADS * _APPENDS)
    promise("threads leave no gaps", [each.seq for each in records] == list(range(len(records))))


def _append_some(store: Store, session: str, name: int) -> None:
    for number in range(_APPENDS):
        store.append(session, say(f"thread {name}, {number}"))
