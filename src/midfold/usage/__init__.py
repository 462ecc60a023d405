"""The usage of calls: recorded at once, reported on by any key, and kept low by the prompt cache."""

from midfold.usage.calls import CHAT, SUMMARY, CostKind, make_call, make_summary_call, record_client_calls
from midfold.usage.charts import draw_insights
from midfold.usage.export import insights_as_dict, session_usage_as_dict
from midfold.usage.insights import MOST_DAYS, Insights, read_insights
from midfold.usage.prompt_cache import Bust, CacheHistory, Cause, PromptCache, SentRequest, digest_request
from midfold.usage.reports import SessionUsage, read_session_usage
from midfold.usage.savings import CountedCall, Reread, count_calls
from midfold.usage.totals import (
    Bill,
    Group,
    Totals,
    add_up,
    by_bucket,
    by_model,
    by_purpose,
    by_session,
    group_by,
    group_largest_first,
    make_bill,
)

__all__ = [
    "CHAT",
    "MOST_DAYS",
    "SUMMARY",
    "Bill",
    "Bust",
    "CacheHistory",
    "Cause",
    "CostKind",
    "CountedCall",
    "Group",
    "Insights",
    "PromptCache",
    "Reread",
    "SentRequest",
    "SessionUsage",
    "Totals",
    "add_up",
    "by_bucket",
    "by_model",
    "by_purpose",
    "by_session",
    "count_calls",
    "digest_request",
    "draw_insights",
    "group_by",
    "group_largest_first",
    "insights_as_dict",
    "make_bill",
    "make_call",
    "make_summary_call",
    "read_insights",
    "read_session_usage",
    "record_client_calls",
    "session_usage_as_dict",
]
