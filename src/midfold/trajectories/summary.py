"""Turns that are folded, and the turn that takes their place.

Without a model the built-in digest writes it: no network, the same words every time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
from midfold.messages import Message, Pairing
from midfold.redact import redact
from midfold.summaries import Template, prompts
from midfold.summaries.digest import (
    DigestEntry,
    compose,
    cost,
    fill_digest,
    find_factors,
    lines_per_action,
    merge,
    read_entries,
    read_rules,
    request_entries,
)
from midfold.summaries.ledger import Rule, collect
from midfold.trajectories.config import read_text

TEMPLATE = Template.PROGRESS
"""Its headings suit work that goes on; in a finished run no request waits for an answer."""
_HEAD_TURNS = 4
"""An earlier summary stands behind the first turn of each speaker at the latest."""


@dataclass(frozen=True, slots=True)
class TurnNumbering:
    """What the turns of a trajectory are known by: their places, or those they had before an earlier fold."""

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
        return f"{read_text('summary.md')}\n\n{prompts.neutralize(frame_summary(body, '', folded))}"

    def write_within(self, body: str, tokens: int, count: Callable[[str], int]) -> str:
        """Write the turn with as many lines of the body as fit; none where not even that does."""
        lines = body.split("\n")
        low, high = 0, len(lines)
        while low < high:
            middle = (low + high + 1) // 2
            fits = count(self.write("\n".join(lines[:middle]))) <= tokens
            low, high = (middle, high) if fits else (low, middle - 1)
        return self.write("\n".join(lines[:low]))


_RULES_PART = 0.2
"""Of a summary, the most that the rules of the user may take."""
_BYTES_PER_TOKEN = 3.3
_TURNS_TO_COME = 4
"""How many turns behind the fold tell what of it is still in use."""
_FIT_ROUNDS = 4
_SHORT_CHARS = 80


def write_digest(passage: Passage, *, budget_tokens: int, count: Callable[[str], int]) -> str:
    """Write the turn that stands for a passage, within `budget_tokens`."""
    room = budget_tokens - count(passage.write(""))
    entries = _gather(passage, max(room, 0))
    for _ in range(_FIT_ROUNDS):
        body = fill_digest(entries, count_text=count, budget_tokens=max(room, 0), template=TEMPLATE)
        value = passage.write(body)
        excess = count(value) - budget_tokens
        if excess <= 0:
            return value
        room -= excess + max(room, 0) // 100
    return passage.write_within(body, budget_tokens, count)


def _gather(passage: Passage, budget_tokens: int) -> Sequence[DigestEntry]:
    """Read what is folded, and what an earlier summary among it says."""
    messages, folded, numbering = passage.messages, passage.indices, passage.numbering
    place = numbering.summary
    said = prompts.find_body(messages[place].text) if place is not None and place in folded else None
    previous = redact(said or "")
    ledger = collect(
        messages,
        [index for index in folded if index != place],
        passage.pairing,
        redact=_redact,
        numbers=numbering.numbers,
    )
    rules = read_rules(previous)
    pins = _choose_rules([*rules, *ledger.rules], budget_tokens)
    stay = messages[folded[-1] + 1 : folded[-1] + 1 + _TURNS_TO_COME]
    entries = compose(
        ledger,
        pins=pins,
        factors=find_factors(ledger, stay, numbering.numbers[-1]),
        most_lines=lines_per_action(ledger, budget_tokens),
    )
    # A rule for which there is no room is still something that the user said.
    earlier = [*read_entries(previous), *request_entries(rule for rule in rules if rule not in pins)]
    return merge(earlier, entries, has_new_steps=bool(ledger.steps))


def _redact(text: str) -> str:
    """Do what `redact` does; names of tools and short commands come again and again."""
    return _redact_short(text) if len(text) <= _SHORT_CHARS else redact(text)


@lru_cache(maxsize=4_096)
def _redact_short(text: str) -> str:
    return redact(text)


def _choose_rules(rules: Sequence[Rule], budget_tokens: int) -> tuple[Rule, ...]:
    """Choose the rules that are quoted word for word: the newest, while they fit, in their order."""
    left = budget_tokens * _RULES_PART * _BYTES_PER_TOKEN
    chosen: dict[str, Rule] = {}
    for rule in reversed(rules):
        size = cost(rule.text)
        if rule.text not in chosen and size <= left:
            chosen[rule.text] = rule
            left -= size
    return tuple(reversed(chosen.values()))
