"""The savings and costs of folds on each call, results that an agent read again included.

Both are kept by call, so that they can be added up like tokens, by any key.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.messages import (
    Message,
    ToolCall,
    ToolResult,
    pair_calls,
)
from midfold.ports import Count
from midfold.store import Call, StoredFold, StoredMessage
from midfold.tokens import RecordedCall, Savings, find_model, savings_by_call
from midfold.usage.calls import SUMMARY


@dataclass(frozen=True, slots=True)
class Reread:
    """Results that came in with a call, and how many of them had been there before a fold took them."""

    results: int = 0
    rereads: int = 0
    reread_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CountedCall:
    """A recorded call, what earlier folds saved and cost on it, and how many folds came just before it."""

    call: Call
    savings: Savings
    folds: int = 0


_NO_REREADS: Mapping[int, Reread] = {}


def count_calls(
    calls: Sequence[Call], folds: Sequence[StoredFold] = (), rereads: Mapping[int, Reread] = _NO_REREADS
) -> list[CountedCall]:
    """Count the calls of one conversation, oldest first.

    `rereads` are by the index of the call they came in with. What the recorder of a call noted among its
    facts (`removed_tokens`, `rereads`, `reread_tokens`, `results`) goes before both.
    """
    before = _folds_before(calls, folds)
    recorded = [
        _as_recorded(call, before.get(index, ()), rereads.get(index, Reread()))
        for index, call in enumerate(calls)
    ]
    savings = savings_by_call(recorded, context_length=_find_window(calls))
    return [
        CountedCall(call, saved, len(before.get(index, ())))
        for index, (call, saved) in enumerate(zip(calls, savings, strict=True))
    ]


def _folds_before(calls: Sequence[Call], folds: Iterable[StoredFold]) -> dict[int, list[StoredFold]]:
    """Say which folds each call is the first to profit from; one that none has yet is the last call's."""
    found: dict[int, list[StoredFold]] = defaultdict(list)
    chats = [index for index, call in enumerate(calls) if call.purpose != SUMMARY]
    for fold in folds:
        after = (index for index in chats if _comes_after(calls[index], fold))
        index = next(after, chats[-1] if chats else None)
        if index is not None:
            found[index].append(fold)
    return found


def _comes_after(call: Call, fold: StoredFold) -> bool:
    return call.session_id != fold.session_id and (call.created_at or 0.0) >= fold.created_at


def _as_recorded(call: Call, folds: Sequence[StoredFold], reread: Reread) -> RecordedCall:
    removed = sum(_removed_tokens(fold) for fold in folds if _comes_after(call, fold))
    return RecordedCall(
        usage=call.usage,
        model=call.model,
        is_summary=call.purpose == SUMMARY,
        removed_tokens=_read_fact(call.facts, "removed_tokens", removed),
        rereads=_read_fact(call.facts, "rereads", reread.rereads),
        reread_tokens=_read_fact(call.facts, "reread_tokens", reread.reread_tokens),
        results=_read_fact(call.facts, "results", reread.results),
    )


def _removed_tokens(fold: StoredFold) -> int:
    return max(0, _read_fact(fold.facts, "tokens_before", 0) - _read_fact(fold.facts, "tokens_after", 0))


def _read_fact(facts: Mapping[str, object], name: str, otherwise: int) -> int:
    value = facts.get(name)
    return value if type(value) is int and value >= 0 else otherwise


def _find_window(calls: Sequence[Call]) -> int | None:
    """Return the window of the model that most calls went to; what would not have fitted saved nothing."""
    models = Counter(call.model for call in calls if call.purpose != SUMMARY)
    facts = find_model(models.most_common(1)[0][0]) if models else None
    return facts.max_input_tokens if facts else None


MessageKey: TypeAlias = tuple[str, int]
"""Session and number of a stored message."""


@dataclass(frozen=True, slots=True)
class _Result:
    """One result: what was asked and answered, where and when."""

    question: bytes
    key: MessageKey
    created_at: float
    tokens: int


def find_rereads(
    history: Sequence[StoredMessage],
    messages: Sequence[Message],
    folded_at: Mapping[MessageKey, float],
    calls: Sequence[Call],
    count: Count,
) -> dict[int, Reread]:
    """Find results that say what an earlier one said, to the same call, which was folded in between.

    `messages` are `history` as values, and `folded_at` is when each folded message went. The answer is by
    the index of the call that a result came in with: the next one after it.
    """
    chats = [(call.created_at or 0.0, index) for index, call in enumerate(calls) if call.purpose != SUMMARY]
    earlier: dict[bytes, list[_Result]] = defaultdict(list)
    results: Counter[int] = Counter()
    rereads: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    for result in _results(history, messages, count):
        following = bisect_left(chats, (result.created_at, -1))
        if following < len(chats):
            index = chats[following][1]
            results[index] += 1
            if _is_reread(result, earlier[result.question], folded_at):
                rereads[index] += 1
                tokens[index] += result.tokens
        earlier[result.question].append(result)
    return {index: Reread(number, rereads[index], tokens[index]) for index, number in results.items()}


def _is_reread(result: _Result, earlier: Sequence[_Result], folded_at: Mapping[MessageKey, float]) -> bool:
    """Whether all that said the same had gone when this came."""
    gone = [folded_at.get(each.key) for each in earlier]
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
