"""The person's own store, and sessions by the names that people use for them."""

from collections.abc import Iterator
from contextlib import contextmanager

import click

from midfold.config import load_settings, open_own_store
from midfold.errors import SessionNotFound
from midfold.store import Kind, Session, Store

ID_CHARS = 8
"""How much of an id is shown."""
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
        return "no conversations yet; midfold sessions import FILE brings one in"


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
            if tip.kind is not Kind.SUBAGENT:
                return tip
        page = store.conversations(limit=_PAGE, after=page[-1].id)
    raise NoSessions


def every_session(store: Store, *, prefix: str = "") -> Iterator[Session]:
    """Yield sessions page by page, the newest first."""
    page = store.sessions(limit=_PAGE, prefix=prefix)
    while page:
        yield from page
        page = store.sessions(limit=_PAGE, prefix=prefix, after=page[-1].id)
