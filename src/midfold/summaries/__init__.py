"""What a summary says: the facts of the folded turns, the prompt for a model, and the check of its answer.

Pure, as the fold is. A summary is written from the ledger of what happened; a model's words are judged and
checked against it, and where there is no model the digest is made of it alone.
"""

from midfold.summaries.focus import check_focus
from midfold.summaries.sections import (
    FOLDED_HEADING,
    Template,
    join_sections,
    quote_headings,
    split_sections,
    with_section,
)
from midfold.summaries.serialize import fit_sizes, serialize
from midfold.summaries.task import active_task
from midfold.summaries.verify import Retention, check, find_inventions, repair, shorten
from midfold.summaries.weight import weigh

__all__ = [
    "FOLDED_HEADING",
    "Retention",
    "Template",
    "active_task",
    "check",
    "check_focus",
    "find_inventions",
    "fit_sizes",
    "join_sections",
    "quote_headings",
    "repair",
    "serialize",
    "shorten",
    "split_sections",
    "weigh",
    "with_section",
]
