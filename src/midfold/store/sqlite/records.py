"""Records of messages: what a session says, and what was said in a conversation, never with a hole in it.

Messages are numbered without gaps, so what was read is compared with what there must be. A message that is
missing or not what was stored comes as a mark in its place.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from midfold.errors import MidfoldError
from midfold.messages import Message, Text
from midfold.store.codec import DAMAGED_TEXT, DamagedRow, read_value
from midfold.store.rows import MADE, SAID
from midfold.store.sqlite.checksums import CHECKED_COLUMNS, LOST_CHECKSUM, is_intact
from midfold.store.sqlite.history_rows import find_pieces, find_sessions
from midfold.store.sqlite.message_rows import RECORD, RECORDS, MessageRange
from midfold.store.sqlite.row_scan import UNREADABLE, each_row
from midfold.store.sqlite.session_rows import SessionRow, find_branch, find_session
from midfold.store.values import Condition, StoredMessage
from midfold.wire import DEFAULT_DIALECT, render

_SPEAKERS = ("user", "assistant", "system")
# A number of messages that is so far from what is there is itself damaged.
_MOST_MISSING = 1_000_000
_RANGES = "SELECT source, start, stop FROM ranges WHERE tenant = ? AND session = ? ORDER BY position"
_ROW_COLUMNS = RECORD.removeprefix("m.session, ").replace("m.", "").replace("s.id, ", "")
# The body is wanted only of what was said; of all else it is only counted.
_HISTORY = f"""
    SELECT {RECORD.replace("m.body", "CASE m.origin WHEN 'said' THEN m.body END")}
    FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
    WHERE s.tenant = ? AND s.conversation = ?
"""  # noqa: S608 - constants only
_position_of = itemgetter(0, 1)  # the session and the number in it


_COUNT_HISTORY = """
    SELECT
        (SELECT coalesce(sum(r.stop - r.start), 0) FROM sessions s
            CROSS JOIN ranges r ON r.tenant = s.tenant AND r.session = s.key
            WHERE s.tenant = :tenant AND s.conversation = :conversation AND s.kind <> 'continuation')
        + (SELECT count(*) FROM sessions s CROSS JOIN messages m ON m.tenant = s.tenant AND m.session = s.key
            WHERE s.tenant = :tenant AND s.conversation = :conversation AND m.origin = 'said')
"""


_SAID = f"""
    SELECT {RECORD} FROM messages m JOIN sessions s ON s.key = m.session
    WHERE m.tenant = ? AND m.session = ? AND m.seq BETWEEN ? AND ? AND m.origin = 'said' ORDER BY m.seq
