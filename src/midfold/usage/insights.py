"""The report on a period: what its calls used, cost and saved, and which tools filled the window.

Calls are added up by the store. What has to be worked out from all that a conversation says is kept with it:
the shares of its tools, and what folds had to do with its calls. So only what grew since is read again.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo

from midfold.errors import StoreError
from midfold.late_dataclasses import dataclass, replace
from midfold.store import ActiveConversation, ConversationFigures, Store
from midfold.tokens import ToolShare, price_steps, share_by_tool
from midfold.usage.conversations import count_in, make_counter, read_conversation
from midfold.usage.figures import CallEffect, KeptFigures, figures_as_value, is_untouched, read_figures
from midfold.usage.totals import (
    Group,
    Totals,
    UsagePart,
    add_up_sum,
    group_days,
    group_parts,
    join,
)

MOST_DAYS = 36_500
"""The longest period that can be asked for: a hundred years."""
READING_SECONDS = 3.0
"""The time for reading conversations, the newest first; what was read is kept for the next report."""

_KEPT_TOGETHER = 200


@dataclass(frozen=True, slots=True)
class Insights:
    """The usage of a period."""

    since: float
    until: float
    conversations: int
    totals: Totals
    days: tuple[Group, ...]
    """every day, the first first"""
    models: tuple[Group, ...]
    sources: tuple[Group, ...]
    purposes: tuple[Group, ...]
    tools: tuple[ToolShare, ...]
    """about; of the newest conversations"""
    tools_of: int
    """how many conversations those are; what was read again is known of these, too"""


def read_insights(
    store: Store,
    *,
    now: float,
    days: int = 30,
    zone: tzinfo | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Insights:
    """Report on the last `days` days, of which today is one; without a zone, days are local ones.

    Calls are all counted. Conversations that grew since they were last read are read for `READING_SECONDS`
    by that clock, or one of them.
    """
    today = datetime.fromtimestamp(now, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    since = (today - timedelta(days=days - 1)).timestamp()
    active = store.active_conversations(since)
    read = _read_all(store, active, clock)
    parts = [
        UsagePart(each.at, each.source, each.model, each.purpose, add_up_sum(each))
        for each in store.sum_calls(since, steps=price_steps())
    ]
    parts += [effect.part for each in read for effect in each.effects if effect.at >= since]
    tools = [each.tools for each in read if each.tools is not None]
    return Insights(
        since=since,
        until=now,
        conversations=len(active),
        totals=join([part.totals for part in parts]),
        days=group_days(parts, since, now, zone),
        models=group_parts(parts, lambda part: part.model),
        sources=group_parts(parts, lambda part: part.source),
        purposes=group_parts(parts, lambda part: part.purpose),
        tools=_join_tools([share for shares in tools for share in shares]),
        tools_of=len(tools),
    )


def _read_all(
    store: Store, active: Sequence[ActiveConversation], clock: Callable[[], float]
) -> list[KeptFigures]:
    """Return the figures of conversations: those that were kept, and those that there is time to work out."""
    found: list[KeptFigures] = []
    fresh: list[ConversationFigures] = []
    is_first = True
    ends_at = clock() + READING_SECONDS
    for each in active:
        figures = read_figures(each.figures)
        if figures is None:
            if is_first or clock() < ends_at:
                figures = _work_out(store, each)
                fresh.append(ConversationFigures(each.id, each.mark, figures_as_value(figures)))
            else:
                figures = KeptFigures(None, _find_effects(store, each))
            is_first = False
        found.append(figures)
        if len(fresh) >= _KEPT_TOGETHER:
            _keep(store, fresh)
            fresh = []
    _keep(store, fresh)
    return found


def _keep(store: Store, figures: Sequence[ConversationFigures]) -> None:
    """Keep figures where the store can be written to; elsewhere they are worked out each time."""
    if figures and store.status.may_write:
        with suppress(StoreError):
            store.keep_figures(figures)


def _work_out(store: Store, active: ActiveConversation) -> KeptFigures:
    """Read all that a conversation says."""
    count = make_counter(active.model, active.dialect)
    found = read_conversation(store, active.id, active.dialect)
    calls = store.calls(active.id, whole_chain=True)
    folds = store.folds(active.id) if active.sessions > 1 else []
    counted = count_in(store, found, calls, folds, count)
    effects = tuple(CallEffect.of(each) for each in counted if not is_untouched(each))
    return KeptFigures(share_by_tool(found.messages, count), effects)


def _find_effects(store: Store, active: ActiveConversation) -> tuple[CallEffect, ...]:
    """Say what folds had to do with calls, without the messages: nothing is known of what was read again."""
    calls = store.calls(active.id, whole_chain=True)
    folds = store.folds(active.id) if active.sessions > 1 else []
    counted = count_in(store, None, calls, folds, make_counter(active.model, active.dialect))
    return tuple(CallEffect.of(each) for each in counted if not is_untouched(each))


def _join_tools(shares: Sequence[ToolShare]) -> tuple[ToolShare, ...]:
    """Add up the same tools of several conversations, largest first."""
    joined: dict[str, ToolShare] = {}
    for share in shares:
        seen = joined.get(share.name)
        joined[share.name] = share if seen is None else _both(seen, share)
    return tuple(sorted(joined.values(), key=lambda share: share.tokens, reverse=True))


def _both(one: ToolShare, other: ToolShare) -> ToolShare:
    return replace(
        one,
        calls=one.calls + other.calls,
        call_tokens=one.call_tokens + other.call_tokens,
        result_tokens=one.result_tokens + other.result_tokens,
        largest_result_tokens=max(one.largest_result_tokens, other.largest_result_tokens),
    )
