"""The changes of an edit, for a person to judge: a headline, and a unified diff."""

from collections.abc import Iterator
from difflib import SequenceMatcher

_CONTEXT_LINES = 3
# Comparing takes the product of both sides at worst: longer ones are shown as one block that is replaced.
_MOST_COMPARED_LINES = 2_000
_NO_NEWLINE = "\\ no newline at the end"


def describe_change(name: str, before: bytes | None, after: str) -> str:
    """Describe the change of a file from `before`, `None` where it is new, to `after`."""
    if before is None:
        return "\n".join([f"{name}: new file, {_count(len(_lines(after)), 'line')}", *_mark("+", after)])
    old = _decode(before)
    if old is None:
        size = f"{len(before):,} bytes that are not text"
        return "\n".join([f"{name}: replaces {size}", *_mark("+", after)])
    if "\r\n" in old and "\r\n" in after:  # the ends of lines stay, so they are no part of the change
        old, after = old.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    rows = list(_diff(old, after))
    added = sum(row.startswith("+") for row in rows)
    removed = sum(row.startswith("-") for row in rows)
    size = f"{_count(added, 'line')} added, {removed:,} removed" if rows else "nothing changes"
    return "\n".join([f"{name}: {size}", *rows])


def _diff(old: str, new: str) -> Iterator[str]:
    """Yield the hunks of a diff."""
    a, b = _lines(old), _lines(new)
    for start, stop, blocks in _hunks(a, b):
        first_old, first_new = start
        last_old, last_new = stop
        yield f"@@ -{_range(first_old, last_old)} +{_range(first_new, last_new)} @@"
        for tag, i1, i2, j1, j2 in blocks:
            if tag == "equal":
                yield from (f" {line}" for line in a[i1:i2])
            else:
                yield from (f"-{line}" for line in a[i1:i2])
                yield from (f"+{line}" for line in b[j1:j2])
    if a and b and a[-1] == b[-1] and old.endswith("\n") != new.endswith("\n"):
        yield f"-{a[-1]}" if old.endswith("\n") else f"-{a[-1]}{_NO_NEWLINE}"
        yield f"+{b[-1]}" if new.endswith("\n") else f"+{b[-1]}{_NO_NEWLINE}"


_Block = tuple[str, int, int, int, int]


def _hunks(a: list[str], b: list[str]) -> Iterator[tuple[tuple[int, int], tuple[int, int], list[_Block]]]:
    for blocks in _group(_compare(a, b)):
        yield (blocks[0][1], blocks[0][3]), (blocks[-1][2], blocks[-1][4]), blocks


def _compare(a: list[str], b: list[str]) -> list[_Block]:
    """Compare two lists of lines; what they begin and end with alike is found in one pass."""
    start = 0
    shorter = min(len(a), len(b))
    while start < shorter and a[start] == b[start]:
        start += 1
    rest = 0
    while rest < shorter - start and a[-1 - rest] == b[-1 - rest]:
        rest += 1
    stop_a, stop_b = len(a) - rest, len(b) - rest
    blocks: list[_Block] = [("equal", 0, start, 0, start)] if start else []
    if max(stop_a, stop_b) - start > _MOST_COMPARED_LINES:
        blocks.append(("replace", start, stop_a, start, stop_b))
    else:
        found = SequenceMatcher(None, a[start:stop_a], b[start:stop_b]).get_opcodes()
        blocks += [(tag, i + start, j + start, k + start, m + start) for tag, i, j, k, m in found]
    return [*blocks, ("equal", stop_a, len(a), stop_b, len(b))] if rest else blocks


def _group(blocks: list[_Block]) -> Iterator[list[_Block]]:
    """Yield the changes with the lines around them, together where they are near one another."""
    group: list[_Block] = []
    for index, (tag, i1, i2, j1, j2) in enumerate(blocks):
        if tag != "equal":
            group.append((tag, i1, i2, j1, j2))
            continue
        lead = _CONTEXT_LINES if index else 0
        tail = _CONTEXT_LINES if index < len(blocks) - 1 else 0
        if i2 - i1 <= lead + tail:
            group.append((tag, i1, i2, j1, j2))
            continue
        if group:
            yield [*group, (tag, i1, i1 + lead, j1, j1 + lead)]
        group = [(tag, i2 - tail, i2, j2 - tail, j2)] if tail else []
    if any(block[0] != "equal" for block in group):
        yield group


def _range(start: int, stop: int) -> str:
    length = stop - start
    return f"{start + bool(length)},{length}" if length != 1 else f"{start + 1}"


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _mark(sign: str, text: str) -> list[str]:
    return [f"{sign}{line}" for line in _lines(text)]


def _decode(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
