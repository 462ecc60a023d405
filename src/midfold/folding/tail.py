"""Shortens the results in a tail that is too large to keep, and too recent to fold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from midfold.folding.fold import Edit, Span
from midfold.folding.layout import Layout
from midfold.messages import Message, Part, ToolResult
from midfold.ports import Count
from midfold.summaries import fit_sizes
from midfold.summaries.tool_calls import excerpt

FLOOR_TOKENS = 120
"""A result is not cut below this: its first and last lines say what it was."""
_HEAD_PART = 0.6


@dataclass(frozen=True, slots=True)
class _Sized:
    index: int
    position: int
    result: ToolResult
    tokens: int


def shrink_tail(
    layout: Layout, tail: Span, budget_tokens: int, count: Count, redact: Callable[[str], str] = str
) -> tuple[Edit, ...]:
    """Cut the largest results of `tail` until it fits, never those of a call that still waits for others.

    What stays of a result goes through `redact` before it is cut.
    """
    excess = layout.tokens(tail) - budget_tokens
    results = list(_results(layout, tail, count)) if excess > 0 else []
    if not results:
        return ()
    sizes = [sized.tokens for sized in results]
    cap = max(fit_sizes(sizes, max(0, sum(sizes) - excess)), FLOOR_TOKENS)
    parts: dict[int, list[tuple[int, Part]]] = {}
    for sized in results:
        if sized.tokens > cap:
            parts.setdefault(sized.index, []).append((sized.position, _cut(sized, cap, redact)))
    return tuple(Edit.at(index, layout.messages[index], edits) for index, edits in parts.items())


def _results(layout: Layout, tail: Span, count: Count) -> Iterator[_Sized]:
    for index in tail:
        if layout.waiting is not None and index >= layout.waiting:
            return
        message = layout.messages[index]
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                yield _Sized(index, position, part, count(Message(message.role, (part,))))


def _cut(sized: _Sized, cap: int, redact: Callable[[str], str]) -> ToolResult:
    result = sized.result
    chars = int(len(result.text) * cap / sized.tokens * 0.9)
    head = int(chars * _HEAD_PART)
    return ToolResult(
        result.call_id, excerpt(redact(result.text), head, chars - head), result.is_error, (), result.name
    )
