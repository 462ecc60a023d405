"""Who wrote each part of a conversation: the role `user` is not the user.

Clients put reminders, command output, project files, reports of other agents and summaries there, and
people speak in tool results, too. Only a person asks, and only a person or a project file sets rules.
"""

from midfold.provenance.answers import PersonAnswer, find_answer, is_unanswered
from midfold.provenance.authors import Author
from midfold.provenance.positions import (
    COMMAND_BODY,
    asks,
    is_command_body,
    newest_asked,
    person_words,
    segments_at,
)
from midfold.provenance.project_files import is_rules_file, strip_line_numbers
from midfold.provenance.questions import is_go_ahead, is_short, proposal_before, question_before
from midfold.provenance.reading import read_segments, split_text
from midfold.provenance.segments import Segment, main_author
from midfold.provenance.summaries import is_summary

__all__ = [
    "COMMAND_BODY",
    "Author",
    "PersonAnswer",
    "Segment",
    "asks",
    "find_answer",
    "is_command_body",
    "is_go_ahead",
    "is_rules_file",
    "is_short",
    "is_summary",
    "is_unanswered",
    "main_author",
    "newest_asked",
    "person_words",
    "proposal_before",
    "question_before",
    "read_segments",
    "segments_at",
    "split_text",
    "strip_line_numbers",
]
