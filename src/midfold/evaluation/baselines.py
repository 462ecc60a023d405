"""The methods that are compared: midfold's digest, and what it has to be better than.

Every method takes a conversation and a ceiling, and gives back a list of wire items. Those that only drop
things keep no copy, so nothing that left them can be had again.
"""

import time
from collections.abc import Callable, Mapping, Sequence

from midfold.api import compress
from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.texts import SEPARATOR, Find
from midfold.folding import Compression, splice
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.prompts import wrap_summary
from midfold.tokens import TokenCounter
from midfold.wire import render

CLEARED = "[old tool output cleared]"
_MOST_TRIES = 20
_EXCERPT_CHARS = 240
_FIT_TRIES = 6
_FULL_ENOUGH = 0.97
_AIM = 0.985
_FRAMING_TOKENS = 8
_NONCE = "position"


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """The result of a method on a conversation."""

    items: list[object]
    tokens: int
    cpu_ms: float
    """processor time beyond reading and counting the conversation once"""
    summary: str | None = None
    stubs: tuple[str, ...] = ()
    """the texts that replace results and arguments"""
    find: Find | None = None


Method = Callable[[MeasuredConversation, int], MethodOutcome]


def fold_by_digest(conversation: MeasuredConversation, ceiling: int) -> MethodOutcome:
    """Compress as midfold does without a model."""
    started = time.process_time()
    result = _compress(conversation, ceiling)
    cpu_ms = (time.process_time() - started) * 1000
    return _folded(result, max(0.0, cpu_ms - conversation.counting_ms))


def fold_by_position(conversation: MeasuredConversation, ceiling: int) -> MethodOutcome:
    """Make the digest's fold with another summary of the same size, one that knows nothing but positions.

    It replaces the digest, because a summary that passes through a compression is repaired there.
    """
    result = _compress(conversation, ceiling)
    started = time.process_time()
    if result.fold is None or result.fold.summary is None:
        return _folded(result, cpu_ms=0.0)
    text = SEPARATOR.join(conversation.source.texts[index] for span in result.folded for index in span)
    summary = _fit_excerpt(text, result.summary_tokens, conversation.count)
    fold = result.fold.with_summary(result.fold.summary.with_part(0, Text(summary)))
    messages = splice(fold, conversation.messages)
    return replace(
        _folded(result, cpu_ms=(time.process_time() - started) * 1000),
        items=render(messages, conversation.request.dialect),
        tokens=conversation.overhead_tokens + sum(map(conversation.count, messages)),
        summary=summary,
    )


def keep_newest(conversation: MeasuredConversation, ceiling: int) -> MethodOutcome:
    """Keep system prompt and newest messages, as many as fit."""
    started = time.process_time()
    start = _newest_start(conversation, conversation.messages, conversation.sizes, ceiling)
    return _dropped(conversation, conversation.messages, conversation.sizes, start, started)


def clear_results(conversation: MeasuredConversation, ceiling: int) -> MethodOutcome:
    """Clear the oldest tool results until the rest fits; if that is too little, keep the newest messages."""
    started = time.process_time()
    messages, sizes = list(conversation.messages), list(conversation.sizes)
    tokens = conversation.tokens
    cleared = 0
    for index, message in enumerate(messages):
        if tokens <= ceiling:
            break
        if any(message.results):
            messages[index] = _clear(message)
            tokens -= sizes[index]
            sizes[index] = conversation.count(messages[index])
            tokens += sizes[index]
            cleared += 1
    start = conversation.lead
    if tokens > ceiling:
        start = _newest_start(conversation, messages, sizes, ceiling)
    outcome = _dropped(conversation, messages, sizes, start, started)
    return replace(outcome, stubs=(CLEARED,) * cleared)


DIGEST = "midfold digest"
METHODS: Mapping[str, Method] = {
    DIGEST: fold_by_digest,
    "no ledger": fold_by_position,
    "clear output": clear_results,
    "newest only": keep_newest,
}


def excerpt_by_position(text: str, part: float) -> str:
    """Keep `part` of a text: the beginning of every one of many equal stretches."""
    stretch = max(1, int(_EXCERPT_CHARS / max(part, 0.001)))
    pieces = [text[start : start + _EXCERPT_CHARS] for start in range(0, len(text), stretch)]
    return "\n".join(f"- {piece.strip()}" for piece in pieces)


def _fit_excerpt(text: str, room_tokens: int, count: TokenCounter) -> str:
    """Write a summary of excerpts that fills its room; a few tries show how much of the text that is."""
    part = 1.0
    best = summary = ""
    for _ in range(_FIT_TRIES):
        summary = wrap_summary(f"## Critical Context\n{excerpt_by_position(text, part)}", _NONCE)
        tokens = count.count_text(summary) + _FRAMING_TOKENS
        if tokens <= room_tokens:
            best = max(best, summary, key=len)
            if tokens >= room_tokens * _FULL_ENOUGH:
                break
        part *= room_tokens * _AIM / tokens
    return best or summary


def _compress(conversation: MeasuredConversation, ceiling: int) -> Compression[object]:
    request = conversation.request
    return compress(
        request.messages,
        max_tokens=ceiling,
        system=request.system,
        tools=request.tools,
        tokenizer=request.model,
    )


def _folded(result: Compression[object], cpu_ms: float) -> MethodOutcome:
    return MethodOutcome(
        items=result.messages,
        tokens=result.tokens_after,
        cpu_ms=cpu_ms,
        summary=result.summary,
        stubs=_stubs(result),
        find=lambda words: [match.index for match in result.find(words)],
    )


def _stubs(result: Compression[object]) -> tuple[str, ...]:
    parts = [part for edit in result.fold.edits for _, part in edit.parts] if result.fold else []
    return tuple(
        part.arguments if isinstance(part, ToolCall) else part.text
        for part in parts
        if isinstance(part, ToolCall | ToolResult)
    )


def _clear(message: Message) -> Message:
    for position, part in enumerate(message.parts):
        if isinstance(part, ToolResult):
            message = message.with_part(position, replace(part, text=CLEARED, media=()))
    return message


def _newest_start(
    conversation: MeasuredConversation, messages: Sequence[Message], sizes: Sequence[int], ceiling: int
) -> int:
    """Return where the newest messages that fit begin, where the provider takes the list if it can be.

    No cut splits a call from its result. Where not even the newest ones fit, they stay all the same.
    """
    lead = conversation.lead
    room = ceiling - conversation.overhead_tokens - sum(sizes[:lead])
    whole = [cut for cut in conversation.whole_cuts if lead <= cut < len(messages)]
    fitting: list[int] = []
    for start in range(len(messages) - 1, lead - 1, -1):
        room -= sizes[start]
        if room < 0:
            break
        if start in whole:
            fitting.append(start)
    tries = fitting[::-1][:_MOST_TRIES]
    legal = (
        start
        for start in tries
        if not conversation.find_errors(_render_newest(conversation, messages, start))
    )
    return next(legal, tries[0] if tries else max(whole, default=lead))


def _dropped(
    conversation: MeasuredConversation,
    messages: Sequence[Message],
    sizes: Sequence[int],
    start: int,
    started: float,
) -> MethodOutcome:
    return MethodOutcome(
        items=_render_newest(conversation, messages, start),
        tokens=conversation.overhead_tokens + sum(sizes[: conversation.lead]) + sum(sizes[start:]),
        cpu_ms=(time.process_time() - started) * 1000,
    )


def _render_newest(
    conversation: MeasuredConversation, messages: Sequence[Message], start: int
) -> list[object]:
    return render([*messages[: conversation.lead], *messages[start:]], conversation.request.dialect)
