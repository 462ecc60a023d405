"""The numbers of messages across folds: `[12]` names message 12 of the whole conversation.

A fold shortens the list, and the next one would number its messages differently. So a summary says which
messages it stands for, and whoever folds again counts on from there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from midfold.folding.fold import Span, join_spans
from midfold.summaries import FOLDED_HEADING, split_sections

_RANGE = re.compile(r"(\+?)(\d{1,9})(?:–(\d{1,9}))?")
_MOST_RANGES = 1_000


@dataclass(frozen=True, slots=True)
class Folded:
    """What a summary stands for, by the numbers of the whole conversation."""

    spans: tuple[Span, ...] = ()
    added: tuple[int, ...] = ()
    """messages that were put in behind these, such as a result for a call that never got one"""

    def join(self, numbers: Iterable[int], added: Iterable[int]) -> "Folded":
        """Add messages that are folded now."""
        spans = join_spans([*self.spans, *_runs(sorted(numbers))])
        return Folded(spans, tuple(sorted({*self.added, *added})))

    def spell(self) -> str:
        """Write it down for the next fold, and for readers."""
        ranges = [
            str(span.start) if len(span) == 1 else f"{span.start}–{span.stop - 1}" for span in self.spans
        ]
        additions = [f"+{number}" for number in self.added]
        return f"{', '.join([*ranges, *additions])} ([n] names message n)"


def number(count: int, summary: int | None, folded: Folded) -> list[int]:
    """Number `count` messages, one of which may be a summary that stands for those of `folded`."""
    if summary is None:
        return list(range(count))
    gone = list(folded.spans)
    added = set(folded.added)
    numbers: list[int] = []
    following = 0
    while len(numbers) < count - 1:
        while gone and following >= gone[0].start:
            following = max(following, gone.pop(0).stop)
        numbers.append(following)
        if following in added and len(numbers) < count - 1:
            numbers.append(following)
        following += 1
    return [*numbers[:summary], numbers[summary - 1] if summary else 0, *numbers[summary:]]


def _runs(numbers: Sequence[int]) -> Iterator[Span]:
    """Yield the spans that numbers in order make up."""
    start = 0
    for place in range(1, len(numbers) + 1):
        if place == len(numbers) or numbers[place] > numbers[place - 1] + 1:
            yield Span(numbers[start], numbers[place - 1] + 1)
            start = place


def read_folded(body: str) -> Folded:
    """Read what a summary says it stands for; nothing where it does not say so."""
    said = split_sections(body).get(FOLDED_HEADING, "").partition("(")[0]
    ranges = _RANGE.findall(said)[:_MOST_RANGES]
    spans = [Span(int(first), int(last or first) + 1) for plus, first, last in ranges if not plus]
    added = sorted({int(first) for plus, first, _ in ranges if plus})
    return Folded(join_spans(span for span in spans if len(span)), tuple(added))
