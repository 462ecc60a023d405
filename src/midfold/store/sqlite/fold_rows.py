"""Rows of folds in SQLite: writing a fold, and finding one for a history that a client sends again."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from midfold.folding import Fold
from midfold.late_dataclasses import dataclass, field
from midfold.store.codec import DamagedRow, damage_noticed, read_value
from midfold.store.continuation import Continuation
from midfold.store.fold_json import fold_from_json
from midfold.store.sqlite.checksums import add_checksum, is_fold_intact
from midfold.store.sqlite.session_rows import find_session, find_tip
from midfold.store.values import Condition, KnownHistory, StoredFold

_FOLD = """
    SELECT f.prefix_digest, f.key, ended.id, child.id, f.body, f.facts, f.created_at,
        f.announced_at IS NOT NULL
    FROM folds f JOIN sessions ended ON ended.key = f.session JOIN sessions child ON child.key = f.child
"""
NO_FOLD = Fold()
"""Stands for a fold that cannot be read."""
# SQLite takes far more, but no list of digests needs to be looked up at once.
_TOGETHER = 500
_NEWEST = 16
# By so many bytes of a chained digest messages are found; the whole of it is compared then.
_LINK_BYTES = 8
_MOST_READ = 64


def insert_fold(
    connection: sqlite3.Connection, tenant: str, session: int, child: int, plan: Continuation, now: float
) -> None:
    """Write the fold that ended a session and opened its child, both given by their keys."""
    connection.execute(
        "INSERT INTO folds (tenant, session, child, prefix_digest, body, facts, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (tenant, session, child, plan.prefix_digest, add_checksum(plan.fold, plan.facts), plan.facts, now),
    )


def find_fold(
    connection: sqlite3.Connection, tenant: str, chain: Sequence[bytes], session_id: str | None = None
) -> StoredFold | None:
    """Return the fold that reaches furthest into a history, of those that were not taken back.

    `chain` are the chained digests of the history, oldest first. A fold of the conversation of `session_id`
    comes first: where two histories have their beginning in common, each goes on with its own folds.
    """
    if session_id is not None:
        conversation = find_session(connection, tenant, session_id).conversation
        own = _find_fold(connection, tenant, chain, conversation)
        if own is not None:
            return own
    return _find_fold(connection, tenant, chain, None)


def _find_fold(
    connection: sqlite3.Connection, tenant: str, chain: Sequence[bytes], conversation: str | None
) -> StoredFold | None:
    is_own = "" if conversation is None else " AND child.conversation = ?"
    for stop in range(len(chain), 0, -_TOGETHER):
        digests = chain[max(0, stop - _TOGETHER) : stop]
        positions = {digest: position for position, digest in enumerate(digests)}
        rows = connection.execute(
            f"{_FOLD} WHERE f.tenant = ? AND f.prefix_digest IN ({_marks(digests)})"
            f" AND child.undone_at IS NULL{is_own}",
            (tenant, *digests, *([] if conversation is None else [conversation])),
        ).fetchall()
        for row in sorted(rows, key=lambda row: (positions[bytes(row[0])], row[1]), reverse=True):
            found = _stored(row[2:])
            if found.condition is Condition.SOUND:
                return found
    return None


def list_folds(
    connection: sqlite3.Connection, tenant: str, session_id: str | None, *, unannounced: bool
) -> list[StoredFold]:
    """List folds from the first to the newest: of one conversation or all, or those not announced yet.

    One that is damaged is among them, empty and marked.
    """
    conversation = find_session(connection, tenant, session_id).conversation if session_id else None
    rows = connection.execute(
        _FOLD + " WHERE f.tenant = ?1 AND (?2 IS NULL OR child.conversation = ?2)"
        " AND (?3 = 0 OR f.announced_at IS NULL) AND child.undone_at IS NULL ORDER BY f.key",
        (tenant, conversation, int(unannounced)),
    )
    return [_stored(row[2:]) for row in rows]


def mark_announced(connection: sqlite3.Connection, tenant: str, child_id: str, now: float) -> None:
    """Note that a fold was announced to engine and memory."""
    connection.execute(
        "UPDATE folds SET announced_at = ? WHERE tenant = ? AND announced_at IS NULL"
        " AND child = (SELECT key FROM sessions WHERE tenant = ? AND id = ?)",
        (now, tenant, tenant, child_id),
    )


def find_history(
    connection: sqlite3.Connection, tenant: str, chain: Sequence[bytes], session_id: str | None = None
) -> KnownHistory | None:
    """Find the conversation whose history a client sends again, by the longest part of it that is known.

    A client that sends folded lists is known by the list that a continuation began with. What the
    conversation of `session_id` knows comes before what any other knows.
    """
    if session_id is not None:
        conversation = find_session(connection, tenant, session_id).conversation
        own = _find_history(connection, tenant, chain, conversation)
        if own is not None:
            return own
    return _find_history(connection, tenant, chain, None)


def _find_history(
    connection: sqlite3.Connection, tenant: str, chain: Sequence[bytes], conversation: str | None
) -> KnownHistory | None:
    stop = len(chain)
    while stop > 0:
        # A client mostly adds a few messages to what is known, so that the last digests find it.
        start = max(0, stop - (_NEWEST if stop == len(chain) else _TOGETHER))
        digests = chain[start:stop]
        rows = _find_said(connection, tenant, digests, conversation)
        if rows:
            positions = {digest: position for position, digest in enumerate(digests)}
            newest = max((row.chained for row in rows), key=positions.__getitem__)
            rows = [row for row in rows if row.chained == newest]
            return _choose(connection, tenant, rows, chain.index(newest), chain.count(newest))
        stop = start
    return None


@dataclass(frozen=True, slots=True)
class _Said:
    """A message that a chained digest is known by, or the list that a continuation began with."""

    chained: bytes
    session_id: str
    key: int
    is_base: bool


def _find_said(
    connection: sqlite3.Connection, tenant: str, digests: Sequence[bytes], conversation: str | None
) -> list[_Said]:
    marks = _marks(digests)
    own = () if conversation is None else (conversation,)
    rows = connection.execute(
        f"SELECT m.chain, s.id, s.key, 0 FROM messages m JOIN sessions s ON s.key = m.session"  # noqa: S608
        f" WHERE m.tenant = ? AND substr(m.chain, 1, {_LINK_BYTES}) IN ({marks})"
        f" AND m.chain IN ({marks}){' AND s.conversation = ?' if own else ''}"
        f" UNION ALL SELECT base_digest, id, key, 1 FROM sessions"
        f" WHERE tenant = ? AND base_digest IN ({marks}){' AND conversation = ?' if own else ''}",
        (tenant, *(digest[:_LINK_BYTES] for digest in digests), *digests, *own, tenant, *digests, *own),
    )
    return [_Said(bytes(chained), session_id, key, bool(base)) for chained, session_id, key, base in rows]


def _choose(
    connection: sqlite3.Connection, tenant: str, rows: Sequence[_Said], first: int, repeats: int
) -> KnownHistory:
    """Choose the session that goes on, of those that know a history up to the message `first`.

    A message that says nothing repeats the digest before it: of `repeats` such messages as many are known as
    the session has.
    """
    tips = [find_session(connection, tenant, find_tip(connection, tenant, row.session_id)) for row in rows]
    counts = Counter(tip.key for row, tip in zip(rows, tips, strict=True) if not row.is_base)
    found = []
    for row, tip in zip(rows, tips, strict=True):
        # The list that a continuation began with is no part of its chain.
        begins = row.is_base and tip.key == row.key and tip.next_seq == tip.own_from
        is_end = begins or tip.last_chain == row.chained
        length = first + max(1, min(counts[tip.key], repeats))
        found.append((is_end, length, row.key, tip.id))
    is_end, length, _key, tip_id = max(found)
    return KnownHistory(tip_id, length, is_end)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _stored(row: Sequence[object]) -> StoredFold:
    session_id, child_id, body, facts, created_at, is_announced = row
    read = _read_fold(str(body), str(facts))
    return StoredFold(
        session_id=str(session_id),
        child_id=str(child_id),
        fold=read.fold,
        facts=read.facts,
        created_at=created_at if isinstance(created_at, float) else 0.0,
        is_announced=bool(is_announced),
        condition=read.condition,
    )


@dataclass(frozen=True, slots=True)
class _ReadFold:
    fold: Fold = NO_FOLD
    facts: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    condition: Condition = Condition.DAMAGED


@lru_cache(maxsize=_MOST_READ)
def _read_fold(body: str, facts: str) -> _ReadFold:
    """Read a fold, the same one once: a client that sends its history again needs it in every turn."""
    try:
        with damage_noticed("fold"):
            fold, known = fold_from_json(body), read_value(facts)
    except DamagedRow:
        return _ReadFold()
    if not is_fold_intact(body, facts):
        return _ReadFold()
    return _ReadFold(fold, MappingProxyType(known if isinstance(known, dict) else {}), Condition.SOUND)
