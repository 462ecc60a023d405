"""Chooses what a digest says: the entries and units that weigh most for their size, within a budget."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import truediv

from midfold.summaries.digest.entries import KIND_HEADINGS, RULES_HEADING, DigestEntry, Unit, cost
from midfold.summaries.ledger.values import Ledger
from midfold.summaries.ledger.words import LEAST_LINES
from midfold.summaries.sections import HEADINGS, Template, join_sections
from midfold.summaries.tool_calls.excerpts import fit_sizes

_FILL_ROUNDS = 6
_FULL_ENOUGH = 0.985
_LAST_ROUNDS = 10
_TIGHT, _LOOSE, _STEP = 0.995, 0.999, 0.9
_BYTES_PER_TOKEN = 3.3
_LINE_BYTES = 60
_CHOICE = 2
_FOCUS = 8.0
_SHORTEST_TOPIC_WORD = 3
_BYTES_PER_PIECE = 4


@dataclass(frozen=True, slots=True)
class ChosenEntry:
    """An entry with those of its units that there was room for, in their order."""

    entry: DigestEntry
    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        return self.entry.render(self.units)


@dataclass(frozen=True, slots=True)
class Offers:
    """All heads and units that are put up, in columns: there are tens of thousands, most never taken."""

    entries: Sequence[DigestEntry]
    owners: list[int]
    """the entry of each piece"""
    units: list[Unit | None]
    """`None` for a head"""
    sizes: list[int]
    head_sizes: list[int]
    """by entry"""
    order: list[int]
    """the heaviest for its size first"""


def lines_per_action(ledger: Ledger, budget_tokens: int) -> int:
    """How many lines of each output are worth looking at, so that there is some times what could fit."""
    lines = [len(action.run.output) // _LINE_BYTES + 1 for action in ledger.actions]
    return max(LEAST_LINES, fit_sizes(lines, int(budget_tokens * _BYTES_PER_TOKEN / _LINE_BYTES * _CHOICE)))


def focus_on(entries: Sequence[DigestEntry], topic: str) -> Sequence[DigestEntry]:
    """Raise the weight of what speaks of a topic, so that it gets most of the room."""
    said = topic.casefold()
    words = [word for word in said.split() if len(word) >= _SHORTEST_TOPIC_WORD] or [said]
    search = re.compile("|".join(map(re.escape, words))).search
    for entry in entries:
        is_named = search(entry.head.casefold()) is not None
        entry.weight *= _FOCUS if is_named else 1.0
        for unit in entry.units:
            if is_named or search(unit.text.casefold()):
                unit.weight *= _FOCUS
    return entries


def write_heads(entries: Sequence[DigestEntry], template: Template) -> str:
    """Write the heads of entries, whatever that takes."""
    return arrange([ChosenEntry(entry, ()) for entry in entries], template)


def fill_digest(
    entries: Sequence[DigestEntry],
    *,
    count_text: Callable[[str], int],
    budget_tokens: int,
    template: Template,
) -> str:
    """Take as many entries as the budget allows; sizes are guessed first and counted then."""
    budget_bytes = int(budget_tokens * _BYTES_PER_TOKEN)
    offers = list_offers(entries)
    best = text = ""
    for attempt in range(_FILL_ROUNDS + _LAST_ROUNDS):
        before, text = text, arrange(choose_entries(offers, budget_bytes), template)
        tokens = count_text(text)
        if tokens <= budget_tokens and len(text) >= len(best):
            best = text
        is_full = budget_tokens * _FULL_ENOUGH <= tokens <= budget_tokens
        if is_full or (best and attempt >= _FILL_ROUNDS - 1) or not text:
            break
        if tokens > budget_tokens and text == before:
            # Nothing small is left to give up: the next step down is one whole entry.
            budget_bytes = min(int(budget_bytes * _STEP), cost(text) - 1)
        else:
            scale = min(2.0, budget_tokens / max(tokens, 1))
            budget_bytes = int(budget_bytes * scale * (_TIGHT if tokens > budget_tokens else _LOOSE))
    return best


def arrange(taken: Iterable[ChosenEntry], template: Template) -> str:
    """Put entries under their headings, in the order in which things happened."""
    headings = KIND_HEADINGS[template]
    order = [HEADINGS[template][0], RULES_HEADING, *HEADINGS[template][1:]]
    if RULES_HEADING in HEADINGS[template]:
        order = list(HEADINGS[template])
    sections: dict[str, list[str]] = {name: [] for name in order}
    for each in sorted(taken, key=lambda each: each.entry.order):
        heading = headings[each.entry.kind]
        sections.setdefault(heading, []).append(each.text)
    return join_sections({name: "\n".join(lines) for name, lines in sections.items()})


def list_offers(entries: Sequence[DigestEntry]) -> Offers:
    """Put up all heads and units."""
    owners: list[int] = []
    units: list[Unit | None] = []
    sizes: list[int] = []
    weights: list[float] = []
    for owner, entry in enumerate(entries):
        owners += [owner] * (1 + len(entry.units))
        units += [None, *entry.units]
        sizes += [cost(entry.head), *[cost(unit.text) for unit in entry.units]]
        weights += [entry.weight, *[unit.weight for unit in entry.units]]
    sizes = [size + _BYTES_PER_PIECE for size in sizes]
    densities = list(map(truediv, weights, sizes))
    order = sorted(range(len(sizes)), key=densities.__getitem__, reverse=True)
    head_sizes = [size for size, unit in zip(sizes, units, strict=True) if unit is None]
    return Offers(entries, owners, units, sizes, head_sizes, order)


def choose_entries(offers: Offers, budget_bytes: int) -> list[ChosenEntry]:
    """Choose heads and units until the budget is spent; a unit brings its head along."""
    left = budget_bytes
    owners, units, sizes = offers.owners, offers.units, offers.sizes
    chosen: dict[int, set[int]] = {}
    for piece in offers.order:
        price = sizes[piece]
        if price > left:
            continue
        owner, unit = owners[piece], units[piece]
        taken = chosen.get(owner)
        if taken is None:
            price += 0 if unit is None else offers.head_sizes[owner]
            if price > left:
                continue
            taken = chosen[owner] = set()
        elif unit is None:
            continue
        left -= price
        if unit is not None:
            taken.add(id(unit))
    return [
        ChosenEntry(offers.entries[owner], _in_order(offers.entries[owner], chosen[owner]))
        for owner in sorted(chosen)
    ]


def _in_order(entry: DigestEntry, chosen: set[int]) -> tuple[Unit, ...]:
    return tuple([unit for unit in entry.units if id(unit) in chosen]) if chosen else ()
