"""Chains in SQLite: a fold ends a session and opens its continuation, in one transaction.

What a fold keeps is not written again. The continuation names it by ranges of the sessions it was written in,
and writes only what is new: the summary, and what was shortened.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from midfold.errors import SessionBusy, StoreError
from midfold.faults import faultpoint
from midfold.store.base import EndReason, Lease, SessionKind, StoredMessage
from midfold.store.continuing import Continuation
from midfold.store.diverging import DivergedList
from midfold.store.rows import agree
from midfold.store.sqlite import messages, states
from midfold.store.sqlite.folds import forget_summary
from midfold.store.sqlite.leases import check_lease
from midfold.store.sqlite.messages import (
    Ref,
    count_taken_over,
    insert_ranges,
    insert_rows,
    insert_unchained,
    join_refs,
    read_refs,
)
from midfold.store.sqlite.seals import seal_fold
from midfold.store.sqlite.sessions import (
    NewSession,
    SessionRow,
    check_count,
    ended,
    find_place,
    find_tip,
    insert_session,
)

# The newest of what a branch took over was the newest there was: what its parent said up to that came before.
_BRANCH = """
    SELECT parent.conversation,
        (SELECT coalesce(sum(stop - start), 0) FROM ranges WHERE tenant = :tenant AND session = branch.key),
        (SELECT coalesce(sum(r.stop - r.start), 0) FROM sessions first
            CROSS JOIN ranges r ON r.tenant = :tenant AND r.session = first.key
            WHERE first.tenant = :tenant AND first.conversation = parent.conversation
            AND first.kind <> 'continuation'),
        (SELECT count(*) FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
            WHERE s.tenant = :tenant AND s.conversation = parent.conversation AND m.origin = 'said'
            AND s.first_position + m.seq < (
                SELECT max(source.first_position + r.stop) FROM ranges r
                JOIN sessions source ON source.key = r.source
                WHERE r.tenant = :tenant AND r.session = branch.key
                AND source.conversation = parent.conversation
            ))
    FROM sessions branch JOIN sessions parent ON parent.key = branch.parent
    WHERE branch.tenant = :tenant AND branch.conversation = :conversation AND branch.kind = 'branch'
