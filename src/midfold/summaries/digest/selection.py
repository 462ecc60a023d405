"""Chooses what a digest says: the entries and units that weigh most for their size, within a budget."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import truediv

from midfold.summaries.digest.entries import Entry, Unit, cost
from midfold.summaries.digest.headings import KIND_HEADINGS, RULES_HEADING
from midfold.summaries.ledger.values import Ledger
from midfold.summaries.ledger.words import LEAST_LINES
from midfold.summaries.sections import HEADINGS, Template, join_sections
from midfold.summaries.serialize import fit_sizes

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
class Taken:
    """An entry with those of its units that there was room for, in their order."""

    entry: Entry
    units: tuple[Unit, ...]

    @property
    def text(self) -> str:
        return self.entry.spell(self.units)


@dataclass(frozen=True, slots=True)
class Offers:
    """All heads and units that are put up, in columns: there are tens of thousands, most never taken."""

    entries: Sequence[Entry]
    places: list[int]
    """the entry of each piece"""
    units: list[Unit | None]
    """`None` for a head"""
    sizes: list[int]
    head_sizes: list[int]
    """by entry"""
    order: list[int]
    """the most worth for its size first"""


def lines_per_deed(ledger: Ledger, budget_tokens: int) -> int:
    """How many lines of each output are worth looking at, so that there is some times what could fit."""
    lines = [len(deed.act.output) // _LINE_BYTES + 1 for deed in ledger.deeds]
    return max(LEAST_LINES, fit_sizes(lines, int(budget_tokens * _BYTES_PER_TOKEN / _LINE_BYTES * _CHOICE)))


def focus_on(entries: Sequence[Entry], topic: str) -> Sequence[Entry]:
    """Raise the worth of what speaks of a topic, so that it gets most of the room."""
    said = topic.casefold()
    words = [word for word in said.split() if len(word) >= _SHORTEST_TOPIC_WORD] or [said]
    search = re.compile("|".join(map(re.escape, words))).search
    for entry in entries:
        is_named = search(entry.head.casefold()) is not None
        entry.worth *= _FOCUS if is_named else 1.0
        for unit in entry.units:
            if is_named or search(unit.text.casefold()):
                unit.worth *= _FOCUS
    return entries


def fill_bare(entries: Sequence[Entry], template: Template) -> str:
    """Write the heads of entries, whatever that takes."""
    return arrange([Taken(entry, ()) for entry in entries], template)


def fill(
    entries: Sequence[Entry], *, count_text: Callable[[str], int], budget_tokens: int, template: Template
) -> str:
    """Take as many entries as the budget allows; sizes are guessed first and counted then."""
    budget_bytes = int(budget_tokens * _BYTES_PER_TOKEN)
    offers = offer(entries)
    best = text = ""
    for attempt in range(_FILL_ROUNDS + _LAST_ROUNDS):
        before, text = text, arrange(take(offers, budget_bytes), template)
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


def arrange(taken: Iterable[Taken], template: Template) -> str:
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


def offer(entries: Sequence[Entry]) -> Offers:
    """Put up all heads and units."""
    places: list[int] = []
    units: list[Unit | None] = []
    sizes: list[int] = []
    worths: list[float] = []
    for place, entry in enumerate(entries):
        places += [place] * (1 + len(entry.units))
        units += [None, *entry.units]
        sizes += [cost(entry.head), *[cost(unit.text) for unit in entry.units]]
        worths += [entry.worth, *[unit.worth for unit in entry.units]]
    sizes = [size + _BYTES_PER_PIECE for size in sizes]
    densities = list(map(truediv, worths, sizes))
    order = sorted(range(len(sizes)), key=densities.__getitem__, reverse=True)
    head_sizes = [size for size, unit in zip(sizes, units, strict=True) if unit is None]
    return Offers(entries, places, units, sizes, head_sizes, order)


def take(offers: Offers, budget_bytes: int) -> list[Taken]:
    """Choose heads and units until the budget is spent; a unit brings its head along."""
    left = budget_bytes
    places, units, sizes = offers.places, offers.units, offers.sizes
    chosen: dict[int, set[int]] = {}
    for piece in offers.order:
        price = sizes[piece]
        if price > left:
            continue
        place, unit = places[piece], units[piece]
        taken = chosen.get(place)
        if taken is None:
            price += 0 if unit is None else offers.head_sizes[place]
            if price > left:
                continue
            taken = chosen[place] = set()
        elif unit is None:
            continue
        left -= price
        if unit is not None:
            taken.add(id(unit))
    return [
        Taken(offers.entries[place], _in_order(offers.entries[place], chosen[place]))
        for place in sorted(chosen)
    ]


def _in_order(entry: Entry, chosen: set[int]) -> tuple[Unit, ...]:
    return tuple([unit for unit in entry.units if id(unit) in chosen]) if chosen else ()
