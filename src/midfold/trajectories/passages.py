"""Turns that are folded, and the turn that takes their place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from midfold.folding import Folded, Span, count_leading_system, find_summary, frame, number, read_folded
from midfold.messages import Message, Pairing
from midfold.summaries import Template, prompts
from midfold.trajectories.wording import read_text

TEMPLATE = Template.PROGRESS
"""Its headings suit work that goes on; in a finished run no request waits for an answer."""
_HEAD_TURNS = 4
"""An earlier summary stands behind the first turn of each speaker at the latest."""


@dataclass(frozen=True, slots=True)
class Numbering:
    """What the turns of a trajectory are known by: their places, or those they had before an earlier fold."""

    numbers: Sequence[int]
    summary: int | None
    """where an earlier summary stands"""
    folded_before: Folded


def number_turns(messages: Sequence[Message]) -> Numbering:
    """Number the turns of a trajectory, counting on from an earlier summary if there is one."""
    summary = find_summary(messages, count_leading_system(messages), _HEAD_TURNS)
    before = Folded() if summary is None else read_folded(prompts.find_body(messages[summary].text) or "")
    return Numbering(number(len(messages), summary, before), summary, before)


@dataclass(frozen=True, slots=True)
class Passage:
    """The turns that a summary stands for, out of all those of a trajectory."""

    messages: Sequence[Message]
    pairing: Pairing
    sizes: Sequence[int]
    numbering: Numbering
    spans: tuple[Span, ...]

    @property
    def indices(self) -> list[int]:
        return [index for span in self.spans for index in span]

    @property
    def tokens(self) -> int:
        return sum(self.sizes[index] for index in self.indices)

    def without(self, earlier: "Passage | None") -> "Passage":
        """Return what this one folds beyond an earlier one, which it contains."""
        known = frozenset(earlier.spans if earlier else ())
        spans = tuple(span for span in self.spans if span not in known)
        return replace(self, spans=spans)

    def write(self, body: str) -> str:
        """Write the whole turn around the words of a summary."""
        numbering = self.numbering
        gone = (numbering.numbers[index] for index in self.indices if index != numbering.summary)
        folded = numbering.folded_before.join(gone, ())
        return f"{read_text('summary.md')}\n\n{prompts.neutralize(frame(body, '', folded))}"

    def write_within(self, body: str, tokens: int, count: Callable[[str], int]) -> str:
        """Write the turn with as many lines of the body as fit; none where not even that does."""
        lines = body.split("\n")
        low, high = 0, len(lines)
        while low < high:
            middle = (low + high + 1) // 2
            fits = count(self.write("\n".join(lines[:middle]))) <= tokens
            low, high = (middle, high) if fits else (low, middle - 1)
        return self.write("\n".join(lines[:low]))
