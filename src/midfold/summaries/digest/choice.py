"""Chooses the entries that a digest has room for, and writes them down.

What must stay comes first, then conclusions in the share that is theirs, then everything by weight for size.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from operator import truediv

from midfold.late_dataclasses import dataclass, field, replace
from midfold.settings import Template
from midfold.summaries.digest.entries import (
    ANSWERED_HEADING,
    KIND_HEADINGS,
    RULES_HEADING,
    DigestEntry,
    EntryKind,
    Unit,
    cost,
    join_looks,
)
from midfold.summaries.ledger.name_uses import find_words
from midfold.summaries.sections import HEADINGS, join_sections, quote_headings

_FILL_ROUNDS = 6
_FULL_ENOUGH = 0.993
_LAST_ROUNDS = 10
_TIGHT, _LOOSE, _STEP = 0.995, 0.999, 0.9
_BYTES_PER_TOKEN = 3.3
_BYTES_PER_PIECE = 4
_FIRM_DENSITY = 0.75  # weight per byte from which on nothing comes before a piece
_CONCLUSIONS_PART = 0.4  # of what is left after that: what conclusions may take before the rest is weighed
_CONCLUSIONS_LEAD = 1.5
"""A conclusion comes before things that weigh at most so many times as much."""


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
    densities: list[float]
    conclusions: list[bool]


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
    offers = _without_said_names(list_offers(entries), budget_bytes)
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
    order = [*HEADINGS[template]]
    if RULES_HEADING not in order:
        order.insert(1, RULES_HEADING)
    order.insert(order.index(RULES_HEADING) + 1, ANSWERED_HEADING)
    sections: dict[str, list[str]] = {name: [] for name in order}
    ordered = sorted(taken, key=lambda each: each.entry.order)
    looks = [each.entry for each in ordered if each.entry.is_look and not each.units]
    joined = {id(look) for look in looks} if len(looks) > 1 else set()
    for each in ordered:
        lines = sections.setdefault(headings[each.entry.kind], [])
        if id(each.entry) not in joined:
            lines.append(each.text)
        elif each.entry is looks[0]:
            lines.append(quote_headings(join_looks([look.head for look in looks])))
    return join_sections({name: "\n".join(lines) for name, lines in sections.items()})


def list_offers(entries: Sequence[DigestEntry]) -> Offers:
    """Put up all heads and units."""
    owners: list[int] = []
    units: list[Unit | None] = []
    sizes: list[int] = []
    weights: list[float] = []
    conclusions: list[bool] = []
    for owner, entry in enumerate(entries):
        owners += [owner] * (1 + len(entry.units))
        units += [None, *entry.units]
        sizes += [cost(entry.head) + cost(entry.outcome), *[cost(unit.text) for unit in entry.units]]
        weights += [entry.weight, *[unit.weight for unit in entry.units]]
        conclusions += [entry.is_conclusion, *[unit.is_conclusion for unit in entry.units]]
    sizes = [size + _BYTES_PER_PIECE for size in sizes]
    densities = list(map(truediv, weights, sizes))
    is_listed = [entry.kind is EntryKind.NAMES or entry.is_quotation for entry in entries]
    put_up = [
        at
        for at, unit in enumerate(units)
        if (not is_listed[owners[at]] if unit is None else unit.weight > 0)
    ]
    order = sorted(put_up, key=densities.__getitem__, reverse=True)
    head_sizes = [size for size, unit in zip(sizes, units, strict=True) if unit is None]
    return Offers(entries, owners, units, sizes, head_sizes, order, densities, conclusions)


def _without_said_names(offers: Offers, budget_bytes: int) -> Offers:
    """Put up no name in a list that the rest of the notes will have anyway."""
    lists = {owner for owner, entry in enumerate(offers.entries) if entry.kind is EntryKind.NAMES}
    if not lists:
        return offers
    chosen = choose_entries(offers, budget_bytes)
    others = [each.text for each in chosen if each.entry.kind is not EntryKind.NAMES]
    said = find_words("\n".join(others))
    owners, units = offers.owners, offers.units
    order = [
        piece
        for piece in offers.order
        if owners[piece] not in lists or ((unit := units[piece]) is not None and unit.text not in said)
    ]
    return replace(offers, order=order)


def choose_entries(offers: Offers, budget_bytes: int) -> list[ChosenEntry]:
    """Choose heads and units until the budget is spent.

    What must stay comes first, then conclusions in the share that is theirs, then everything by weight.
    """
    choice = _Choice(offers)
    firm = bisect_left(offers.order, -_FIRM_DENSITY, key=lambda piece: -offers.densities[piece])
    left = choice.take(offers.order[:firm], budget_bytes)
    reserved = int(left * _CONCLUSIONS_PART)
    least = _find_price(offers, firm, left) / _CONCLUSIONS_LEAD
    stop = bisect_left(offers.order, -least, key=lambda piece: -offers.densities[piece])
    left -= reserved - choice.take((p for p in offers.order[firm:stop] if offers.conclusions[p]), reserved)
    choice.take(offers.order[firm:], left)
    return [ChosenEntry(offers.entries[owner], choice.units_of(owner)) for owner in sorted(choice.taken)]


def _find_price(offers: Offers, start: int, budget_bytes: int) -> float:
    """Return the weight per byte at which a budget is spent if nothing has a share of its own."""
    for piece in offers.order[start:]:
        budget_bytes -= offers.sizes[piece]
        if budget_bytes < 0:
            return offers.densities[piece]
    return 0.0


@dataclass(slots=True)
class _Choice:
    """The pieces that were taken so far, by entry; a unit brings its head along."""

    offers: Offers
    taken: dict[int, set[int]] = field(default_factory=dict)
    """by owner, without the heads"""

    def units_of(self, owner: int) -> tuple[Unit, ...]:
        """Return the units that were taken of an entry, in its order."""
        units = self.offers.units
        return tuple([unit for piece in sorted(self.taken[owner]) if (unit := units[piece]) is not None])

    def take(self, pieces: Iterable[int], budget_bytes: int) -> int:
        """Take pieces in their order while they fit; return what is left of the budget."""
        left, chosen = budget_bytes, self.taken
        owners, units, sizes = self.offers.owners, self.offers.units, self.offers.sizes
        for piece in pieces:
            price = sizes[piece]
            if price > left:
                continue
            owner, unit = owners[piece], units[piece]
            taken = chosen.get(owner)
            if taken is None:
                price += 0 if unit is None else self.offers.head_sizes[owner]
                if price > left:
                    continue
                taken = chosen[owner] = set()
            elif unit is None or piece in taken:
                continue
            left -= price
            if unit is not None:
                taken.add(piece)
        return left