"""


def continue_session(
    connection: sqlite3.Connection,
    tenant: str,
    session_id: str,
    plan: Continuation,
    lease: Lease | None,
    now: float,
    expected_count: int | None = None,
) -> None:
    """End the session and open its continuation; all of it, or nothing.

    Raises `SessionBusy` when somebody else holds the lease, `SessionEnded` when somebody was quicker, and
    `SessionGrew` where it has not as many messages as are expected.
    """
    place = find_place(connection, tenant, session_id)
    check_count(place, expected_count)
    if lease is not None:
        check_lease(connection, tenant, place, lease)
    _end(connection, tenant, place, EndReason.COMPRESSION, now)
    faultpoint("store.continue.ended")
    if plan.basis is None:
        place, refs, late = _bring_up_to_date(connection, tenant, place, plan, now)
    else:
        place, refs, late = _write_basis(connection, tenant, place, plan.basis, now)
    key = insert_session(connection, tenant, _child(connection, place, plan), now)
    faultpoint("store.continue.opened")
    child = SessionRow(key, plan.child_id, place.conversation, place.dialect, 0, 0, place.last_chain, None)
    _write_view(connection, tenant, child, plan, refs, late, now)
    faultpoint("store.continue.written")
    connection.execute(
        "INSERT INTO folds (tenant, session, child, prefix_digest, body, facts, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (tenant, place.key, key, plan.prefix_digest, seal_fold(plan.fold, plan.facts), plan.facts, now),
    )
    forget_summary(connection, tenant, plan.span_digest)
    states.save(connection, tenant, place.conversation, plan.states, now)
    faultpoint("store.continue.linked")


def undo_continuation(
    connection: sqlite3.Connection, tenant: str, session_id: str, child_id: str, now: float
) -> None:
    """Take back the newest fold: the chain goes on in `child_id` with everything the fold took away.

    What was said after the fold stays.
    """
    tip = find_place(connection, tenant, find_tip(connection, tenant, session_id))
    folded, unfolded, since = _find_fold(connection, tenant, tip)
    said_since = read_refs(connection, tenant, tip)[count_taken_over(connection, tenant, folded) :]
    for key in since:
        connection.execute(
            "UPDATE sessions SET undone_at = ?, ended_at = coalesce(ended_at, ?), end_reason = ?"
            " WHERE key = ?",
            (now, now, EndReason.UNDONE, key),
        )
    faultpoint("store.undo.flagged")
    new = _like(
        connection, unfolded, child_id, SessionKind.CONTINUATION, unfolded.conversation, tip.last_chain
    )
    key = insert_session(connection, tenant, new, now)
    refs = [*read_refs(connection, tenant, unfolded), *said_since]
    insert_ranges(connection, tenant, key, join_refs(refs), own_from=0)
    faultpoint("store.undo.written")


def branch_session(
    connection: sqlite3.Connection, tenant: str, parent_id: str, new: NewSession, now: float
) -> None:
    """Open a session that begins with all that its parent says, and goes its own way.

    What is not said about it is as it was with its parent.
    """
    parent = find_place(connection, tenant, parent_id)
    refs = read_refs(connection, tenant, parent)
    like = _like(connection, parent, new.id, SessionKind.BRANCH, new.id, parent.last_chain)
    branch = replace(
        like,
        source=new.source or like.source,
        model=new.model or like.model,
        title=new.title or like.title,
        system=like.system if new.system is None else new.system,
    )
    key = insert_session(connection, tenant, branch, now)
    insert_ranges(connection, tenant, key, join_refs(refs), own_from=0)
    states.copy(connection, tenant, parent.conversation, branch.conversation, now)


ReadHistory = Callable[[sqlite3.Connection, str, str], list[StoredMessage]]
"""Returns what was said in one conversation, without that which it branched from."""


def read_history(
    connection: sqlite3.Connection, tenant: str, session_id: str, read: ReadHistory
) -> list[StoredMessage]:
    """Return all that was said in the conversation of a session, folded or not, in the order it was said in.

    A branch begins with all that was said before it, also with what its parent had folded by then.
    """
    conversation = find_place(connection, tenant, session_id).conversation
    said = read(connection, tenant, conversation)
    while branch := _find_branch(connection, tenant, conversation):
        before = read(connection, tenant, branch.parent)
        said = [*before[: branch.parent_taken_over + branch.said_before], *said[branch.taken_over :]]
        conversation = branch.parent
    return said


def count_history(connection: sqlite3.Connection, tenant: str, session_id: str) -> int:
    """Return how many messages `read_history` has."""
    conversation = find_place(connection, tenant, session_id).conversation
    count = messages.count_history(connection, tenant, conversation)
    while branch := _find_branch(connection, tenant, conversation):
        count += branch.parent_taken_over + branch.said_before - branch.taken_over
        conversation = branch.parent
    return count


@dataclass(frozen=True, slots=True)
class _Branch:
    """Where a conversation left another, its parent.

    It took over `taken_over` messages, and the parent itself `parent_taken_over` of an earlier one. What the
    parent had said by itself up to then is `said_before`.
    """

    parent: str
    taken_over: int
    parent_taken_over: int
    said_before: int


def _find_branch(connection: sqlite3.Connection, tenant: str, conversation: str) -> _Branch | None:
    """Say where a conversation comes from; `None` if it is no branch, or its parent is gone."""
    row = connection.execute(_BRANCH, {"tenant": tenant, "conversation": conversation}).fetchone()
    return _Branch(*row) if row else None


def find_as_of_origin(connection: sqlite3.Connection, tenant: str, session_id: str) -> SessionRow:
    """Find a session as one of the conversation that its own branched from, or that one from another.

    By that conversation credentials are hidden, so that one has the same placeholder wherever it is read.
    """
    place = find_place(connection, tenant, session_id)
    while branch := _find_branch(connection, tenant, place.conversation):
        place = replace(place, conversation=branch.parent)
    return place


def open_below(
    connection: sqlite3.Connection, tenant: str, parent_id: str, new: NewSession, now: float
) -> None:
    """Open a session of its own that belongs to another: that of a sub-agent."""
    parent = find_place(connection, tenant, parent_id)
    insert_session(connection, tenant, replace(new, parent=parent.key), now)


def _end(connection: sqlite3.Connection, tenant: str, place: SessionRow, reason: str, now: float) -> None:
    closing = connection.execute(
        "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE key = ? AND ended_at IS NULL",
        (now, reason, place.key),
    )
    if closing.rowcount != 1:
        raise ended(connection, tenant, place.id)


def _bring_up_to_date(
    connection: sqlite3.Connection, tenant: str, place: SessionRow, plan: Continuation, now: float
) -> tuple[SessionRow, list[list[Ref]], list[Ref]]:
    """Write what the caller had in its list and not in the store, so that nothing folded is ever unsaved.

    Returns where each message of the list is, and what came after it.
    """
    refs = read_refs(connection, tenant, place)
    if not agree(plan.before, [ref.digests for ref in refs]):
        raise SessionBusy(place.id)
    missing = plan.unsaved[max(0, min(len(refs), len(plan.before)) - plan.unsaved_from) :]
    if missing:
        insert_rows(connection, tenant, place, missing, now)
        place = find_place(connection, tenant, place.id)
        refs = read_refs(connection, tenant, place)
    return place, [[ref] for ref in refs], refs[len(plan.before) :]


def _write_basis(
    connection: sqlite3.Connection, tenant: str, place: SessionRow, basis: DivergedList, now: float
) -> tuple[SessionRow, list[list[Ref]], list[Ref]]:
    """Open and end a session that says what the caller's list said, so that the fold can be taken back."""
    stored = read_refs(connection, tenant, place)
    if len(stored) < basis.stored:
        raise SessionBusy(place.id)
    new = _like(
        connection, place, basis.session_id, SessionKind.CONTINUATION, place.conversation, place.last_chain
    )
    key = insert_session(connection, tenant, new, now)
    session = SessionRow(key, new.id, place.conversation, place.dialect, 0, 0, place.last_chain, None)
    rows = [row for each in basis.changed if not isinstance(each, int) for row in each]
    insert_unchained(connection, tenant, session, rows, now)
    unsaved = [row for each in basis.unsaved for row in each]
    insert_rows(connection, tenant, replace(session, next_seq=len(rows)), unsaved, now)
    refs: list[list[Ref]] = []
    own = 0
    for each in basis.messages:
        count = 1 if isinstance(each, int) else len(each)
        refs.append([stored[each]] if isinstance(each, int) else [Ref(key, own + n) for n in range(count)])
        own += 0 if isinstance(each, int) else count
    late = stored[basis.late_from :]
    taken = [ref for each in refs[: len(basis.changed)] for ref in each]
    insert_ranges(connection, tenant, key, join_refs([*taken, *late]), own_from=len(rows))
    session = find_place(connection, tenant, new.id)
    _end(connection, tenant, session, EndReason.COMPRESSION, now)
    faultpoint("store.continue.diverged")
    return session, refs, late


