"""Writes a whole conversation in one transaction: a process that is killed meanwhile leaves nothing of it."""

import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from midfold.store.base import Kind
from midfold.store.preparing import Hiding, Prepared, prepare
from midfold.store.sqlite import writing
from midfold.store.sqlite.sessions import NewSession, insert_session
from midfold.store.sqlite.store import SqliteStore
from midfold.store.transfer.incoming import Incoming, Said


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows that were said at one time; `None` is now."""

    prepared: Prepared
    at: float | None


def write_conversation(store: SqliteStore, incoming: Incoming, session_id: str | None = None) -> str:
    """Write a conversation as a session of its own, dated as it was said, and return its id.

    Everything that takes time is done before the transaction begins.
    """
    new = _new_session(incoming, session_id or secrets.token_hex(16), store._hiding)
    key = store._hiding.key(new.conversation)
    runs = [_prepare(run, incoming.dialect, key) for run in _runs(incoming.said)]
    now, quota = store._clock(), store._quota

    def write(connection: sqlite3.Connection, tenant: str) -> None:
        insert_session(connection, tenant, new, now if incoming.started_at is None else incoming.started_at)
        for run in runs:
            at = now if run.at is None else run.at
            writing.append(connection, tenant, new.id, run.prepared, quota, at)

    store._write(write)
    return new.id


def _new_session(incoming: Incoming, session_id: str, hiding: Hiding) -> NewSession:
    def hide(text: str) -> str:
        return hiding.text(text, session_id)

    return NewSession(
        id=session_id,
        conversation=session_id,
        kind=Kind.ROOT,
        parent=None,
        source=hide(incoming.source),
        model=incoming.model and hide(incoming.model),
        title=incoming.title and hide(incoming.title),
        dialect=incoming.dialect,
        system=None if incoming.system is None else hiding.value(incoming.system, session_id),
    )


def _prepare(run: Sequence[Said], dialect: str, key: bytes | None) -> _Run:
    counts = [said.tokens for said in run if said.tokens is not None]
    prepared = prepare(
        [said.item for said in run],
        dialect,
        key,
        tokens=counts if len(counts) == len(run) else None,
        finish_reason=run[-1].finish_reason,
    )
    rows = tuple(
        replace(row, is_redacted=True) if said.is_redacted and not row.is_redacted else row
        for row, said in zip(prepared.rows, run, strict=True)
    )
    return _Run(replace(prepared, rows=rows), run[0].at)


def _runs(said: Sequence[Said]) -> Iterator[list[Said]]:
    """Part messages into those that are prepared together: said at one time, the last with a reason to
    stop, all of them counted or none."""
    run: list[Said] = []
    for each in said:
        if run and not _goes_on(run[-1], each):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _goes_on(before: Said, after: Said) -> bool:
    return (
        before.at == after.at
        and before.finish_reason is None
        and (before.tokens is None) == (after.tokens is None)
    )
