"""Cuts what is too large to keep and too recent to fold: results of a tail, and where need be, pasted text.

Both ends of a text stay, and between them stands how much is missing and of which message it is.
"""

from collections.abc import Callable, Iterable, Iterator
from math import inf

from midfold.folding.fold import Edit, Span
from midfold.folding.layout import Layout
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import SYSTEM_ROLES, Message, Part, Text, ToolResult
from midfold.ports import Count
from midfold.provenance import Author, main_author, segments_at
from midfold.summaries import fit_sizes
from midfold.summaries.tool_calls import excerpt

FLOOR_TOKENS = 120
"""Nothing is cut below this: the first and last lines say what it was."""
_PRINTED = (Author.HOST, Author.TOOL)
_HEAD_PART = 0.6
_NOTE_CHARS = 60
_ROUNDS = 6
_TIGHT = 0.97
_LOOSE = 0.01


@dataclass(frozen=True, slots=True)
class _Sized:
    index: int
    position: int
    part: Text | ToolResult
    tokens: int


def shrink_tail(
    layout: Layout, tail: Span, budget_tokens: int, count: Count, redact: Callable[[str], str] = str
) -> tuple[Edit, ...]:
    """Cut the largest results of `tail` until it fits, never those of a call that still waits for others.

    Output that comes in a message of the user's role is a result as well. What stays of a result goes
    through `redact` before it is cut.
    """
    printed = find_printed(layout, tail)
    kept = sorted({*tail, *printed})
    excess = sum(layout.sizes[index] for index in kept) - budget_tokens
    results = list(_sized(layout, kept, count, (ToolResult,))) if excess > 0 else []
    results += _sized(layout, printed, count, (Text,)) if excess > 0 else ()
    if not results:
        return ()
    sizes = [sized.tokens for sized in results]
    cap = max(fit_sizes(sizes, max(0, sum(sizes) - excess)), FLOOR_TOKENS)
    return _cut_to(layout, results, cap, redact)


def find_printed(layout: Layout, tail: Span) -> list[int]:
    """Find the messages of the user's role that stay and hold nothing but output: no request, no summary."""
    kept = {*tail, *layout.newest}
    return sorted(
        index
        for index in kept
        if index in layout.observations
        or (index in layout.newest and main_author(segments_at(layout.messages, index)) in _PRINTED)
    )


def excerpt_messages(
    layout: Layout,
    indices: Iterable[int],
    excess_tokens: int,
    count: Count,
    redact: Callable[[str], str] = str,
) -> tuple[Edit, ...]:
    """Cut the largest results and texts of these messages until they are smaller by `excess_tokens`.

    What cannot be reached is come as near to as the floor of each text allows.
    """
    parts = list(_sized(layout, indices, count, (ToolResult, Text))) if excess_tokens > 0 else []
    if not parts:
        return ()
    sizes = [sized.tokens for sized in parts]
    room = max(0, sum(sizes) - excess_tokens)
    best: tuple[Edit, ...] = ()
    wanted: int = room
    least: float = -inf
    for _ in range(_ROUNDS):
        cap = max(fit_sizes(sizes, max(0, wanted)), FLOOR_TOKENS)
        edits = _cut_to(layout, parts, cap, redact)
        left = -excess_tokens - sum(_delta(layout, edit, count) for edit in edits)
        if least < left < 0 or (left >= 0 and not 0 <= least < left):
            best, least = edits, left
        if 0 <= left <= room * _LOOSE or cap == FLOOR_TOKENS:
            break
        wanted += int(left * _TIGHT) if left > 0 else left - room // 100
    return best


def _delta(layout: Layout, edit: Edit, count: Count) -> int:
    return count(edit.apply(layout.messages[edit.index])) - layout.sizes[edit.index]


def _sized(
    layout: Layout, indices: Iterable[int], count: Count, kinds: tuple[type[Text | ToolResult], ...]
) -> Iterator[_Sized]:
    for index in indices:
        message = layout.messages[index]
        if (layout.waiting is not None and index >= layout.waiting) or message.role in SYSTEM_ROLES:
            continue
        covered = set(message.covered)
        for position, part in enumerate(message.parts):
            if isinstance(part, kinds) and position in covered:
                yield _Sized(index, position, part, count(Message(message.role, (part,))))


def _cut_to(
    layout: Layout, parts: Iterable[_Sized], cap: int, redact: Callable[[str], str]
) -> tuple[Edit, ...]:
    """Cut the parts that are larger than `cap` tokens down to it."""
    cut: dict[int, list[tuple[int, Part]]] = {}
    for sized in parts:
        if sized.tokens > cap:
            shorter = _cut(sized, cap, layout.numbers[sized.index], redact)
            if len(shorter.text) < len(sized.part.text):
                cut.setdefault(sized.index, []).append((sized.position, shorter))
    return tuple(Edit.at(index, layout.messages[index], edits) for index, edits in cut.items())


def _cut(sized: _Sized, cap: int, number: int, redact: Callable[[str], str]) -> Text | ToolResult:
    part = sized.part
    chars = int(len(part.text) * cap / sized.tokens * 0.9)
    if isinstance(part, ToolResult):
        head = int(chars * _HEAD_PART)
        text = excerpt(redact(part.text), head, chars - head)
        return ToolResult(part.call_id, text, part.is_error, (), part.name)
    chars = max(chars - _NOTE_CHARS, 0)
    head = int(chars * _HEAD_PART)
    return replace(part, text=excerpt(redact(part.text), head, chars - head, of=f" of message [{number}]"))
