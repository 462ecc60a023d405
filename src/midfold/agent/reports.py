"""Reports of an agent on itself: how full its window is, what it cost, what a fold would do."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from midfold.agent.active_model import OFF
from midfold.agent.core import Core
from midfold.folding import Compression, Span, Tier, tier_of
from midfold.late_dataclasses import dataclass
from midfold.messages import Message
from midfold.providers.summarizers import Forecast, forecast
from midfold.store import Call
from midfold.tokens import CanonicalUsage, Cost
from midfold.usage import Bust

AUTOMATIC = "automatic"
"""The provider caches by itself: nothing is marked, and something was read from a cache."""


@dataclass(frozen=True, slots=True)
class Status:
    """The state of an agent: its session, its model and its window."""

    session_id: str
    conversation_id: str
    model: str
    base_url: str
    api: str
    messages: int
    tokens: int
    """of the next request: the last reported count and what came after it, else as counted"""
    window_tokens: int
    window_source: str
    """explicit, learnt, table or probe; of a server of one's own that was asked, server or assumed"""
    threshold_tokens: int
    tier: Tier
    compressions: int
    folds: int
    preparation: str
    """the phase of the next fold: idle, preparing, ready or discarded"""
    waits: str
    """why a fold that is due is put off, if it is"""
    caching: str
    enabled: bool
    workspace: Path
    cache_hit_rate: float = 0.0
    """the part of all that was sent since the session was opened that the prompt cache had, 0 to 1"""
    cache_busts: tuple[Bust, ...] = ()
    """how often the cache went cold since then, and why"""
    is_cache_cold: bool = False
    """whether it did in the newest call"""
    tokens_from: str = "counted"
    """reported or counted: what `tokens` starts from"""

    @property
    def percent(self) -> float:
        """The part of the window that is full."""
        return min(100.0, 100 * self.tokens / self.window_tokens) if self.window_tokens else 0.0


@dataclass(frozen=True, slots=True)
class Spending:
    """Usage and cost of this session, and of the whole conversation."""

    session: CanonicalUsage
    chain: CanonicalUsage
    cost: Cost
    calls: int
    summaries: int
    summary_cost: Cost
    folds: int
    by_model: tuple[tuple[str, int], ...]
    """tokens, the most first"""


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect that a compression would have; `forecast` is the cost of a summary by a model."""

    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    folded: tuple[Span, ...]
    reason: str
    forecast: Forecast | None
    result: Compression[Message]
    """with facts instead of the summary's words"""

    @property
    def changed(self) -> bool:
        return self.result.changed


def report_status(core: Core, tokens: int) -> Status:
    """Report the state of the agent, whose next request takes `tokens`."""
    conversation, engine, model = core.conversation, core.engine, core.model
    status = engine.get_status()
    preparation = status.get("preparation")
    return Status(
        session_id=conversation.id,
        conversation_id=conversation.conversation_id,
        model=model.ref.name,
        base_url=model.endpoint.base_url,
        api=model.dialect,
        messages=len(conversation.items),
        tokens=tokens,
        window_tokens=engine.context_length,
        window_source=model.window.source,
        threshold_tokens=engine.threshold_tokens,
        tier=tier_of(tokens, engine.context_length),
        compressions=engine.compression_count,
        folds=engine.state.folds,
        preparation=str(preparation.get("phase")) if isinstance(preparation, dict) else "idle",
        waits=str(status.get("waits") or ""),
        caching=AUTOMATIC if model.caching == OFF and core.cache.seen.hit_rate else model.caching,
        enabled=engine.enabled,
        workspace=core.workspace.root,
        cache_hit_rate=core.cache.seen.hit_rate,
        cache_busts=core.cache.seen.busts,
        is_cache_cold=core.cache.is_cold,
        tokens_from=str(status.get("estimated_from", "counted")),
    )


def report_spending(core: Core) -> Spending:
    """Add up what the store has on record."""
    conversation = core.conversation
    if not conversation.is_stored:
        nothing = CanonicalUsage()
        return Spending(
            nothing, nothing, Cost(Decimal(0)), 0, 0, Cost(Decimal(0)), core.engine.state.folds, ()
        )
    calls = core.store.calls(conversation.id, whole_chain=True)
    summaries = [call for call in calls if call.purpose == "summary"]
    tokens: Counter[str] = Counter()
    for call in calls:
        tokens[call.model] += call.usage.total_tokens
    return Spending(
        session=core.store.usage(conversation.id),
        chain=core.store.usage(conversation.id, whole_chain=True),
        cost=_total(calls),
        calls=len(calls),
        summaries=len(summaries),
        summary_cost=_total(summaries),
        folds=core.engine.state.folds,
        by_model=tuple(tokens.most_common()),
    )


def report_preview(core: Core, focus: str | None, keep_last: int | None) -> Preview:
    """Rehearse a compression that a person asks for; no model is asked and nothing changes.

    Raises `EngineUnable` where the engine cannot say.
    """
    conversation, engine = core.conversation, core.engine
    core.estimate()  # what travels beside the messages counts, too
    planned = engine.dry_run(conversation.items, focus, keep_last=keep_last)
    writer = core.summary_writer.model
    result = planned.result
    expected = None
    if writer is not None and planned.requests:
        providers = core.model.providers
        expected = forecast(planned.requests, writer, measured=core.summary_writer.calls, providers=providers)
    return Preview(
        messages_before=len(result.before),
        messages_after=len(result.messages),
        tokens_before=result.tokens_before,
        tokens_after=result.tokens_after,
        folded=result.folded,
        reason=result.reason,
        forecast=expected,
        result=result,
    )


def _total(calls: Sequence[Call]) -> Cost:
    """Add up costs; where one is not known, the sum is the least it can have been."""
    known = [call.cost for call in calls if call.cost is not None]
    is_partial = any(call.cost is None or call.cost_kind == "partial" for call in calls)
    if not known and is_partial:
        return Cost(None)
    return Cost(sum(known, Decimal(0)), ("calls without a price",) if is_partial else ())
