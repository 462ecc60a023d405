"""Compression (compaction) of a conversation: old tool output is pruned, a span is folded into a summary.

Which messages go, what stands in for them, and how the list reads afterwards: all of it pure.

Nothing here asks a clock, opens a socket or knows a provider. A compression is a generator that asks for a
summary and returns a value; its driver does the asking.
"""

from typing import TYPE_CHECKING

from midfold.folding.choose import shrink_results
from midfold.folding.compression import Compression, Flow, summarize_manual_compression
from midfold.folding.flow import compress
from midfold.folding.fold import (
    Edit,
    Fate,
    Fold,
    Insert,
    MessageSource,
    Replacement,
    Span,
    WalkStep,
    apply,
    count_leading_system,
    join_spans,
    replace_spans,
    splice,
)
from midfold.folding.job import CompressionJob
from midfold.folding.layout import count_head, group_around, lay_out, legal_cuts, reach_head
from midfold.folding.policy import THRESHOLD_CAP, CompressionPolicy, is_worth_it
from midfold.folding.pressure import (
    Tier,
    advise,
    decide,
    is_paused,
    note_attempt,
    note_outcome,
    pause_notice,
    reopen,
    tier_of,
    warn,
)
from midfold.folding.run import arun, run
from midfold.folding.state import STATE_NAME, CompressionState, state_from_json, state_to_json
from midfold.folding.summary_message import (
    TASK_HEADING,
    FoldedNumbers,
    find_summary,
    frame_summary,
    make_summary_message,
    number_messages,
    read_folded_numbers,
    read_summary,
)
from midfold.folding.tail import MIN_TAIL_MESSAGES, FoldPlan, make_ceiling_plan, make_plan
from midfold.lazy_exports import lazy_getattr
from midfold.settings import FOLD_SETTINGS, Budget, FoldSettings, Strategy, Style
from midfold.summaries import DIGEST, SummaryRequest

if TYPE_CHECKING:
    from midfold.folding.losses import Loss, list_losses
    from midfold.folding.notes import (
        NOTES_CORRECTED,
        correct_notes,
        list_notes,
        list_rules,
        number_of_messages,
    )
    from midfold.folding.preview import DryRun, dry_run

__all__ = [
    "DIGEST",
    "FOLD_SETTINGS",
    "MIN_TAIL_MESSAGES",
    "NOTES_CORRECTED",
    "STATE_NAME",
    "TASK_HEADING",
    "THRESHOLD_CAP",
    "Budget",
    "Compression",
    "CompressionJob",
    "CompressionPolicy",
    "CompressionState",
    "DryRun",
    "Edit",
    "Fate",
    "Flow",
    "Fold",
    "FoldPlan",
    "FoldSettings",
    "FoldedNumbers",
    "Insert",
    "Loss",
    "MessageSource",
    "Replacement",
    "Span",
    "Strategy",
    "Style",
    "SummaryRequest",
    "Tier",
    "WalkStep",
    "advise",
    "apply",
    "arun",
    "compress",
    "correct_notes",
    "count_head",
    "count_leading_system",
    "decide",
    "dry_run",
    "find_summary",
    "frame_summary",
    "group_around",
    "is_paused",
    "is_worth_it",
    "join_spans",
    "lay_out",
    "legal_cuts",
    "list_losses",
    "list_notes",
    "list_rules",
    "make_ceiling_plan",
    "make_plan",
    "make_summary_message",
    "note_attempt",
    "note_outcome",
    "number_messages",
    "number_of_messages",
    "pause_notice",
    "reach_head",
    "read_folded_numbers",
    "read_summary",
    "reopen",
    "replace_spans",
    "run",
    "shrink_results",
    "splice",
    "state_from_json",
    "state_to_json",
    "summarize_manual_compression",
    "tier_of",
    "warn",
]

# A fold has no use for these.
__getattr__ = lazy_getattr(
    __name__,
    {
        "losses": "Loss list_losses",
        "notes": "NOTES_CORRECTED correct_notes list_notes list_rules number_of_messages",
        "preview": "DryRun dry_run",
    },
)
