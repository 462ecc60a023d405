"""What calls use: recorded at once, reported on by any key, and kept low by the prompt cache."""

from midfold.usage.caching import Bust, Cause, PromptCache, Seen
from midfold.usage.counting import CountedCall, Reread, count_calls
from midfold.usage.reading import Insights, SessionUsage, UsageStore, read_insights, read_session_usage
from midfold.usage.recording import CHAT, SUMMARY, CostKind, make_call, make_summary_call
from midfold.usage.reports import (
    Bill,
    Group,
    Totals,
    add_up,
    by_model,
    by_purpose,
    by_session,
    by_source,
    group_by,
    group_days,
    group_largest_first,
    make_bill,
)

__all__ = [
    "CHAT",
    "SUMMARY",
    "Bill",
    "Bust",
    "Cause",
    "CostKind",
    "CountedCall",
    "Group",
    "Insights",
    "PromptCache",
    "Reread",
    "Seen",
    "SessionUsage",
    "Totals",
    "UsageStore",
    "add_up",
    "by_model",
    "by_purpose",
    "by_session",
    "by_source",
    "count_calls",
    "group_by",
    "group_days",
    "group_largest_first",
    "make_bill",
    "make_call",
    "make_summary_call",
    "read_insights",
    "read_session_usage",
]
