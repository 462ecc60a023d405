"""Rows of tables straight from the pages of a file: for what no tree leads to any more.

It reads a copy that nobody else has open. What it gives may be anything, so callers take only what proves
itself, as messages do by their sum.
"""

import re
import struct
from collections.abc import Iterator
from itertools import accumulate
from typing import TypeAlias

Value: TypeAlias = int | float | str | bytes | None

PAGE_BYTES = 4_096
"""The size of the pages of every store."""
_LEAF = 0x0D
# Pages of trees that hold no rows of a table; all others may be leaves whose header is damaged.
_OTHER_PAGES = (0x02, 0x05, 0x0A)
# The length of a row's header, and the column of its key, which is empty. Two numbers stand before it.
_ROW_HEADER = re.compile(rb"[\x09-\x40]\x00")
_MOST_BEFORE = 14
_FILE_HEADER, _PAGE_HEADER = 100, 8
_MOST_BYTES = 1 << 28
_MOST_COLUMNS = 100
_BROKEN = (IndexError, ValueError, OverflowError)


def read_leaves(data: bytes) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Yield the number and the values of every row that looks like one."""
    for start in range(0, len(data) - PAGE_BYTES + 1, PAGE_BYTES):
        header = start + (_FILE_HEADER if start == 0 else 0)
        if data[header] in _OTHER_PAGES:
            continue
        is_whole = data[header] == _LEAF
        count = int.from_bytes(data[header + 3 : header + 5], "big") if is_whole else 0
        first = header + _PAGE_HEADER
        for at in range(first, min(first + 2 * count, start + PAGE_BYTES - 1), 2):
            cell = start + int.from_bytes(data[at : at + 2], "big")
            try:
                yield _read_cell(data, cell, start + PAGE_BYTES)
            except _BROKEN:
                is_whole = False
        if not is_whole:
            yield from _read_loose(data, start)


def _read_loose(data: bytes, start: int) -> Iterator[tuple[int, tuple[Value, ...]]]:
    """Find rows on a page whose own list of them is damaged, by what every row begins with."""
    end = start + PAGE_BYTES
    for found in _ROW_HEADER.finditer(data, start, end):
        for cell in range(max(start, found.start() - _MOST_BEFORE), found.start() - 1):
            try:
                at = _read_varint(data, _read_varint(data, cell)[1])[1]
                if at == found.start():
                    yield _read_cell(data, cell, end)
            except _BROKEN:
                continue


def _read_cell(data: bytes, at: int, end: int) -> tuple[int, tuple[Value, ...]]:
    size, at = _read_varint(data, at)
    rowid, at = _read_varint(data, at)
    if not 0 < size <= min(_MOST_BYTES, len(data)):
        raise ValueError("no row is so large")
    local = _count_local(size)
    if at + local > end:
        raise ValueError("a row ends behind its page")
    payload = data[at : at + local]
    if local < size:
        payload += _read_overflow(
            data, int.from_bytes(data[at + local : at + local + 4], "big"), size - local
        )
    return rowid - (1 << 64) if rowid >> 63 else rowid, _read_values(payload)


def _count_local(size: int) -> int:
    """Return how much of a row is on the page itself."""
    most, least = PAGE_BYTES - 35, (PAGE_BYTES - 12) * 32 // 255 - 23
    if size <= most:
        return size
    local = least + (size - least) % (PAGE_BYTES - 4)
    return local if local <= most else least


def _read_overflow(data: bytes, page: int, size: int) -> bytes:
    found: list[bytes] = []
    while size > 0:
        start = (page - 1) * PAGE_BYTES
        if page < 1 or start + PAGE_BYTES > len(data):
            raise ValueError("a row goes on where there is no page")
        part = data[start + 4 : start + 4 + min(size, PAGE_BYTES - 4)]
        found.append(part)
        size -= len(part)
        page = int.from_bytes(data[start : start + 4], "big")
    return b"".join(found)


def _read_values(payload: bytes) -> tuple[Value, ...]:
    header, at = _read_varint(payload, 0)
    kinds: list[int] = []
    while at < header and len(kinds) < _MOST_COLUMNS:
        kind, at = _read_varint(payload, at)
        kinds.append(kind)
    if at != header:
        raise ValueError("a row has no header")
    ends = list(accumulate((_size_of(kind) for kind in kinds), initial=header))
    if ends[-1] != len(payload):
        raise ValueError("a row is longer or shorter than it says")
    return tuple(
        _read_value(kind, payload[start:stop])
        for kind, start, stop in zip(kinds, ends, ends[1:], strict=False)
    )


def _size_of(kind: int) -> int:
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)[kind] if kind < 10 else max(0, kind - 12) // 2


def _read_value(kind: int, raw: bytes) -> Value:
    if kind == 0:
        return None
    if kind in (8, 9):
        return kind - 8
    if kind == 7:
        [number] = struct.unpack(">d", raw)
        return float(number)
    if kind < 7:
        return int.from_bytes(raw, "big", signed=True)
    return raw.decode() if kind % 2 else raw


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index in range(8):
        byte = data[at + index]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + index + 1
    return value << 8 | data[at + 8], at + 9
