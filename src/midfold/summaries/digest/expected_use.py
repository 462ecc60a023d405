"""Learnt weights of entries: what the agent most likely needs again, by kind and by the names in a line.

A name is cheapest in a list, and says most in its line. So a line is worth a part of what the names in it are
worth; one that is quoted is listed no more. The numbers are fitted by `scripts/fit_weights.py`.
"""

from collections.abc import Sequence

from midfold.summaries.digest.entries import MUST, DigestEntry, EntryKind
from midfold.summaries.digest.weights import EntryWeights, entry_weights
from midfold.summaries.ledger.name_uses import list_words

_FIRM = MUST / 1000
"""What weighs more is kept anyway."""


def weigh_use(entries: Sequence[DigestEntry], weights: EntryWeights | None = None) -> None:
    """Weigh heads and units by what was learnt of their like, and by the names in them."""
    weights = weights or entry_weights()
    factors, named = weights.factors, weights.named
    worths = {
        unit.text: unit.weight for entry in entries if entry.kind is EntryKind.NAMES for unit in entry.units
    }
    said = worths.keys()
    for entry in entries:
        if entry.weight < _FIRM:
            entry.weight *= factors[entry.trait]
        is_list = entry.kind is EntryKind.NAMES
        for unit in entry.units:
            unit.weight *= factors[unit.trait]
            if unit.weight > 0 and not is_list and " " in unit.text:
                names = said & list_words(unit.text)
                if names:
                    # In an order of its own: that of a set differs from process to process.
                    unit.weight += named * sum(sorted([worths[name] for name in names]))
