"""The built-in summariser: no model, no network, the same answer every time.

It quotes what happened under the template's headings, each entry with the number of its message, and spends
the whole budget by weight.
"""

from midfold.summaries.digest.choice import fill_digest
from midfold.summaries.digest.composition import compose, find_factors, lines_per_action
from midfold.summaries.digest.entries import (
    NOTES_HEADING,
    RULES_HEADING,
    DigestEntry,
    EntryKind,
    cost,
    note_heading,
)
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.digest.kept import KeptMessages
from midfold.summaries.digest.layers import merge, read_entries, read_rules, request_entries

__all__ = [
    "NOTES_HEADING",
    "RULES_HEADING",
    "DigestEntry",
    "EntryKind",
    "KeptMessages",
    "WeightFactors",
    "compose",
    "cost",
    "fill_digest",
    "find_factors",
    "lines_per_action",
    "merge",
    "note_heading",
    "read_entries",
    "read_rules",
    "request_entries",
]
