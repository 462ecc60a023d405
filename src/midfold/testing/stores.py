"""`check_store`: does a session store keep the promises that every host relies on?"""

import copy
import threading
from collections.abc import Callable
from contextlib import closing

from midfold.compression.flow import compress
from midfold.compression.policy import CompressionPolicy, Strategy
from midfold.compression.results import Compression
from midfold.compression.run import run
from midfold.compression.state import CompressionState
from midfold.engines.folding import conclude
from midfold.errors import MidfoldError, SessionEnded, SessionNotFound, StoreError
from midfold.store.base import Call, EndReason, Kind, Order, SessionStore
from midfold.testing.conversations import transcript
from midfold.tokens import TokenCounter
from midfold.tokens.usage import CanonicalUsage
from midfold.wire import DIALECTS, Request, parse

_HOSTILE_IDS = ("", "../../etc/passwd", "' OR '1'='1", "a\0b", "\ud800", "x" * 100_000, "%", "*")
_HOSTILE_QUERIES = ('"', '" OR 1=1 --', "AND AND", "NEAR(", "*", "a:b", "\0", "\ud83d", "(" * 5_000, "^$%")
_THREADS = 4
_APPENDS = 10


class StoreContractError(StoreError):
    """A session store does not do what every store promises."""

    def __init__(self, promise: str) -> None:
        super().__init__(f"the store breaks a promise: {promise}")
        self.promise = promise


def check_store(make_store: Callable[[], SessionStore]) -> None:
    """Prove a store against the promises of every store.

    `make_store` opens one and the same store each time, which has no sessions the first time. Raises
    `StoreContractError` naming the first promise that is broken.
    """
    with closing(make_store()) as store:
        for dialect in sorted(DIALECTS):
            _check_messages(store, dialect)
        _check_strangers(store)
        _check_ending(store)
        _check_kinds(store)
        _check_search(store)
        _check_calls(store)
        _check_deleting(store)
        _check_states(store)
        _check_threads(store)
        session, said = _check_folding(store)
    _check_reopening(make_store, session, said)


def _promise(promise: str, kept: bool) -> None:
    if not kept:
        raise StoreContractError(promise)


def _refuses(kind: type[MidfoldError], action: Callable[[], object], promise: str) -> None:
    try:
        action()
    except kind:
        return
    except Exception as error:
        raise StoreContractError(f"{promise}; it raised {error!r}") from error
    raise StoreContractError(promise)


def _say(words: str) -> dict[str, object]:
    return {"role": "user", "content": words}


def _check_messages(store: SessionStore, dialect: str) -> None:
    items = transcript(dialect, seed=3, turns=6, thinking=True, images=True)
    before = copy.deepcopy(items)
    session = store.create_session(dialect=dialect).id
    _promise("the first message has the number 0", store.append(session, items[:3]) == 0)
    _promise("numbers are dense", store.append(session, items[3:]) == 3)
    _promise("append never changes its input", items == before)
    _promise(f"messages in {dialect} come back as they were", store.messages(session) == items)
    numbers = [record.seq for record in store.records(session)]
    _promise("every record has its number", numbers == list(range(len(items))))
    part = [record.item for record in store.records(session, 2, 5)]
    _promise("a part of a session can be read", part == items[2:5])
    _refuses(MidfoldError, lambda: store.append(session, [items[0], 17]), "what is no message is refused")
    _promise("a refused batch leaves nothing", len(store.messages(session)) == len(items))


def _check_strangers(store: SessionStore) -> None:
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
            _refuses(SessionNotFound, lambda v=verb, s=session: v(s), f"{verb.__name__} knows no stranger")  # type: ignore[misc]
        _refuses(SessionNotFound, lambda s=session: store.append(s, _say("x")), "append knows no stranger")  # type: ignore[misc]
        _refuses(SessionNotFound, lambda s=session: store.record_call(s, call), "calls know no stranger")  # type: ignore[misc]


def _check_ending(store: SessionStore) -> None:
    session = store.create_session().id
    store.append(session, _say("the last word"))
    store.end_session(session)
    _refuses(SessionEnded, lambda: store.append(session, _say("x")), "a session that ended takes no more")
    _promise("a session that ended can be read", store.messages(session) == [_say("the last word")])
    _promise("why it ended is kept", store.session(session).end_reason == EndReason.CLOSED)


def _check_kinds(store: SessionStore) -> None:
    root = store.create_session(source="chat", model="m", title="t").id
    store.append(root, _say("to begin with"))
    branch = store.create_session(parent_id=root, kind=Kind.BRANCH)
    helper = store.create_session(parent_id=root, kind=Kind.SUBAGENT)
    _promise("a branch begins with what its parent says", store.messages(branch.id) == store.messages(root))
    _promise("a sub-agent begins with nothing", store.messages(helper.id) == [])
    store.append(branch.id, _say("another way"))
    _promise("a branch goes its own way", len(store.messages(root)) == 1)
    tips = [store.get_compression_tip(each) for each in (root, branch.id, helper.id)]
    _promise("neither is taken for a continuation", tips == [root, branch.id, helper.id])
    _promise("parents are known", {branch.parent_id, helper.parent_id} == {root})
    listed = [each.id for each in store.sessions(limit=3)]
    _promise("sessions are listed newest first", listed == [helper.id, branch.id, root])
    _refuses(StoreError, lambda: store.create_session(session_id=root), "an id belongs to one session")


