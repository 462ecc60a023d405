"""Offloads results: those over their limits go to a sink, or are cut where that fails."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Location, Message, ToolResult
from midfold.offload.blocks import measure, write_block, write_cut
from midfold.offload.budgets import Budgets
from midfold.offload.plan import OffloadPlan, plan_offload
from midfold.offload.safe_text import sanitize
from midfold.ports import Sink
from midfold.redact import redact as hide_credentials
from midfold.summaries.tool_calls import one_line

Redact: TypeAlias = Callable[[str], str]
Locate: TypeAlias = Callable[[str], str]
"""Says where the text with a reference is kept; the reference itself where nothing else reads it."""

_DEFAULT = Budgets()
_REASON_CHARS = 120


@dataclass(frozen=True, slots=True)
class OffloadedResult:
    """A result that is in the sink under `reference`; `kept_chars` differ where credentials were replaced."""

    reference: str
    tool: str
    call_id: str
    chars: int
    bytes: int
    kept_chars: int


@dataclass(frozen=True, slots=True)
class CutResult:
    """A result of which only `left_chars` are left, as the sink failed for `reason`."""

    tool: str
    call_id: str
    chars: int
    left_chars: int
    reason: str


@dataclass(frozen=True, slots=True)
class ShortenedResult:
    """A result as it enters the context; `outcome` is `None` where it is whole."""

    text: str
    outcome: OffloadedResult | CutResult | None = None


@dataclass(frozen=True, slots=True)
class OffloadedMessages:
    """Messages whose results keep to their limits, and what was done to which.

    `over_budget` counts turns that are still too large, of results too small for a block to be shorter.
    """

    messages: list[Message]
    offloaded: dict[Location, OffloadedResult] = field(default_factory=dict)
    cut: dict[Location, CutResult] = field(default_factory=dict)
    over_budget: int = 0

    @property
    def is_changed(self) -> bool:
        return bool(self.offloaded or self.cut)


def enforce(
    messages: Sequence[Message],
    sink: Sink,
    budgets: Budgets = _DEFAULT,
    *,
    start: int = 0,
    redact: Redact = hide_credentials,
    locate: Locate = str,
) -> OffloadedMessages:
    """Offload every result that is over its limit, and the largest of every turn that is over its own.

    Messages before `start` stay as they are. Doing it again changes nothing, and the same messages and sink
    give the same blocks, so that a prefix stays what a provider has cached. Whatever goes wrong in the sink,
    or in `locate`, only cuts results: both ends stay, with a note of what is missing and why.

    `redact` replaces the credentials in what is offloaded. `locate` says where a reference is kept: give it
    `FileSession.path_of` for agents that can read the file by themselves.
    """
    offloader = _Offloader(sink, budgets, redact, locate)
    done = OffloadedMessages(list(messages))
    while True:
        settled = {*done.offloaded, *done.cut}
        plan = plan_offload(done.messages, budgets, start=start, holds=offloader.holds, settled=settled)
        if not plan.steps:
            return replace(done, over_budget=plan.over_budget)
        # A cut leaves more than was planned for, so that more results may have to go.
        done = _apply_plan(plan, done, offloader)


def apply(
    plan: OffloadPlan,
    messages: Sequence[Message],
    sink: Sink,
    budgets: Budgets = _DEFAULT,
    *,
    redact: Redact = hide_credentials,
    locate: Locate = str,
) -> OffloadedMessages:
    """Carry out a plan that was made for these messages, and nothing else."""
    done = _apply_plan(plan, OffloadedMessages(list(messages)), _Offloader(sink, budgets, redact, locate))
    return replace(done, over_budget=plan.over_budget)


def offload_result(
    text: str,
    sink: Sink,
    *,
    tool: str = "",
    call_id: str = "",
    budgets: Budgets = _DEFAULT,
    redact: Redact = hide_credentials,
    locate: Locate = str,
) -> ShortenedResult:
    """Offload one result if it is over the limit of its tool; for loops that have results one by one."""
    if len(text) <= budgets.limit_of(tool) or len(text) <= budgets.block_chars:
        return ShortenedResult(text)
    offloader = _Offloader(sink, budgets, redact, locate)
    return offloader.offload(ToolResult(call_id, text), tool, budgets.cut_chars(tool))


def _apply_plan(plan: OffloadPlan, done: OffloadedMessages, offloader: "_Offloader") -> OffloadedMessages:
    messages, offloaded, cut = list(done.messages), dict(done.offloaded), dict(done.cut)
    for step in plan.steps:
        shortened = offloader.offload(step.result, step.tool, step.cut_chars)
        message = messages[step.at.message]
        messages[step.at.message] = message.with_part(step.at.part, replace(step.result, text=shortened.text))
        if isinstance(shortened.outcome, OffloadedResult):
            offloaded[step.at] = shortened.outcome
        elif shortened.outcome is not None:
            cut[step.at] = shortened.outcome
    return OffloadedMessages(messages, offloaded, cut)


@dataclass(frozen=True, slots=True)
class _Offloader:
    sink: Sink
    budgets: Budgets
    redact: Redact
    locate: Locate

    def offload(self, result: ToolResult, tool: str, cut_chars: int) -> ShortenedResult:
        """Write a result to the sink and return its block, or cut it."""
        # Before anything is cut: half a credential is not known for one any more.
        safe = sanitize(result.text, self.redact)
        original = measure(result.text, safe)
        preview_chars = self.budgets.preview_chars
        try:
            reference = self.sink.write(result.call_id, safe, tool=tool)
            where = self.locate(reference)
            block = write_block(original, safe, reference, where=where, preview_chars=preview_chars)
        except Exception as error:  # noqa: BLE001 - sinks are plug-ins, and none of them may end a turn
            reason = _say_why(error)
            left = write_cut(original, safe, reason, cut_chars=cut_chars)
            return ShortenedResult(left, CutResult(tool, result.call_id, original.chars, len(left), reason))
        kept = OffloadedResult(reference, tool, result.call_id, original.chars, original.bytes, len(safe))
        return ShortenedResult(block, kept)

    def holds(self, reference: str) -> bool:
        """Whether the sink keeps something under that reference; one that cannot say does not."""
        try:
            return self.sink.holds(reference)
        except Exception:  # noqa: BLE001 - as above
            return False


def _say_why(error: Exception) -> str:
    """Name an error in words that stay: what a plug-in says may hold anything."""
    words = error.strerror if isinstance(error, OSError) else None
    return one_line(words or type(error).__name__, _REASON_CHARS)
