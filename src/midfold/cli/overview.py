"""Conversations at a glance: each as one line, whatever number of sessions it took."""

from collections.abc import Iterable
from dataclasses import dataclass

from midfold.cli.plain import printable
from midfold.redact import redact
from midfold.store import Kind, Session, Store, StoredMessage
from midfold.wire import parse

# The first words of a request say what it is about; nobody reads megabytes of it in a table.
_READ_CHARS = 2_000
# Most requests are among the first messages; some agents begin with pages of their own.
_FIRST_MESSAGES, _MOST_MESSAGES = 6, 60
_DEFAULT_DIALECT = "openai_chat"


@dataclass(frozen=True, slots=True)
class Overview:
    """A conversation. `words` are its title, else what was asked first."""

    tip: Session
    sessions: int
    folds: int
    messages: int
    words: str


def list_conversations(store: Store, *, limit: int, source: str | None = None) -> list[Overview]:
    """List conversations, the newest first."""
    return [_look_at(store, tip) for tip in store.conversations(source=source, limit=limit)]


def describe(store: Store, session: Session) -> str:
    """Return the title of a session, else the beginning of what was asked in it; fit to be shown."""
    return show_line(session.title or _find_words(store, session), _READ_CHARS)


def show_line(text: str, most: int = 60) -> str:
    """Return text from a conversation as one line for a terminal, without credentials."""
    return printable(" ".join(redact(text[:_READ_CHARS]).split()), most)


def count_of(number: int, noun: str) -> str:
    """Say how many there are of something."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def find_branches(sessions: Iterable[Session], conversation: str) -> list[Session]:
    """Return the branches that hang on a conversation, also through other branches and sub-agents."""
    everything = list(sessions)
    owner = {session.id: session.conversation_id for session in everything}
    families = {conversation}
    found: list[Session] = []
    for session in reversed(everything):
        starts = session.kind in (Kind.BRANCH, Kind.SUBAGENT)
        if starts and owner.get(session.parent_id or "") in families:
            families.add(session.conversation_id)
            found += [session] if session.kind is Kind.BRANCH else []
    return found


def _look_at(store: Store, tip: Session) -> Overview:
    return Overview(
        tip=tip,
        sessions=len(store.chain(tip.id)),
        folds=len(store.folds(tip.id)),
        messages=store.count_history(tip.id),
        words=describe(store, tip),
    )


def _find_words(store: Store, session: Session) -> str:
    """Return the first words of the user; what agents write in the user's name begins with a tag."""
    said: list[str] = []
    for start, stop in ((0, _FIRST_MESSAGES), (_FIRST_MESSAGES, _MOST_MESSAGES)):
        said += _requests(store.records(session.id, start, stop), session.dialect)
        request = next((text for text in said if not text.startswith("<")), None)
        if request is not None:
            return request
    return said[0] if said else ""


def _requests(records: Iterable[StoredMessage], dialect: str | None) -> list[str]:
    messages = [parse([record.item], dialect or _DEFAULT_DIALECT)[0] for record in records]
    return [message.text.strip() for message in messages if message.role == "user" and message.text.strip()]
