"""The sessions that a fold writes: it ends one and opens its continuation, in one transaction.

What a fold keeps is not written again. The continuation names it by ranges of the sessions it was written in,
and writes only what is new: the summary, and what was shortened.
"""

import sqlite3
from collections.abc import Sequence

from midfold.errors import SessionBusy, StoreError
from midfold.faults import faultpoint
from midfold.late_dataclasses import replace
from midfold.store.continuation import Continuation, DivergedList
from midfold.store.rows import agree
from midfold.store.sqlite.message_rows import (
    Ref,
    count_taken_over,
    insert_ranges,
    insert_rows,
    insert_unchained,
    join_refs,
    read_refs,
)
from midfold.store.sqlite.session_rows import (
    NewSession,
    SessionRow,
    copy_session,
    find_session,
    find_tip,
    insert_session,
    session_ended,
)
from midfold.store.values import EndReason, SessionKind


def write_continuation(
    connection: sqlite3.Connection, tenant: str, session: SessionRow, plan: Continuation, now: float
) -> tuple[SessionRow, int]:
    """End a session and write its continuation; return the session that the fold ended, and the child's key.

    Raises `SessionEnded` when somebody was quicker.
    """
    _end(connection, tenant, session, EndReason.COMPRESSION, now)
    faultpoint("store.continue.ended")
    if plan.diverged is None:
        session, refs, late = _bring_up_to_date(connection, tenant, session, plan, now)
    else:
        session, refs, late = _write_diverged(connection, tenant, session, plan.diverged, now)
    key = insert_session(connection, tenant, _child(connection, session, plan), now)
    faultpoint("store.continue.opened")
    chain = session.last_chain
    child = SessionRow(key, plan.child_id, session.conversation, session.dialect, 0, 0, chain, None)
    _write_view(connection, tenant, child, plan, refs, late, now)
    faultpoint("store.continue.written")
    return session, key


def undo_continuation(
    connection: sqlite3.Connection, tenant: str, session_id: str, child_id: str, now: float
) -> None:
    """Take back the newest fold: the chain goes on in `child_id` with everything the fold took away.

    What was said after the fold stays.
    """
    tip = find_session(connection, tenant, find_tip(connection, tenant, session_id))
    folded, unfolded, since = _find_newest_fold(connection, tenant, tip)
    said_since = read_refs(connection, tenant, tip)[count_taken_over(connection, tenant, folded) :]
    for key in since:
        connection.execute(
            "UPDATE sessions SET undone_at = ?, ended_at = coalesce(ended_at, ?), end_reason = ?"
            " WHERE key = ?",
            (now, now, EndReason.UNDONE, key),
        )
    faultpoint("store.undo.flagged")
    new = copy_session(
        connection, unfolded, child_id, SessionKind.CONTINUATION, unfolded.conversation, tip.last_chain
    )
    key = insert_session(connection, tenant, new, now)
    refs = [*read_refs(connection, tenant, unfolded), *said_since]
    insert_ranges(connection, tenant, key, join_refs(refs), own_from=0)
    faultpoint("store.undo.written")


def _end(connection: sqlite3.Connection, tenant: str, session: SessionRow, reason: str, now: float) -> None:
    closing = connection.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE key = ? AND ended_at IS NULL",
        (now, reason, session.key),
    )
    if closing.rowcount != 1:
        raise session_ended(connection, tenant, session.id)


def _bring_up_to_date(
    connection: sqlite3.Connection, tenant: str, session: SessionRow, plan: Continuation, now: float
) -> tuple[SessionRow, list[list[Ref]], list[Ref]]:
    """Write what the caller had in its list and not in the store, so that nothing folded is ever unsaved.

    Returns where each message of the list is, and what came after it.
    """
    refs = read_refs(connection, tenant, session)
    if not agree(plan.before, [ref.digests for ref in refs]):
        raise SessionBusy(session.id)
    missing = plan.unsaved[max(0, min(len(refs), len(plan.before)) - plan.unsaved_from) :]
    if missing:
        insert_rows(connection, tenant, session, missing, now)
        session = find_session(connection, tenant, session.id)
        refs = read_refs(connection, tenant, session)
    return session, [[ref] for ref in refs], refs[len(plan.before) :]


