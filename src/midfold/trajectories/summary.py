"""Turns that are folded, and the turn that takes their place.

Without a model the built-in digest writes it: no network, the same words every time.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from midfold.folding import (
    FoldedNumbers,
    Span,
    count_leading_system,
    find_summary,
    frame_summary,
    number_messages,
    read_folded_numbers,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, Pairing
from midfold.redact import redact
from midfold.summaries import Draft, SummaryJob, Template, gather_sources, prompts
from midfold.summaries.digest import cost
from midfold.summaries.ledger import Rule
from midfold.trajectories.config import read_line

TEMPLATE = Template.PROGRESS
"""Its headings suit work that goes on; in a finished run no request waits for an answer."""
_HEAD_TURNS = 4
"""An earlier summary stands behind the first turn of each speaker at the latest."""
_RULES_PART = 0.2
"""Of a summary, the most that the rules of the user may take."""
_BYTES_PER_TOKEN = 3.3
_TURNS_TO_COME = 4
"""The turns after the fold that show what of it is still in use."""
_FIT_ROUNDS = 4
_SHORT_CHARS = 80


@dataclass(frozen=True, slots=True)
class TurnNumbering:
    """The numbers of the turns of a trajectory: their indices, or those they had before an earlier fold."""

    numbers: Sequence[int]
    summary: int | None
    """where an earlier summary stands"""
    folded_before: FoldedNumbers


def number_turns(messages: Sequence[Message]) -> TurnNumbering:
    """Number the turns of a trajectory, counting on from an earlier summary if there is one."""
    summary = find_summary(messages, count_leading_system(messages), _HEAD_TURNS)
    earlier = "" if summary is None else prompts.find_body(messages[summary].text) or ""
    before = read_folded_numbers(earlier)
    return TurnNumbering(number_messages(len(messages), summary, before), summary, before)


@dataclass(frozen=True, slots=True)
class Passage:
    """The turns that a summary stands for, out of all those of a trajectory."""

    messages: Sequence[Message]
    pairing: Pairing
    sizes: Sequence[int]
    numbering: TurnNumbering
    spans: tuple[Span, ...]

    @property
    def indices(self) -> list[int]:
        return [index for span in self.spans for index in span]

    @property
    def tokens(self) -> int:
        return sum(self.sizes[index] for index in self.indices)

    def without(self, earlier: "Passage") -> "Passage":
        """Return what this one folds beyond an earlier one, which it contains."""
        return replace(self, spans=tuple(span for span in self.spans if span not in earlier.spans))

    def write(self, body: str) -> str:
        """Write the whole turn around the words of a summary."""
        numbering = self.numbering
        gone = (numbering.numbers[index] for index in self.indices if index != numbering.summary)
        folded = numbering.folded_before.join(gone, ())
        return f"{read_line('summary.md')}\n\n{prompts.neutralize(frame_summary(body, '', folded))}"

    def write_within(self, body: str, tokens: int, count: Callable[[str], int]) -> str:
        """Write the turn with as many lines of the body as fit; none where not even that does."""
        lines = body.split("\n")
        low, high = 0, len(lines)
        while low < high:
            middle = (low + high + 1) // 2
            fits = count(self.write("\n".join(lines[:middle]))) <= tokens
            low, high = (middle, high) if fits else (low, middle - 1)
        return self.write("\n".join(lines[:low]))


def write_digest(passage: Passage, *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Write the turn that stands for a passage, within `budget_tokens`."""
    room = budget_tokens - count(passage.write(""))
    digest = _draft(passage, max(room, 0), count)
    for _ in range(_FIT_ROUNDS):
        body = digest.write(max(room, 0))
        value = passage.write(body)
        excess = count(value) - budget_tokens
        if excess <= 0:
            return value
        room -= excess + max(room, 0) // 100
    return passage.write_within(body, budget_tokens, count)


def _draft(passage: Passage, body_tokens: int, count: Callable[[str], int]) -> Draft:
    """Read what is folded, and what an earlier summary among it says."""
    folded, numbering = passage.indices, passage.numbering
    earlier = numbering.summary
    said = "" if earlier is None or earlier not in folded else passage.messages[earlier].text
    job = SummaryJob(
        messages=passage.messages,
        pairing=passage.pairing,
        numbers=numbering.numbers,
        folded=folded,
        kept=passage.messages[folded[-1] + 1 : folded[-1] + 1 + _TURNS_TO_COME],
        template=TEMPLATE,
        body_tokens=body_tokens,
        rules_tokens=body_tokens * _RULES_PART,
        redact=_redact,
        count_text=count,
        earlier=earlier,
        previous=prompts.find_body(said),
    )
    return Draft(job, gather_sources(job, choose_rules=_choose_rules))


def _choose_rules(job: SummaryJob, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Choose the rules that are quoted word for word: the newest, while they fit, in their order."""
    left = job.rules_tokens * _BYTES_PER_TOKEN
    chosen: dict[str, Rule] = {}
    for rule in reversed(rules):
        size = cost(rule.text)
        if rule.text not in chosen and size <= left:
            chosen[rule.text] = rule
            left -= size
    return tuple(reversed(chosen.values()))


def _redact(text: str) -> str:
    """Do what `redact` does; names of tools and short commands come again and again."""
    return _redact_short(text) if len(text) <= _SHORT_CHARS else redact(text)


@lru_cache(maxsize=4_096)
def _redact_short(text: str) -> str:
    return redact(text)