def _child(connection: sqlite3.Connection, parent: SessionRow, plan: Continuation) -> NewSession:
    new = _like(
        connection, parent, plan.child_id, SessionKind.CONTINUATION, parent.conversation, parent.last_chain
    )
    system = new.system if plan.system is None else plan.system
    return replace(new, base_digest=plan.base_digest, system=system)


def _like(
    connection: sqlite3.Connection,
    parent: SessionRow,
    child_id: str,
    kind: SessionKind,
    conversation: str,
    chain: bytes,
) -> NewSession:
    source, model, title, dialect, system = connection.execute(
        "SELECT source, model, title, dialect, system FROM sessions WHERE key = ?", (parent.key,)
    ).fetchone()
    return NewSession(
        child_id, conversation, kind, parent.key, source, model, title, dialect, system, last_chain=chain
    )


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
    rows = [made.row for made in plan.made if made.row is not None]
    insert_rows(connection, tenant, child, rows, now)
    places: list[Ref] = []
    own = 0
    for made in plan.made:
        if made.index is not None:
            places += refs[made.index]
        else:
            places.append(Ref(child.key, own))
            own += 1
    insert_ranges(connection, tenant, child.key, join_refs([*places, *late]), own_from=own)
    # The caller may have said more since, and some of it may have reached the store already.
    known = 0
    while known < min(len(late), len(plan.since)) and plan.since[known].digest in late[known].digests:
        known += 1
    insert_rows(connection, tenant, replace(child, next_seq=own), plan.since[known:], now)


def _find_fold(
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
    return find_place(connection, tenant, session_id), find_place(connection, tenant, parent_id), since