def _write_diverged(
    connection: sqlite3.Connection, tenant: str, stored: SessionRow, diverged: DivergedList, now: float
) -> tuple[SessionRow, list[list[Ref]], list[Ref]]:
    """Open and end a session that says what the caller's list said, so that the fold can be taken back."""
    known = read_refs(connection, tenant, stored)
    if len(known) < diverged.stored:
        raise SessionBusy(stored.id)
    kind, chain = SessionKind.CONTINUATION, stored.last_chain
    new = copy_session(connection, stored, diverged.session_id, kind, stored.conversation, chain)
    key = insert_session(connection, tenant, new, now)
    session = SessionRow(key, new.id, stored.conversation, stored.dialect, 0, 0, chain, None)
    rows = [row for each in diverged.changed if not isinstance(each, int) for row in each]
    insert_unchained(connection, tenant, session, rows, now)
    unsaved = [row for each in diverged.unsaved for row in each]
    insert_rows(connection, tenant, replace(session, next_seq=len(rows)), unsaved, now)
    refs: list[list[Ref]] = []
    own = 0
    for each in diverged.messages:
        if isinstance(each, int):
            refs.append([known[each]])
        else:
            refs.append([Ref(key, own + number) for number in range(len(each))])
            own += len(each)
    late = known[diverged.late_from :]
    taken = [ref for each in refs[: len(diverged.changed)] for ref in each]
    insert_ranges(connection, tenant, key, join_refs([*taken, *late]), own_from=len(rows))
    session = find_session(connection, tenant, new.id)
    _end(connection, tenant, session, EndReason.COMPRESSION, now)
    faultpoint("store.continue.diverged")
    return session, refs, late


def _child(connection: sqlite3.Connection, parent: SessionRow, plan: Continuation) -> NewSession:
    new = copy_session(
        connection, parent, plan.child_id, SessionKind.CONTINUATION, parent.conversation, parent.last_chain
    )
    system = new.system if plan.system is None else plan.system
    return replace(new, base_digest=plan.base_digest, system=system)


def _write_view(
    connection: sqlite3.Connection,
    tenant: str,
    child: SessionRow,
    plan: Continuation,
    refs: Sequence[Sequence[Ref]],
    late: Sequence[Ref],
    now: float,
) -> None:
    """Write the rows that are new, and name the rest where it is; what came after the fold follows it."""
    rows = [entry.row for entry in plan.view if entry.row is not None]
    insert_rows(connection, tenant, child, rows, now)
    view: list[Ref] = []
    own = 0
    for entry in plan.view:
        if entry.index is not None:
            view += refs[entry.index]
        else:
            view.append(Ref(child.key, own))
            own += 1
    insert_ranges(connection, tenant, child.key, join_refs([*view, *late]), own_from=own)
    # The caller may have said more since, and some of it may have reached the store already.
    known = 0
    while known < min(len(late), len(plan.since)) and plan.since[known].digest in late[known].digests:
        known += 1
    insert_rows(connection, tenant, replace(child, next_seq=own), plan.since[known:], now)


def _find_newest_fold(
    connection: sqlite3.Connection, tenant: str, tip: SessionRow
) -> tuple[SessionRow, SessionRow, list[int]]:
    """Return the session that the newest fold opened, the one it ended, and the keys since then."""
    since: list[int] = []
    session_id, parent_id = tip.id, ""
    while not parent_id:
        key, fold_parent, parent = connection.execute(
            "SELECT s.key, ended.id, CASE s.kind WHEN 'continuation' THEN before.id END FROM sessions s"
            " LEFT JOIN folds f ON f.child = s.key LEFT JOIN sessions ended ON ended.key = f.session"
            " LEFT JOIN sessions before ON before.key = s.parent WHERE s.tenant = ? AND s.id = ?",
            (tenant, session_id),
        ).fetchone()
        since.append(key)
        if fold_parent is None and parent is None:
            raise StoreError(f"the session {tip.id} has no fold to take back")
        session_id, parent_id = (session_id, fold_parent) if fold_parent else (parent, "")
    return find_session(connection, tenant, session_id), find_session(connection, tenant, parent_id), since
