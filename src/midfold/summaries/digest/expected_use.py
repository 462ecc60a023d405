"""Weights of entries: what the agent most likely needs again, by kind and by the names in a line.

A name is cheapest in a list, and says most in its line. So a line is worth a part of what the names in it are
worth; one that is quoted is listed no more. What names are worth is learnt; that part, and the factors of
kinds, were chosen by trial.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from math import inf

from midfold.summaries.digest.entries import MUST, DigestEntry, EntryKind, Trait, Unit
from midfold.summaries.digest.weights import EntryWeights, entry_weights
from midfold.summaries.ledger.name_uses import list_words

_FIRM = MUST / 1000
"""What weighs more is kept anyway."""
_LEAST_PER_CHAR = 0.005
"""A line that weighs less for its size is never quoted, whatever it names."""
_FULL_NOTES_BYTES = 6_000
_MARK = "~.~.~"
"""what no line has, and no name is"""


def weigh_use(
    entries: Sequence[DigestEntry], weights: EntryWeights | None = None, *, room_bytes: float = inf
) -> None:
    """Weigh heads and units by their kind, and by the names in them.

    Small notes have better things to tell than what was looked at without anything to say of it.
    """
    weights = weights or entry_weights()
    named, looked = weights.named, weights.factors[Trait.LOOK] * min(1.0, room_bytes / _FULL_NOTES_BYTES)
    factors = {**weights.factors, Trait.LOOK: looked}
    worths = {
        unit.text: unit.weight for entry in entries if entry.kind is EntryKind.NAMES for unit in entry.units
    }
    lines = []
    for entry in entries:
        if entry.weight < _FIRM:
            entry.weight *= factors[entry.trait]
        is_list = entry.kind is EntryKind.NAMES
        for unit in entry.units:
            unit.weight *= factors[unit.trait]
            if not is_list and unit.weight >= _LEAST_PER_CHAR * len(unit.text) and " " in unit.text:
                lines.append(unit)
    for unit, names in _find_names(lines, worths):
        unit.weight += named * sum([worths[name] for name in names])


def _find_names(lines: Iterable[Unit], names: Container[str]) -> Iterator[tuple[Unit, Iterable[str]]]:
    """Yield the lines that have some of the names, each with those; plain text is parted all at once."""
    plain: list[Unit] = []
    for unit in lines:
        if unit.text.isascii() and _MARK not in unit.text:
            plain.append(unit)
        elif found := [word for word in dict.fromkeys(list_words(unit.text)) if word in names]:
            yield unit, found
    at, met = 0, dict[str, None]()
    for word in list_words(f" {_MARK} ".join([unit.text for unit in plain])):
        if word == _MARK:
            if met:
                yield plain[at], met
                met = {}
            at += 1
        elif word in names:
            met[word] = None
    if met:
        yield plain[at], met
