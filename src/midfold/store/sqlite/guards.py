"""What a database file that somebody else made cannot do, as far as the driver offers to forbid it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

# SQLite's own numbers: not every driver has names for them.
_DEFENSIVE = 1010
_LENGTH, _SQL_LENGTH, _ATTACHED, _TRIGGER_DEPTH = 0, 1, 7, 10
_LIMITS = {
    _LENGTH: 1 << 28,
    _SQL_LENGTH: 1 << 17,
    _ATTACHED: 0,
    _TRIGGER_DEPTH: 32,
}


def guard(connection: sqlite3.Connection) -> None:
    """Bound what statements and values may be, and protect the tables that the index is kept in."""
    set_limit = getattr(connection, "setlimit", None)
    if set_limit is not None:
        for category, limit in _LIMITS.items():
            set_limit(category, limit)
    _defend(connection, is_on=True)


@contextmanager
def unguarded(connection: sqlite3.Connection) -> Iterator[None]:
    """Let the tables of a damaged index be taken away."""
    _defend(connection, is_on=False)
    try:
        yield
    finally:
        _defend(connection, is_on=True)


def _defend(connection: sqlite3.Connection, *, is_on: bool) -> None:
    configure = getattr(connection, "setconfig", None)
    if configure is not None:
        configure(_DEFENSIVE, is_on)
