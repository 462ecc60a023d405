"""What a session says, and what was said in a conversation; never with a hole in it.

Messages are numbered without gaps, so what was read is compared with what there must be. What is missing or
not what was stored comes as a mark in its place.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

from midfold.errors import MidfoldError, SessionNotFound
from midfold.messages import Message, Text
from midfold.store.base import Condition, StoredMessage
from midfold.store.codec import DAMAGED_TEXT, DamagedRow, read_value
from midfold.store.rows import MADE, SAID
from midfold.store.sqlite.messages import RECORD, RECORDS
from midfold.store.sqlite.seals import LOST_SEAL, SEALED_COLUMNS, is_sealed
from midfold.store.sqlite.sessions import SessionRow, find_place
from midfold.store.sqlite.skipping import UNREADABLE, each_row
from midfold.wire import DEFAULT_DIALECT, render

_SPEAKERS = ("user", "assistant", "system")
# A number of messages that is so far from what is there is itself damaged.
_MOST_MISSING = 1_000_000
_PIECES = "SELECT source, start, stop FROM ranges WHERE tenant = ? AND session = ? ORDER BY position"
_ROW_COLUMNS = RECORD.removeprefix("m.session, ").replace("m.", "").replace("s.id, ", "")
# The body is wanted only of what was said; of all else it is only counted.
_HISTORY = f"""
    SELECT {RECORD.replace("m.body", "CASE m.origin WHEN 'said' THEN m.body END")}
    FROM sessions s JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
    WHERE s.tenant = ? AND s.conversation = ?
