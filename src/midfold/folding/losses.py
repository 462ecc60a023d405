"""The loss report: what left the context, most important first, and where to find it again."""

from collections.abc import Iterable

from midfold.folding.compression import Compression
from midfold.folding.fold import Fate
from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.messages import Message, Pairing, pair_calls, texts_of
from midfold.redact import redact
from midfold.summaries.digest import DigestEntry, compose, find_factors
from midfold.summaries.ledger import collect
from midfold.summaries.prompts import find_body
from midfold.summaries.tool_calls import one_line

_MOST_LINES = 12
_PLACEHOLDER_ID = compile_late(r"(\[REDACTED:[\w-]{1,40}):[0-9a-f]{4}\]")
_WHAT_CHARS = 200


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that is no longer in the context word for word."""

    index: int
    """the message of the old list that has it: `result.before[index]`, `result.originals[index]`"""
    kind: str
    what: str
    weight: float


def list_losses(result: Compression[object], most: int = 20) -> list[Loss]:
    """List what left the context, the most important first.

    `index` is its position in `result.before`; `result.find` searches the text.
    """
    if result.fold is None:
        return []
    before = result.before
    pairing = pair_calls(before)
    ledger = collect(before, _changed_indices(result, pairing), pairing, redact=redact)
    factors = find_factors(ledger, _remaining_messages(result), len(before))
    entries = compose(ledger, pins=(), factors=factors, most_lines=_MOST_LINES)
    said = [text for message in _remaining_messages(result) for text in texts_of(message)]
    # Placeholders of an engine carry an id that nobody else can write.
    text = _PLACEHOLDER_ID.sub(r"\1]", "\n".join([result.summary or "", *said]))
    fates = result.fates
    losses = [
        loss
        for entry in entries
        for loss in _lost(entry, text)
        # The call of a result that was shortened is still there itself.
        if fates[loss.index] is not Fate.KEPT
    ]
    return sorted(losses, key=lambda loss: -loss.weight)[:most]


def _changed_indices(result: Compression[object], pairing: Pairing) -> list[int]:
    """List the messages that changed or left, and those whose calls their results answer; no old summary."""
    fold = result.fold
    touched = set(fold.touched) if fold else set()
    callers = {call.message for call, answer in pairing.answers.items() if answer.message in touched}
    return [index for index in sorted(touched | callers) if find_body(result.before[index].text) is None]


def _remaining_messages(result: Compression[object]) -> Iterable[Message]:
    """Return the messages that stay, as they stay."""
    if result.fold is None:
        return result.before
    steps = result.fold.walk(result.before)
    return (step.message for step in steps if step.index is not None and step.message is not None)


def _lost(entry: DigestEntry, text: str) -> Iterable[Loss]:
    index = int(entry.order)
    if entry.subject not in text:
        yield Loss(index, entry.kind.value, one_line(entry.subject, _WHAT_CHARS), entry.weight)
    for unit in entry.units:
        if unit.text not in text:
            stands_at = index if unit.index is None else unit.index
            yield Loss(stands_at, entry.kind.value, one_line(unit.text, _WHAT_CHARS), unit.weight)