def _check_search(store: SessionStore) -> None:
    session = store.create_session().id
    store.append(
        session, [_say("the quaxolotl swims"), _say("重要的客户反馈"), _say("parse_quarkHeader fails")]
    )
    for query in ("quaxolotl", '"quaxolotl swims"', "quaxo*", "客户", "quark"):
        hits = store.search(query).hits
        _promise(
            f"every message is found by its words: {query}", [hit.session_id for hit in hits] == [session]
        )
    for order in Order:
        found = store.search("quaxolotl", session_id=session, role="user", order=order).hits
        _promise("a search may be narrowed", len(found) == 1)
    _promise("a search looks where it is told to", store.search("quaxolotl", role="assistant").hits == ())
    for query in _HOSTILE_QUERIES:
        store.search(query)


def _check_calls(store: SessionStore) -> None:
    session = store.create_session().id
    for number in (1, 2, 2, 1):
        usage = CanonicalUsage(input_tokens=10 * number, output_tokens=number)
        store.record_call(session, Call(usage, "m", id=f"check-{number}"))
    used = store.usage(session)
    _promise("the same call is counted once", (used.input_tokens, used.output_tokens) == (30, 3))
    _promise("calls can be listed", len(list(store.calls(session))) == 2)


def _check_states(store: SessionStore) -> None:
    session = store.create_session(dialect="openai_chat").id
    store.append(session, _say("hello"))
    _promise("what was never saved is not there", store.load_state(session, "compression") is None)
    store.save_state(session, "compression", {"pins": ["Only metric units."]})
    kept = {"pins": ["Only metric units."]}
    _promise("a state comes back", store.load_state(session, "compression") == kept)
    branch = store.create_session(parent_id=session, kind=Kind.BRANCH).id
    _promise("a branch starts with its parent's state", store.load_state(branch, "compression") == kept)
    key = store.conversation_key(session)
    _promise("a branch has its parent's key", store.conversation_key(branch) == key != b"")
    other = store.create_session().id
    _promise("each conversation has a key of its own", store.conversation_key(other) != key)
    store.delete(branch)
    store.delete(session)
    again = store.create_session(session_id=session).id
    _promise("a state goes with its conversation", store.load_state(again, "compression") is None)
    store.delete(again)


def _check_deleting(store: SessionStore) -> None:
    kept, doomed = store.create_session().id, store.create_session().id
    for session in (kept, doomed):
        store.append(session, _say("the zyzzyva flies"))
    deleted = store.delete(doomed)
    _promise("a deletion tells what it took", deleted.session_ids == (doomed,) and deleted.messages == 1)
    _refuses(SessionNotFound, lambda: store.messages(doomed), "what was deleted is gone")
    found = [hit.session_id for hit in store.search("zyzzyva").hits]
    _promise("what was deleted is not found, and nothing else is lost", found == [kept])


def _check_threads(store: SessionStore) -> None:
    session = store.create_session(dialect="openai_chat").id
    work = [threading.Thread(target=_append_some, args=(store, session, name)) for name in range(_THREADS)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    records = store.records(session)
    said = {str(record.item) for record in records}
    _promise("threads lose nothing", len(said) == len(records) == _THREADS * _APPENDS)
    _promise("threads leave no gaps", [each.seq for each in records] == list(range(len(records))))


def _append_some(store: SessionStore, session: str, name: int) -> None:
    for number in range(_APPENDS):
        store.append(session, _say(f"thread {name}, {number}"))


def _check_folding(store: SessionStore) -> tuple[str, list[object]]:
    """Return the tip of a chain that was folded, taken back and folded again, and what it says."""
    items = transcript("openai_chat", seed=5, turns=12, result_chars=2_000)
    first = store.create_session(dialect="openai_chat", source="chat").id
    store.append(first, items)
    result = _fold(items)
    second = store.continue_session(first, result.messages, result)
    _promise("a continuation says what the fold made", store.messages(second) == result.messages)
    _promise("what was folded stays complete", store.messages(first) == items)
    opened = store.session(second)
    _promise("a continuation names its parent", (opened.kind, opened.parent_id) == (Kind.CONTINUATION, first))
    _promise("a conversation keeps its id", opened.conversation_id == store.session(first).conversation_id)
    _promise("a fold ends its session", store.session(first).end_reason == EndReason.COMPRESSION)
    _promise("any session leads to the tip", store.get_compression_tip(first) == second)
    _promise("a chain is listed in order", [each.id for each in store.chain(second)] == [first, second])
    again = "a session is folded once"
    _refuses(SessionEnded, lambda: store.continue_session(first, result.messages, result), again)
    _refuses(SessionEnded, lambda: store.append(first, _say("x")), "a folded session takes no more")
    store.append(second, _say("and on"))
    third = store.undo_continuation(first)
    _promise(
        "a fold can be taken back, and nothing is lost", store.messages(third) == [*items, _say("and on")]
    )
    tips = {store.get_compression_tip(each) for each in (first, second, third)}
    _promise("what was taken back leads to the tip", tips == {third})
    result = _fold(store.messages(third))
    last = store.continue_session(third, result.messages, result)
    _promise("what was taken back can be folded again", store.messages(last) == result.messages)
    return last, result.messages


def _check_reopening(make_store: Callable[[], SessionStore], session: str, said: list[object]) -> None:
    with closing(make_store()) as store:
        _promise("what was written is there when a store is opened again", store.messages(session) == said)
        _promise("so are chains", store.get_compression_tip(store.chain(session)[0].id) == session)
        _promise("so is the index", bool(store.search("quaxolotl").hits))


def _fold(items: list[object]) -> Compression[object]:
    policy = CompressionPolicy(context_length=32_000, max_tokens=2_500, strategy=Strategy.FOLD)
    flow = compress(parse(items, "openai_chat"), policy=policy, count=TokenCounter(), use_model=False)
    return conclude(run(flow, lambda _: ""), Request("openai_chat", items), CompressionState())
