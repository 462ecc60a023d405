"""Writes a conversation that came from elsewhere into a store, dated as it was said where that is known."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from midfold.errors import StoreError
from midfold.messages.digests import chain_digests
from midfold.store.base import Session
from midfold.store.sqlite.store import SqliteStore
from midfold.store.transfer.incoming import Incoming, Said
from midfold.store.transfer.times import ReplayClock
from midfold.wire import parse


@dataclass(frozen=True, slots=True)
class Imported:
    """The session that a file became, or the one that already says all of it."""

    session: Session
    messages: int
    is_new: bool


def import_session(
    store: SqliteStore,
    incoming: Incoming,
    *,
    clock: ReplayClock | None = None,
    again: bool = False,
    session_id: str | None = None,
) -> Imported:
    """Write a conversation as a session of its own; all of it, or nothing.

    `clock` is the one that the store was opened with; without it everything is dated now. The ids of a file
    are not taken over, as whoever wrote it could choose them; `session_id` is for those who know better. A
    conversation that the store knows from its first
    message to its last is not written twice unless `again`.
    """
    items = [said.item for said in incoming.said]
    chain = chain_digests(parse(items, incoming.dialect))
    known = None if again else store.find_history(chain)
    if known is not None and known.length == len(items):
        return Imported(store.session(known.session_id), len(items), is_new=False)
    clock = clock or ReplayClock()
    try:
        session = _write(store, incoming, clock, session_id)
    finally:
        clock.at = None
    return Imported(store.session(session.id), len(items), is_new=True)


def _write(store: SqliteStore, incoming: Incoming, clock: ReplayClock, session_id: str | None) -> Session:
    clock.at = incoming.started_at
    session = store.create_session(
        session_id=session_id,
        source=incoming.source,
        model=incoming.model,
        title=incoming.title,
        dialect=incoming.dialect,
        system=incoming.system,
    )
    try:
        for run in _runs(incoming.said):
            clock.at = run[0].at
            counts = [said.tokens for said in run if said.tokens is not None]
            store.append(
                session.id,
                [said.item for said in run],
                tokens=counts if len(counts) == len(run) else None,
                finish_reason=run[-1].finish_reason,
            )
    except BaseException:
        with suppress(StoreError):
            store.delete(session.id)
        raise
    return session


def _runs(said: Sequence[Said]) -> Iterator[list[Said]]:
    """Part messages into those that can be written together: said at one time, the last with a reason to
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
