"""Reads what can be read of a damaged store, and writes it into a new one.

Where every row can be read, the new store is the old one with a new index. Where some cannot, each
conversation becomes one session with all that is left of what was said: its folds are gone, its id is not.
"""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from midfold.errors import MalformedMessage, StoreError
from midfold.store.base import Call
from midfold.store.opening import open_store
from midfold.store.rescue.rows import UNREADABLE, FoundSession, read_calls, read_said, read_sessions
from midfold.store.search import maintain
from midfold.store.sqlite.driver import open_reader
from midfold.store.sqlite.files import Database
from midfold.store.sqlite.searching import read_texts
from midfold.store.sqlite.store import SqliteStore
from midfold.store.transfer.importing import import_session
from midfold.store.transfer.incoming import Incoming, Said
from midfold.wire import parse

_TABLES = ("meta", "tenants", "sessions", "messages", "ranges", "folds", "summaries", "leases", "calls")
_DEFAULT_DIALECT = "openai_chat"


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was saved. `is_whole` when nothing at all was lost."""

    conversations: int
    messages: int
    is_whole: bool
    missing: tuple[str, ...] = ()
    """conversations of which no message of their own could be read; what a branch took over is elsewhere"""


class _Unreadable(StoreError):
    """A row of the damaged file cannot be read."""


def salvage(damaged: Path, fresh: Path) -> Salvaged:
    """Write what can be read of the file `damaged` into a new store at `fresh`."""
    try:
        connection = _open_damaged(damaged)
    except StoreError:
        open_store(fresh).close()
        return Salvaged(0, 0, is_whole=False)
    try:
        return _copy_whole(connection, fresh) or _save_conversations(connection, fresh)
    finally:
        connection.close()


def _open_damaged(path: Path) -> sqlite3.Connection:
    """Open a file for reading, with its log if that can be used, else without."""
    connection = open_reader(path)
    try:
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except UNREADABLE:
        connection.close()
        return open_reader(path, immutable=True)
    return connection


def _copy_whole(damaged: sqlite3.Connection, fresh: Path) -> Salvaged | None:
    """Copy every row as it is; `None`, and no file, if one cannot be read or the copy is not sound."""
    database = Database(fresh, synchronous="NORMAL")
    try:
        database.write(partial(_copy_tables, damaged))
        counts = database.read(_count) if not database.check(deep=True) else None
    except StoreError:
        counts = None
    finally:
        database.close()
    if counts is None:
        fresh.unlink()
        return None
    return Salvaged(*counts, is_whole=True)


def _copy_tables(damaged: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA defer_foreign_keys = ON")
    for table in _TABLES:
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        rows = _read_or_fail(damaged, f"SELECT {names} FROM {table}")  # noqa: S608 - names of our own schema
        connection.executemany(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608
    maintain.rebuild(connection, read_texts)


def _read_or_fail(damaged: sqlite3.Connection, statement: str) -> Iterator[tuple[object, ...]]:
    # An error of the damaged file must not pass for one of the new file, which would end all writing there.
    try:
        yield from damaged.execute(statement)
    except UNREADABLE as error:
        raise _Unreadable(str(error)) from error


def _count(connection: sqlite3.Connection) -> tuple[int, int]:
    (conversations,) = connection.execute(
        "SELECT count(*) FROM (SELECT DISTINCT tenant, conversation FROM sessions)"
    ).fetchone()
    (messages,) = connection.execute("SELECT count(*) FROM messages").fetchone()
    return conversations, messages


def _save_conversations(damaged: sqlite3.Connection, fresh: Path) -> Salvaged:
    damaged.text_factory = partial(str, encoding="utf-8", errors="replace")
    conversations: dict[tuple[str, str], list[FoundSession]] = {}
    for session in read_sessions(damaged):
        conversations.setdefault((session.tenant, session.conversation), []).append(session)
    saved = messages = 0
    missing: list[str] = []
    # What was stored is stored as it is: placeholders stay, and so does what somebody chose to keep.
    with open_store(fresh, redact=False, synchronous="NORMAL") as store:
        for (tenant, name), chain in conversations.items():
            incoming = _gather(damaged, chain)
            if not incoming.said:
                missing.append(name)
                continue
            calls = read_calls(damaged, chain[-1])
            _write(store.for_tenant(tenant), name, incoming, calls)
            saved += 1
            messages += len(incoming.said)
    return Salvaged(saved, messages, is_whole=False, missing=tuple(missing))


def _gather(damaged: sqlite3.Connection, chain: list[FoundSession]) -> Incoming:
    newest = chain[-1]
    dialect = newest.dialect or _DEFAULT_DIALECT
    return Incoming(
        dialect=dialect,
        said=tuple(said for said in read_said(damaged, chain) if _is_readable(said, dialect)),
        source=newest.source,
        model=newest.model,
        title=newest.title,
        system=newest.system,
        started_at=chain[0].started_at,
        notes=(),
    )


def _is_readable(said: Said, dialect: str) -> bool:
    try:
        parse([said.item], dialect)
    except MalformedMessage:
        return False
    return True


def _write(store: SqliteStore, name: str, incoming: Incoming, calls: list[Call]) -> None:
    import_session(store, incoming, again=True, session_id=name)
    for call in calls:
        store.record_call(name, call)