"""  # noqa: S608 - constants only
_place_of = itemgetter(0, 1)


class HolesFound(DamagedRow):
    """Messages that must be there are not."""


@dataclass(frozen=True, slots=True)
class Piece:
    """messages[start:stop] of the session `source`"""

    source: int
    start: int
    stop: int


def read_pieces(connection: sqlite3.Connection, tenant: str, place: SessionRow) -> list[Piece]:
    """Return what a session is made of: the ranges it took over, and behind them its own messages."""
    taken_over = connection.execute(_PIECES, (tenant, place.key))
    return [*(Piece(*row) for row in taken_over), Piece(place.key, place.own_from, place.next_seq)]


def read_records(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int = 0, stop: int | None = None
) -> list[StoredMessage]:
    """Return what a session says, from message `start` up to `stop`. Raises `HolesFound`."""
    place = find_place(connection, tenant, session_id)
    pieces = read_pieces(connection, tenant, place)
    limit = -1 if stop is None else max(0, stop - start)
    rows = connection.execute(RECORDS, (tenant, place.key, place.own_from, limit, start)).fetchall()
    _check_places(place.id, rows, _cut(pieces, start, stop))
    return [_record(row) for row in rows]


def read_last(connection: sqlite3.Connection, tenant: str, place: SessionRow) -> StoredMessage | None:
    """Return the newest message of its own that a session has, unless it is missing or not chained to it."""
    row = connection.execute(
        f"SELECT {RECORD}, m.chain FROM messages m JOIN sessions s ON s.key = m.session"  # noqa: S608
        " WHERE m.tenant = ? AND m.session = ? AND m.seq = ?",
        (tenant, place.key, place.next_seq - 1),
    ).fetchone()
    is_chained = row is not None and (row[-1] is None or bytes(row[-1]) == bytes(place.last_chain))
    return _record(row[:-1]) if is_chained else None


def read_history(connection: sqlite3.Connection, tenant: str, conversation: str) -> list[StoredMessage]:
    """Return everything that was said in a conversation, folded or not, in the order in which it was said.

    A branch begins with what its parent said. Raises `HolesFound`.
    """
    first, sessions = _find_sessions(connection, tenant, conversation)
    taken_over = read_pieces(connection, tenant, first)[:-1]
    rows = connection.execute(RECORDS, (tenant, first.key, 1 << 60, -1, 0)).fetchall() if taken_over else []
    _check_places(first.id, rows, taken_over)
    own = connection.execute(_HISTORY, (tenant, conversation)).fetchall()
    order = {each.key: number for number, each in enumerate(sessions)}
    own.sort(key=lambda row: (order.get(row[0], -1), row[1]))
    _check_places(first.id, own, [Piece(each.key, 0, each.next_seq) for each in sessions])
    return [_record(row) for row in (*rows, *(row for row in own if row[2] not in MADE))]


def read_damaged_records(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int = 0, stop: int | None = None
) -> list[StoredMessage]:
    """Do what `read_records` does where not every row can be read: each by itself."""
    place = find_place(connection, tenant, session_id)
    return _read_singly(
        connection, tenant, place.dialect, _cut(read_pieces(connection, tenant, place), start, stop)
    )


def read_damaged_history(
    connection: sqlite3.Connection, tenant: str, conversation: str
) -> list[StoredMessage]:
    """Do what `read_history` does where not every row can be read: each by itself."""
    first, sessions = _find_sessions(connection, tenant, conversation)
    pieces = read_pieces(connection, tenant, first)[:-1]
    own = [Piece(each.key, 0, each.next_seq) for each in sessions]
    said = _read_singly(connection, tenant, first.dialect, own)
    return [
        *_read_singly(connection, tenant, first.dialect, pieces),
        *(each for each in said if each.origin not in MADE),
    ]


def _find_sessions(
    connection: sqlite3.Connection, tenant: str, conversation: str
) -> tuple[SessionRow, list[SessionRow]]:
    """Return the first session of a conversation, and all of them in the order in which they were used."""
    rows = connection.execute(
        "SELECT key, id, conversation, dialect, own_from, next_seq, last_chain, ended_at, kind FROM sessions"
        " WHERE tenant = ? AND conversation = ? ORDER BY first_position, key",
        (tenant, conversation),
    ).fetchall()
    first = next((SessionRow(*row[:-1]) for row in rows if row[-1] != "continuation"), None)
    if first is None:
        raise SessionNotFound(conversation)
    return first, [SessionRow(*row[:-1]) for row in rows]


def _cut(pieces: Sequence[Piece], start: int, stop: int | None) -> list[Piece]:
    """Return the pieces of messages `start` to `stop` of all that the pieces say."""
    cut: list[Piece] = []
    at = 0
    for piece in pieces:
        count = max(0, piece.stop - piece.start)
        low, high = max(0, start - at), count if stop is None else min(count, stop - at)
        if low < high:
            cut.append(Piece(piece.source, piece.start + low, piece.start + high))
        at += count
    return cut


def _count(pieces: Sequence[Piece]) -> int:
    return sum(max(0, piece.stop - piece.start) for piece in pieces)


def _places(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    return ((piece.source, seq) for piece in pieces for seq in range(piece.start, piece.stop))


def _check_places(session_id: str, rows: Sequence[tuple[Any, ...]], pieces: Sequence[Piece]) -> None:
    count = _count(pieces)
    if count != len(rows) or list(map(_place_of, rows)) != list(_places(pieces)):
        raise HolesFound(f"session {session_id} should say {count:,} messages, and {len(rows):,} can be read")


def _record(row: Sequence[Any]) -> StoredMessage:
    sealed = row[:SEALED_COLUMNS]
    _session, seq, origin, role, tools, dialect, body, seal = sealed
    session_id, tokens, finish_reason, is_redacted, created_at = row[SEALED_COLUMNS:]
    if not is_sealed(sealed):
        condition = Condition.LOST if seal == LOST_SEAL else Condition.DAMAGED
        return make_mark(session_id, seq, role, dialect, created_at, condition=condition, origin=origin)
    try:
        item = read_value(body)
    except DamagedRow:
        return make_mark(session_id, seq, role, dialect, created_at, origin=origin)
    return StoredMessage(
        session_id=session_id,
        seq=seq,
        origin=origin,
        role=role,
        item=item,
        tools=tuple(tools.split()),
        tokens=tokens,
        finish_reason=finish_reason,
        is_redacted=bool(is_redacted),
        created_at=created_at,
    )


def make_mark(
    session_id: str,
    seq: int,
    role: object,
    dialect: object,
    created_at: object = 0.0,
    *,
    condition: Condition = Condition.DAMAGED,
    origin: object = SAID,
) -> StoredMessage:
    """Return what stands in the place of a message that is damaged; its columns may be, too."""
    speaker = role if isinstance(role, str) and role in _SPEAKERS else "user"
    return StoredMessage(
        session_id=session_id,
        seq=seq,
        origin=origin if isinstance(origin, str) else SAID,
        role=speaker,
        item=make_mark_item(speaker, dialect),
        tools=(),
        tokens=None,
        finish_reason=None,
        is_redacted=False,
        created_at=created_at if isinstance(created_at, float) else 0.0,
        condition=condition,
    )


def make_mark_item(role: str, dialect: object) -> object:
    """Spell the mark of a damaged message as a wire item."""
    message = Message(role if role in _SPEAKERS else "user", (Text(DAMAGED_TEXT),))
    try:
        return render([message], str(dialect or DEFAULT_DIALECT))[0]
    except (ValueError, LookupError, MidfoldError):
        return render([message], DEFAULT_DIALECT)[0]


def _read_singly(
    connection: sqlite3.Connection, tenant: str, dialect: str | None, pieces: Sequence[Piece]
) -> list[StoredMessage]:
    ids = _read_ids(connection, {piece.source for piece in pieces})
    found: dict[tuple[int, int], StoredMessage] = {}
    for piece in pieces:
        found |= _look_up(connection, tenant, piece, ids)
    if _count(pieces) - len(found) > _MOST_MISSING:
        raise DamagedRow(f"{_count(pieces):,} messages cannot be right")
    if len(found) < _count(pieces):
        found |= _scan(connection, ids, {place for place in _places(pieces) if place not in found})
    return [
        found.get(place) or make_mark(ids.get(place[0], "?"), place[1], "user", dialect)
        for place in _places(pieces)
    ]


def _read_ids(connection: sqlite3.Connection, keys: set[int]) -> dict[int, str]:
    ids: dict[int, str] = {}
    for key in keys:
        try:
            row = connection.execute("SELECT id FROM sessions WHERE key = ?", (key,)).fetchone()
        except UNREADABLE:
            continue
        if row:
            ids[key] = row[0]
    return ids


def _look_up(
    connection: sqlite3.Connection, tenant: str, piece: Piece, ids: dict[int, str]
) -> dict[tuple[int, int], StoredMessage]:
    """Find messages by the index, as long as that can be read."""
    statement = f"SELECT session, {_ROW_COLUMNS} FROM messages WHERE tenant = ? AND session = ? AND seq = ?"  # noqa: S608
    found: dict[tuple[int, int], StoredMessage] = {}
    for seq in islice(range(piece.start, piece.stop), _MOST_MISSING):
        try:
            row = connection.execute(statement, (tenant, piece.source, seq)).fetchone()
        except UNREADABLE:
            continue
        if row is not None and _place_of(row) == (piece.source, seq):
            found[piece.source, seq] = _record(_with_id(row, ids))
    return found


def _scan(
    connection: sqlite3.Connection, ids: dict[int, str], wanted: set[tuple[int, int]]
) -> dict[tuple[int, int], StoredMessage]:
    """Find messages by going through all there are; those that the index did not lead to must be sound."""
    rows = (row[1:] for row in each_row(connection, "messages", "id", f"session, {_ROW_COLUMNS}"))
    return {
        _place_of(row): _record(_with_id(row, ids))
        for row in rows
        if _place_of(row) in wanted and is_sealed(row[:SEALED_COLUMNS])
    }


def _with_id(row: Sequence[Any], ids: dict[int, str]) -> tuple[Any, ...]:
    return (*row[:SEALED_COLUMNS], ids.get(row[0], "?"), *row[SEALED_COLUMNS:])
