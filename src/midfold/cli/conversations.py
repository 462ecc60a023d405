"""The person's own store, and what is in it by the names that people use."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TypedDict

import click

from midfold.cli.render.format import READ_CHARS, show_line
from midfold.config import load_settings, open_own_store
from midfold.errors import SessionNotFound, StoreCorrupt
from midfold.late_dataclasses import dataclass
from midfold.store import Condition, Session, SessionKind, Store, StoredMessage, pack_value
from midfold.wire import DEFAULT_DIALECT, parse

ID_CHARS = 8
"""The part of an id that is shown."""
LATEST = "latest"
_PAGE = 200
_MOST_NAMED = 5


@contextmanager
def own_store() -> Iterator[Store]:
    """Open the store that the settings name for the block."""
    store = open_own_store(load_settings())
    try:
        warn_of(store)
        yield store
    finally:
        store.close()


def warn_of(store: Store) -> None:
    """Say on standard error what the person should know about a store that works."""
    if store.status.warning:
        click.echo(f"midfold: warning: {store.status.warning}; see midfold doctor", err=True)


class NoSessions(SessionNotFound):
    """There is no newest conversation, as there is none."""

    def __init__(self) -> None:
        super().__init__(LATEST)

    def __str__(self) -> str:
        return "no conversations yet; midfold sessions import FILE imports one"


def read_text(text: str) -> str:
    """Read words that can be stored and looked for; an option's type."""
    if not text.isascii() and not _is_text(text):
        raise click.BadParameter(f"{text.encode(errors='replace').decode()!r} is no text in UTF-8")
    return text


def _is_text(text: str) -> bool:
    # Bytes of the command line that are no UTF-8 come as characters that cannot be written.
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def find_session(store: Store, name: str) -> Session:
    """Find a session by its id, by the beginning of one, or as `latest`: the newest conversation's tip."""
    if name == LATEST:
        return _find_latest(store)
    try:
        return store.session(read_text(name))
    except SessionNotFound:
        found = list(every_session(store, prefix=name)) if name else []
    if not found:
        raise SessionNotFound(name)
    if len(found) > 1:
        shown = ", ".join(each.id[: max(ID_CHARS, len(name) + 2)] for each in found[:_MOST_NAMED])
        raise click.UsageError(f"{len(found)} sessions begin with {name}: {shown}; write more of the id.")
    return found[0]


def _find_latest(store: Store) -> Session:
    page = store.conversations(limit=_PAGE)
    while page:
        for tip in page:
            if tip.kind is not SessionKind.SUBAGENT:
                return tip
        page = store.conversations(limit=_PAGE, after=page[-1].id)
    raise NoSessions


def every_session(store: Store, *, prefix: str = "") -> Iterator[Session]:
    """Yield sessions page by page, the newest first."""
    page = store.sessions(limit=_PAGE, prefix=prefix)
    while page:
        yield from page
        page = store.sessions(limit=_PAGE, prefix=prefix, after=page[-1].id)


# Most requests are among the first messages; some agents begin with pages of their own.
_FIRST_MESSAGES, _MOST_MESSAGES = 6, 60


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
    return [_read_overview(store, tip) for tip in store.conversations(source=source, limit=limit)]


def describe(store: Store, session: Session) -> str:
    """Return the title of a session, else the beginning of what was asked in it; fit to be shown."""
    return show_line(session.title or _find_words(store, session), READ_CHARS)


def find_branches(sessions: Iterable[Session], conversation: str) -> list[Session]:
    """Return the branches that hang on a conversation, also through other branches and sub-agents."""
    everything = list(sessions)
    owner = {session.id: session.conversation_id for session in everything}
    families = {conversation}
    found: list[Session] = []
    for session in reversed(everything):
        starts = session.kind in (SessionKind.BRANCH, SessionKind.SUBAGENT)
        if starts and owner.get(session.parent_id or "") in families:
            families.add(session.conversation_id)
            found += [session] if session.kind is SessionKind.BRANCH else []
    return found


def _read_overview(store: Store, tip: Session) -> Overview:
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
    messages = [parse([record.item], dialect or DEFAULT_DIALECT)[0] for record in records]
    return [message.text.strip() for message in messages if message.role == "user" and message.text.strip()]


_DEFAULT_LAST = 20
_AROUND = 3


class ExcerptRange(TypedDict):
    """The messages that are asked for."""

    last: int | None
    everything: bool
    around: int | None
    history: bool


@dataclass(frozen=True, slots=True)
class SessionView:
    """A part of a session: `records` of `total` messages, the first of them at `start`."""

    session: Session
    words: str
    system: object
    tip: str
    folds: int
    records: Sequence[StoredMessage]
    start: int
    total: int
    damaged: int
    """the number of messages that cannot be read"""
    is_system_damaged: bool = False


def take_excerpt(store: Store, session: Session, wanted: ExcerptRange) -> SessionView:
    """Read the part of a session that is asked for."""
    records = store.history(session.id) if wanted["history"] else store.records(session.id)
    number = wanted["around"]
    if number is None:
        start = 0 if wanted["everything"] else max(0, len(records) - (wanted["last"] or _DEFAULT_LAST))
        stop = len(records)
    else:
        records, middle = _find_message(store, session, records, number)
        start, stop = max(0, middle - _AROUND), middle + _AROUND + 1
    try:
        system, is_system_damaged = store.system(session.id), False
    except StoreCorrupt:
        system, is_system_damaged = None, True
    return SessionView(
        session=session,
        words=describe(store, session),
        system=system,
        tip=store.get_compression_tip(session.id),
        folds=len(store.folds(session.id)),
        records=records[start:stop],
        start=start,
        total=len(records),
        damaged=sum(record.condition is Condition.DAMAGED for record in records),
        is_system_damaged=is_system_damaged,
    )


def excerpt_json(view: SessionView) -> dict[str, object]:
    """Return a view for scripts."""
    return {
        "session": asdict(view.session),
        "system": view.system,
        "tip": view.tip,
        "folds": view.folds,
        "start": view.start,
        "total": view.total,
        "damaged": view.damaged,
        "messages": [asdict(record) for record in view.records],
    }


def _find_message(
    store: Store, session: Session, records: list[StoredMessage], number: int
) -> tuple[list[StoredMessage], int]:
    """Find a message by its number, in what the session says or else in all that was said."""
    for view in (records, store.history(session.id)):
        for index, record in enumerate(view):
            if (record.session_id, record.seq) == (session.id, number):
                return view, index
    raise click.UsageError(f"the session {session.id[:ID_CHARS]} has no message {number}.")


_NO_KEY = b""


def print_json(value: object) -> None:
    """Print a value without credentials, which a store that keeps them could bring here."""
    click.echo(json.dumps(json.loads(pack_value(value, _NO_KEY)), indent=2))
