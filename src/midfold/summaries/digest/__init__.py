"""The built-in summariser: no model, no network, the same answer every time.

It quotes what happened under the template's headings, each entry with the number of its message, and spends
the whole budget by weight.
"""

from midfold.summaries.digest.composition import Importance, compose, weigh
from midfold.summaries.digest.entries import Entry, Kind, cost
from midfold.summaries.digest.headings import NOTED_HEADING, NOTES_HEADING, RULES_HEADING
from midfold.summaries.digest.layers import merge, read_entries, read_rules, request_entries
from midfold.summaries.digest.selection import fill, lines_per_deed

__all__ = [
    "NOTED_HEADING",
    "NOTES_HEADING",
    "RULES_HEADING",
    "Entry",
    "Importance",
    "Kind",
    "compose",
    "cost",
    "fill",
    "lines_per_deed",
    "merge",
    "read_entries",
    "read_rules",
    "request_entries",
    "weigh",
]
