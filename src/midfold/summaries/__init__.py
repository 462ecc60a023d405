"""The content of a summary: the facts of the folded turns, the prompt for a model, the check of its answer.

Pure, as the fold is. A summary is written from the ledger of what happened; a model's words are judged and
checked against it, and where there is no model the digest is made of it alone.
"""

from midfold.settings import Template
from midfold.summaries.condensing import condense_with_model, join_bodies
from midfold.summaries.corrections import Correction, CorrectionKind, find_subject
from midfold.summaries.draft import DIGEST, Draft, draft_summary
from midfold.summaries.ledger import Rule
from midfold.summaries.ledger.text_commands import find_protocol
from midfold.summaries.model_summary import AnswerRejected, SummaryRequest, ask_model, explain_failure
from midfold.summaries.notes import Note, NoteChange, find_note, read_notes
from midfold.summaries.sections import (
    CORRECTIONS_HEADING,
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
    "CORRECTIONS_HEADING",
    "DIGEST",
    "FOLDED_HEADING",
    "AnswerRejected",
    "Correction",
    "CorrectionKind",
    "Draft",
    "Note",
    "NoteChange",
    "Retention",
    "Rule",
    "SummaryJob",
    "SummaryRequest",
    "Template",
    "active_task",
    "ask_model",
    "condense_with_model",
    "draft_summary",
    "explain_failure",
    "find_note",
    "find_protocol",
    "find_subject",
    "fit_sizes",
    "gather_sources",
    "join_bodies",
    "join_sections",
    "quote_headings",
    "read_notes",
    "serialize",
    "split_sections",
    "with_section",
]
