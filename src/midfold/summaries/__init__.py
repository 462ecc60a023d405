"""The content of a summary: the facts of the folded turns, the prompt for a model, the check of its answer.

Pure, as the fold is. A summary is written from the ledger of what happened; a model's words are judged and
checked against it, and where there is no model the digest is made of it alone.
"""

from midfold.settings import Template
from midfold.summaries.draft import DIGEST, Draft, draft_summary
from midfold.summaries.model_summary import SummaryRequest
from midfold.summaries.sections import (
    FOLDED_HEADING,
    active_task,
    join_sections,
    quote_headings,
    split_sections,
    with_section,
)
from midfold.summaries.serialization import serialize
from midfold.summaries.sources import SummaryJob, gather_sources
from midfold.summaries.tool_calls.output import fit_sizes
from midfold.summaries.verify import Retention

__all__ = [
    "DIGEST",
    "FOLDED_HEADING",
    "Draft",
    "Retention",
    "SummaryJob",
    "SummaryRequest",
    "Template",
    "active_task",
    "draft_summary",
    "fit_sizes",
    "gather_sources",
    "join_sections",
    "quote_headings",
    "serialize",
    "split_sections",
    "with_section",
]