"""  # noqa: S608 - constants only


class HolesFound(DamagedRow):
    """Messages that must be there are not."""


def _read_ranges(connection: sqlite3.Connection, tenant: str, session: SessionRow) -> list[MessageRange]:
    """Return what a session is made of: the ranges it took over, and behind them its own messages."""
    taken_over = connection.execute(_RANGES, (tenant, session.key))
    return [
        *(MessageRange(*row) for row in taken_over),
        MessageRange(session.key, session.own_from, session.next_seq),
    ]


def read_records(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int = 0, stop: int | None = None
) -> list[StoredMessage]:
    """Return what a session says, from message `start` up to `stop`. Raises `HolesFound`."""
    session = find_session(connection, tenant, session_id)
    ranges = _read_ranges(connection, tenant, session)
    limit = -1 if stop is None else max(0, stop - start)
    rows = connection.execute(RECORDS, (tenant, session.key, session.own_from, limit, start)).fetchall()
    _check_complete(session.id, rows, _cut(ranges, start, stop))
    return [_record(row) for row in rows]


def read_last(connection: sqlite3.Connection, tenant: str, session: SessionRow) -> StoredMessage | None:
    """Return the newest message of its own that a session has, unless it is missing or not chained to it."""
    row = connection.execute(
        f"SELECT {RECORD}, m.chain FROM messages m JOIN sessions s ON s.key = m.session"  # noqa: S608
        " WHERE m.tenant = ? AND m.session = ? AND m.seq = ?",
        (tenant, session.key, session.next_seq - 1),
    ).fetchone()
    is_chained = row is not None and (row[-1] is None or bytes(row[-1]) == bytes(session.last_chain))
    return _record(row[:-1]) if is_chained else None


def read_history(connection: sqlite3.Connection, tenant: str, conversation: str) -> list[StoredMessage]:
    """Return everything that was said in a conversation, folded or not, in the order in which it was said.

    A branch begins with what its parent said. Raises `HolesFound`.
    """
    first, sessions = find_sessions(connection, tenant, conversation)
    taken_over = _read_ranges(connection, tenant, first)[:-1]
    rows = connection.execute(RECORDS, (tenant, first.key, 1 << 60, -1, 0)).fetchall() if taken_over else []
    _check_complete(first.id, rows, taken_over)
    own = connection.execute(_HISTORY, (tenant, conversation)).fetchall()
    order = {each.key: number for number, each in enumerate(sessions)}
    own.sort(key=lambda row: (order.get(row[0], -1), row[1]))
    _check_complete(first.id, own, [MessageRange(each.key, 0, each.next_seq) for each in sessions])
    return [_record(row) for row in (*rows, *(row for row in own if row[2] not in MADE))]


ReadHistory = Callable[[sqlite3.Connection, str, str], list[StoredMessage]]
"""Returns what was said in one conversation, without that which it branched from."""


def read_whole_history(
    connection: sqlite3.Connection, tenant: str, session_id: str, read: ReadHistory
) -> list[StoredMessage]:
    """Return all that was said in the conversation of a session, folded or not, in the order it was said in.

    A branch begins with all that was said before it, also with what its parent had folded by then.
    """
    conversation = find_session(connection, tenant, session_id).conversation
    said = read(connection, tenant, conversation)
    while branch := find_branch(connection, tenant, conversation):
        before = read(connection, tenant, branch.parent)
        said = [*before[: branch.parent_taken_over + branch.said_before], *said[branch.taken_over :]]
        conversation = branch.parent
    return said


def read_history_part(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int, stop: int | None
) -> list[StoredMessage]:
    """Return messages `start` to `stop` of what `read_whole_history` returns; only these are read.

    Raises `HolesFound`.
    """
    pieces = find_pieces(connection, tenant, session_id)
    if pieces is None:
        return read_whole_history(connection, tenant, session_id, read_history)[start:stop]
    found: list[StoredMessage] = []
    for piece in pieces:
        low, high = max(start, piece.start), piece.stop if stop is None else min(piece.stop, stop)
        if low < high:
            seqs = (piece.seq(low), piece.seq(high - 1))
            rows = connection.execute(_SAID, (tenant, piece.session.key, *seqs)).fetchall()
            if len(rows) != high - low:
                raise HolesFound(f"session {piece.session.id} should say {high - low:,} messages here")
            found += [_record(row) for row in rows]
    return found


def find_numbers(
    connection: sqlite3.Connection, tenant: str, session_id: str, written: Sequence[tuple[str, int]]
) -> list[int | None]:
    """Return the numbers that messages have in `read_whole_history`, each by its session and number there."""
    pieces = find_pieces(connection, tenant, session_id)
    if pieces is None:
        return number_messages(read_whole_history(connection, tenant, session_id, read_history), written)
    known = {piece.session.id: piece for piece in pieces}
    return [known[name].number(seq) if name in known else None for name, seq in written]


def number_messages(said: Sequence[StoredMessage], written: Sequence[tuple[str, int]]) -> list[int | None]:
    """Return the numbers that messages have among all that were said."""
    numbers = {(each.session_id, each.seq): number for number, each in enumerate(said)}
    return [numbers.get(each) for each in written]


def count_history(connection: sqlite3.Connection, tenant: str, session_id: str) -> int:
    """Return how many messages `read_whole_history` returns."""
    conversation = find_session(connection, tenant, session_id).conversation
    names = {"tenant": tenant, "conversation": conversation}
    count = int(connection.execute(_COUNT_HISTORY, names).fetchone()[0])
    while branch := find_branch(connection, tenant, conversation):
        count += branch.parent_taken_over + branch.said_before - branch.taken_over
        conversation = branch.parent
    return count


def read_damaged_records(
    connection: sqlite3.Connection, tenant: str, session_id: str, start: int = 0, stop: int | None = None
) -> list[StoredMessage]:
    """Do what `read_records` does where not every row can be read: each by itself."""
    session = find_session(connection, tenant, session_id)
    return _read_singly(
        connection, tenant, session.dialect, _cut(_read_ranges(connection, tenant, session), start, stop)
    )


def read_damaged_history(
    connection: sqlite3.Connection, tenant: str, conversation: str
) -> list[StoredMessage]:
    """Do what `read_history` does where not every row can be read: each by itself."""
    first, sessions = find_sessions(connection, tenant, conversation)
    ranges = _read_ranges(connection, tenant, first)[:-1]
    own = [MessageRange(each.key, 0, each.next_seq) for each in sessions]
    said = _read_singly(connection, tenant, first.dialect, own)
    return [
        *_read_singly(connection, tenant, first.dialect, ranges),
        *(each for each in said if each.origin not in MADE),
    ]


def _cut(ranges: Sequence[MessageRange], start: int, stop: int | None) -> list[MessageRange]:
    """Return the ranges of messages `start` to `stop` of all that the ranges say."""
    cut: list[MessageRange] = []
    at = 0
    for each in ranges:
        count = max(0, each.stop - each.start)
        low, high = max(0, start - at), count if stop is None else min(count, stop - at)
        if low < high:
            cut.append(MessageRange(each.source, each.start + low, each.start + high))
        at += count
    return cut


def _count(ranges: Sequence[MessageRange]) -> int:
    return sum(max(0, each.stop - each.start) for each in ranges)


def _positions(ranges: Sequence[MessageRange]) -> Iterator[tuple[int, int]]:
    return ((each.source, seq) for each in ranges for seq in range(each.start, each.stop))


def _check_complete(session_id: str, rows: Sequence[tuple[Any, ...]], ranges: Sequence[MessageRange]) -> None:
    count = _count(ranges)
    if count != len(rows) or list(map(_position_of, rows)) != list(_positions(ranges)):
        raise HolesFound(f"session {session_id} should say {count:,} messages, and {len(rows):,} can be read")


def _record(row: Sequence[Any]) -> StoredMessage:
    sealed = row[:CHECKED_COLUMNS]
    _session, seq, origin, role, tools, dialect, body, seal = sealed
    session_id, tokens, finish_reason, is_redacted, created_at = row[CHECKED_COLUMNS:]
    if not is_intact(sealed):
        condition = Condition.LOST if seal == LOST_CHECKSUM else Condition.DAMAGED
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
    """Render the mark of a damaged message as a wire item."""
    message = Message(role if role in _SPEAKERS else "user", (Text(DAMAGED_TEXT),))
    try:
        return render([message], str(dialect or DEFAULT_DIALECT))[0]
    except (ValueError, LookupError, MidfoldError):
        return render([message], DEFAULT_DIALECT)[0]


def _read_singly(
    connection: sqlite3.Connection, tenant: str, dialect: str | None, ranges: Sequence[MessageRange]
) -> list[StoredMessage]:
    ids = _read_ids(connection, {each.source for each in ranges})
    found: dict[tuple[int, int], StoredMessage] = {}
    for each in ranges:
        found |= _look_up(connection, tenant, each, ids)
    if _count(ranges) - len(found) > _MOST_MISSING:
        raise DamagedRow(f"{_count(ranges):,} messages cannot be right")
    if len(found) < _count(ranges):
        found |= _scan(
            connection, ids, {position for position in _positions(ranges) if position not in found}
        )
    return [
        found.get(position) or make_mark(ids.get(position[0], "?"), position[1], "user", dialect)
        for position in _positions(ranges)
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
    connection: sqlite3.Connection, tenant: str, each: MessageRange, ids: dict[int, str]
) -> dict[tuple[int, int], StoredMessage]:
    """Find messages by the index, as long as that can be read."""
    statement = f"SELECT session, {_ROW_COLUMNS} FROM messages WHERE tenant = ? AND session = ? AND seq = ?"  # noqa: S608
    found: dict[tuple[int, int], StoredMessage] = {}
    for seq in islice(range(each.start, each.stop), _MOST_MISSING):
        try:
            row = connection.execute(statement, (tenant, each.source, seq)).fetchone()
        except UNREADABLE:
            continue
        if row is not None and _position_of(row) == (each.source, seq):
            found[each.source, seq] = _record(_with_id(row, ids))
    return found


def _scan(
    connection: sqlite3.Connection, ids: dict[int, str], wanted: set[tuple[int, int]]
) -> dict[tuple[int, int], StoredMessage]:
    """Find messages by going through all there are; those that the index did not lead to must be sound."""
    rows = (row[1:] for row in each_row(connection, "messages", "id", f"session, {_ROW_COLUMNS}"))
    return {
        _position_of(row): _record(_with_id(row, ids))
        for row in rows
        if _position_of(row) in wanted and is_intact(row[:CHECKED_COLUMNS])
    }


def _with_id(row: Sequence[Any], ids: dict[int, str]) -> tuple[Any, ...]:
    return (*row[:CHECKED_COLUMNS], ids.get(row[0], "?"), *row[CHECKED_COLUMNS:])
