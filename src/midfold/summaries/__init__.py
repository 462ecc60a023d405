"""The content of a summary: the facts of the folded turns, the prompt for a model, the check of its answer.

Pure, as the fold is. A summary is written from the ledger of what happened; a model's words are judged and
checked against it, and where there is no model the digest is made of it alone.
"""

from typing import TYPE_CHECKING

from midfold.lazy_exports import lazy_getattr
from midfold.settings import Template
from midfold.summaries.draft import DIGEST, Draft, draft_summary
from midfold.summaries.ledger import Rule
from midfold.summaries.ledger.exchanges import ends_turn
from midfold.summaries.ledger.text_commands import CommandProtocol, find_protocol, told_calls
from midfold.summaries.sections import (
    CORRECTIONS_HEADING,
    FOLDED_HEADING,
    join_sections,
    quote_headings,
    split_sections,
    with_section,
)
from midfold.summaries.sources import Sources, SummaryJob, TurnFacts, gather_sources
from midfold.summaries.summary_request import SummaryRequest
from midfold.summaries.task import active_task, cut_words, describe_progress
from midfold.summaries.tool_calls.output import fit_sizes
from midfold.summaries.verify import Retention

if TYPE_CHECKING:
    from midfold.summaries.condensing import condense_with_model, join_bodies
    from midfold.summaries.corrections import Correction, CorrectionKind, find_subject
    from midfold.summaries.model_summary import AnswerRejected, ask_model, explain_failure
    from midfold.summaries.notes import MAX_NOTE_CHARS, Note, NoteChange, find_note, read_notes
    from midfold.summaries.serialization import serialize
    from midfold.summaries.standing import carry_on

__all__ = [
    "CORRECTIONS_HEADING",
    "DIGEST",
    "FOLDED_HEADING",
    "MAX_NOTE_CHARS",
    "AnswerRejected",
    "CommandProtocol",
    "Correction",
    "CorrectionKind",
    "Draft",
    "Note",
    "NoteChange",
    "Retention",
    "Rule",
    "Sources",
    "SummaryJob",
    "SummaryRequest",
    "Template",
    "TurnFacts",
    "active_task",
    "ask_model",
    "carry_on",
    "condense_with_model",
    "cut_words",
    "describe_progress",
    "draft_summary",
    "ends_turn",
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
    "told_calls",
    "with_section",
]

# A fold has no use for these.
__getattr__ = lazy_getattr(
    __name__,
    {
        "condensing": "condense_with_model join_bodies",
        "corrections": "Correction CorrectionKind find_subject",
        "model_summary": "AnswerRejected ask_model explain_failure",
        "notes": "MAX_NOTE_CHARS Note NoteChange find_note read_notes",
        "serialization": "serialize",
        "standing": "carry_on",
    },
)
