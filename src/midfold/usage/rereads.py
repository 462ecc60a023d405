"""What an agent read again because a fold had taken it: the price of folding that nobody reports."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeAlias

from midfold.messages import Message, ToolCall, ToolResult, pair_calls
from midfold.ports import Count
from midfold.store import Call, StoredMessage
from midfold.usage.counting import Reread
from midfold.usage.recording import SUMMARY

Place: TypeAlias = tuple[str, int]
"""Session and number of a stored message."""


@dataclass(frozen=True, slots=True)
class _Result:
    """One result: what was asked and answered, where and when."""

    question: bytes
    place: Place
    created_at: float
    tokens: int


def find_rereads(
    history: Sequence[StoredMessage],
    messages: Sequence[Message],
    folded_at: Mapping[Place, float],
    calls: Sequence[Call],
    count: Count,
) -> dict[int, Reread]:
    """Find results that say what an earlier one said, to the same call, which was folded in between.

    `messages` are `history` as values, and `folded_at` is when each folded message went. The answer is by
    the place of the call that a result came in with: the next one after it.
    """
    chats = [(call.created_at or 0.0, place) for place, call in enumerate(calls) if call.purpose != SUMMARY]
    earlier: dict[bytes, list[_Result]] = defaultdict(list)
    results: Counter[int] = Counter()
    rereads: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    for result in _results(history, messages, count):
        following = bisect_left(chats, (result.created_at, -1))
        if following < len(chats):
            place = chats[following][1]
            results[place] += 1
            if _is_reread(result, earlier[result.question], folded_at):
                rereads[place] += 1
                tokens[place] += result.tokens
        earlier[result.question].append(result)
    return {place: Reread(number, rereads[place], tokens[place]) for place, number in results.items()}


def _is_reread(result: _Result, earlier: Sequence[_Result], folded_at: Mapping[Place, float]) -> bool:
    """Whether all that said the same had gone when this came."""
    gone = [folded_at.get(each.place) for each in earlier]
    return bool(gone) and all(at is not None and at <= result.created_at for at in gone)


def _results(
    history: Sequence[StoredMessage], messages: Sequence[Message], count: Count
) -> Iterator[_Result]:
    callers = {answer: call for call, answer in pair_calls(messages).answers.items()}
    for answer in sorted(callers):
        record, message = history[answer.message], messages[answer.message]
        call = messages[callers[answer].message].parts[callers[answer].part]
        result = message.parts[answer.part]
        if isinstance(call, ToolCall) and isinstance(result, ToolResult):
            asked = ToolCall("", call.name, call.arguments).canonical()
            answered = ToolResult("", result.text, result.is_error, result.media).canonical()
            yield _Result(
                sha256((asked + answered).encode("utf-8", "surrogatepass")).digest(),
                (record.session_id, record.seq),
                record.created_at,
                count(Message(message.role, (result,))),
            )
