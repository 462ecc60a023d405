"""Reports as JSON values, under names that scripts and pages rely on. Dollars are numbers, or null."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal

from midfold.tokens import Amount, Savings, ToolShare
from midfold.usage.insights import Insights
from midfold.usage.reports import SessionUsage
from midfold.usage.totals import Bill, Group, Totals


def session_usage_as_dict(report: SessionUsage) -> dict[str, object]:
    """Render the report on a session or a chain."""
    return {
        "session": report.session.id,
        "conversation": report.session.conversation_id,
        "title": report.session.title,
        "source": report.session.source,
        "whole_chain": report.is_whole_chain,
        "sessions_in_chain": len(report.chain),
        **totals_as_dict(report.totals),
        "cache_busts": dict(report.cache_busts),
        "by_model": _groups(report.models),
        "by_purpose": _groups(report.purposes),
        "by_session": _groups(report.sessions),
        "tools": _tools(report.tools),
    }


def insights_as_dict(insights: Insights) -> dict[str, object]:
    """Render the report on a period."""
    return {
        "since": _moment(insights.since),
        "until": _moment(insights.until),
        "conversations": insights.conversations,
        **totals_as_dict(insights.totals),
        "by_day": _groups(insights.days),
        "by_model": _groups(insights.models),
        "by_source": _groups(insights.sources),
        "by_purpose": _groups(insights.purposes),
        "tools": _tools(insights.tools),
        "tools_of_conversations": insights.tools_of,
    }


def totals_as_dict(totals: Totals) -> dict[str, object]:
    """Render the usage, cost and savings of some calls."""
    usage = totals.usage
    return {
        "calls": totals.calls,
        "tokens": {**asdict(usage), "prompt_tokens": usage.prompt_tokens, "total_tokens": usage.total_tokens},
        "cost": _bill(totals.bill),
        "cache": {"hit_rate": round(usage.cache_hit_rate, 4), "saved_dollars": _number(totals.cache_saving)},
        "compressions": totals.compressions,
        "savings": _savings(totals.savings),
    }


def _groups(groups: Iterable[Group]) -> list[dict[str, object]]:
    return [{"name": group.name, **totals_as_dict(group.totals)} for group in groups]


def _bill(bill: Bill) -> dict[str, object]:
    return {
        "dollars": _number(bill.dollars),
        "complete": bill.is_complete,
        "calls_reported": bill.reported,
        "calls_computed": bill.computed,
        "calls_partial": bill.partial,
        "calls_unknown": bill.unknown,
    }


def _savings(savings: Savings) -> dict[str, object]:
    return {
        "net": _amount(savings.net),
        "left_out": _amount(savings.saved),
        "cache_loss": _amount(savings.cache_loss),
        "summaries": _amount(savings.summaries),
        "read_again": {**_amount(savings.reread), "results": savings.rereads},
    }


def _amount(amount: Amount) -> dict[str, object]:
    return {
        "tokens": amount.tokens,
        "dollars": _number(amount.cost.dollars),
        "complete": amount.cost.is_complete,
    }


def _tools(tools: Iterable[ToolShare]) -> list[dict[str, object]]:
    return [{**asdict(tool), "tokens": tool.tokens} for tool in tools]


def _number(dollars: Decimal | None) -> float | None:
    return None if dollars is None else round(float(dollars), 8)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().isoformat(timespec="seconds")
