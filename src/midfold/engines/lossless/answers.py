"""Answers of the tools as JSON text that fits into the tokens it may take."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from midfold.late_dataclasses import dataclass

CountText = Callable[[str], int]
_PIECE_TOKENS = 600
"""A longer text is shown in pieces of about this size, so that a page can end inside it."""
_CHARS_PER_TOKEN = 3
_SHORTEST_CHARS = 40


def to_json(value: object) -> str:
    """Write an answer."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fill_page(
    facts: Mapping[str, object],
    name: str,
    rows: Sequence[Mapping[str, object]],
    *,
    page: int,
    most_tokens: int,
    count: CountText,
) -> str:
    """Write page `page` of `rows` under `name`, behind `facts`; each page is filled to its limit."""
    pages = _Pages(
        rows, count, most_tokens - count(to_json({**facts, name: [], "page": 0, "pages": 0, "more": 0}))
    )
    wanted = pages.find(page)
    answer: dict[str, object] = {**facts, name: list(rows[wanted.start : wanted.stop])}
    if wanted.start or wanted.stop < len(rows):
        answer["page"] = page
    if rows and wanted.start == len(rows):
        answer["note"] = f"the last page is {wanted.last}"
    if wanted.stop < len(rows):
        answer["more"] = len(rows) - wanted.stop
        answer["next_page"] = page + 1
    return _cut_to(answer, name, most_tokens, count)


def split_text(text: str, most_tokens: int = _PIECE_TOKENS) -> list[str]:
    """Split a long text at line ends, or where a line is too long, anywhere."""
    most = most_tokens * _CHARS_PER_TOKEN
    pieces: list[str] = []
    start = 0
    while start < len(text):
        stop = min(start + most, len(text))
        if stop < len(text):
            line_end = text.rfind("\n", start + most // 2, stop)
            stop = line_end + 1 if line_end >= 0 else stop
        pieces.append(text[start:stop])
        start = stop
    return pieces or [""]


@dataclass(frozen=True, slots=True)
class _Page:
    start: int
    stop: int
    last: int
    """the number of the last page that was filled"""


@dataclass(frozen=True, slots=True)
class _Pages:
    rows: Sequence[Mapping[str, object]]
    count: CountText
    room: int

    def find(self, page: int) -> _Page:
        """Return the rows of a page; every page has at least one row while there are some."""
        start = stop = last = 0
        for last in range(1, max(page, 1) + 1):
            start, left = stop, self.room
            while stop < len(self.rows):
                left -= self.count(to_json(self.rows[stop])) + 1
                if left < 0 and stop > start:
                    break
                stop += 1
            if start == stop:
                return _Page(start, stop, last - 1)
        return _Page(start, stop, last)


def _cut_to(answer: dict[str, object], name: str, most_tokens: int, count: CountText) -> str:
    """Shorten the longest text of the rows until the answer fits: a promise of size is kept."""
    rows = [dict(row) for row in cast("list[Mapping[str, object]]", answer[name])]
    written = to_json(answer)
    while rows and (excess := count(written) - most_tokens) > 0:
        longest = max(rows, key=lambda row: len(str(row.get("text", ""))))
        text = str(longest.get("text", ""))
        if len(text) < _SHORTEST_CHARS:
            rows.pop()
        else:
            cut = max(excess * _CHARS_PER_TOKEN, len(text) // 10)
            longest |= {"text": f"{text[: max(len(text) - cut, _SHORTEST_CHARS // 2)]}…", "is_cut": True}
        answer[name] = rows
        written = to_json(answer)
    return written
