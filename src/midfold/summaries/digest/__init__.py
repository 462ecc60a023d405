"""The built-in summariser: no model, no network, the same answer every time.

It quotes what happened under the template's headings, each entry with the number of its message, and spends
the whole budget by worth.
"""

import re
from collections.abc import Callable, Sequence

from midfold.summaries.digest.compose import compose
from midfold.summaries.digest.entries import Entry, Kind, Taken, cost, offer, take
from midfold.summaries.digest.headings import NOTED_HEADING, NOTES_HEADING, RULES_HEADING, arrange
from midfold.summaries.digest.layers import merge, read_entries, read_rules, request_entries
from midfold.summaries.ledger import Ledger
from midfold.summaries.ledger.telling import LEAST_LINES
from midfold.summaries.sections import Template
from midfold.summaries.serialize import fit_sizes

__all__ = [
    "NOTED_HEADING",
    "NOTES_HEADING",
    "RULES_HEADING",
    "Entry",
    "Kind",
    "compose",
    "cost",
    "fill",
    "fill_bare",
    "focus_on",
    "lines_per_deed",
    "merge",
    "read_entries",
    "read_rules",
    "request_entries",
]

_FILL_ROUNDS = 6
_FULL_ENOUGH = 0.985
_LAST_ROUNDS = 10
_TIGHT, _LOOSE, _STEP = 0.995, 0.999, 0.9
_BYTES_PER_TOKEN = 3.3
_LINE_BYTES = 60
_CHOICE = 2
_FOCUS = 8.0
_SHORTEST_TOPIC_WORD = 3


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
