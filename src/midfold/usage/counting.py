"""Calls with what folds had to do with them, so that savings can be added up like tokens, by any key."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from midfold.store import Call, StoredFold
from midfold.tokens import RecordedCall, Savings, find_model, savings_by_call
from midfold.usage.recording import SUMMARY


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

    `rereads` are by the place of the call they came in with. What the recorder of a call noted among its
    facts (`removed_tokens`, `rereads`, `reread_tokens`, `results`) goes before both.
    """
    before = _folds_before(calls, folds)
    recorded = [
        _as_recorded(call, before.get(place, ()), rereads.get(place, Reread()))
        for place, call in enumerate(calls)
    ]
    savings = savings_by_call(recorded, context_length=_find_window(calls))
    return [
        CountedCall(call, saved, len(before.get(place, ())))
        for place, (call, saved) in enumerate(zip(calls, savings, strict=True))
    ]


def _folds_before(calls: Sequence[Call], folds: Iterable[StoredFold]) -> dict[int, list[StoredFold]]:
    """Say which folds each call is the first to profit from; one that none has yet is the last call's."""
    found: dict[int, list[StoredFold]] = defaultdict(list)
    chats = [place for place, call in enumerate(calls) if call.purpose != SUMMARY]
    for fold in folds:
        after = (place for place in chats if _comes_after(calls[place], fold))
        place = next(after, chats[-1] if chats else None)
        if place is not None:
            found[place].append(fold)
    return found


def _comes_after(call: Call, fold: StoredFold) -> bool:
    return call.session_id != fold.session_id and (call.created_at or 0.0) >= fold.created_at


def _as_recorded(call: Call, folds: Sequence[StoredFold], reread: Reread) -> RecordedCall:
    removed = sum(_removed_tokens(fold) for fold in folds if _comes_after(call, fold))
    return RecordedCall(
        usage=call.usage,
        model=call.model,
        is_summary=call.purpose == SUMMARY,
        removed_tokens=_fact(call.facts, "removed_tokens", removed),
        rereads=_fact(call.facts, "rereads", reread.rereads),
        reread_tokens=_fact(call.facts, "reread_tokens", reread.reread_tokens),
        results=_fact(call.facts, "results", reread.results),
    )


def _removed_tokens(fold: StoredFold) -> int:
    return max(0, _fact(fold.facts, "tokens_before", 0) - _fact(fold.facts, "tokens_after", 0))


def _fact(facts: Mapping[str, object], name: str, otherwise: int) -> int:
    value = facts.get(name)
    return value if type(value) is int and value >= 0 else otherwise


def _find_window(calls: Sequence[Call]) -> int | None:
    """Return the window of the model that most calls went to; what would not have fitted saved nothing."""
    models = Counter(call.model for call in calls if call.purpose != SUMMARY)
    facts = find_model(models.most_common(1)[0][0]) if models else None
    return facts.max_input_tokens if facts else None
