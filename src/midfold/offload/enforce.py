"""Puts into effect what was planned: long results go to a sink, or are cut where that fails."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from midfold.messages import Location, Message, ToolResult
from midfold.offload.blocks import measure, write_block, write_cut
from midfold.offload.budgets import Budgets
from midfold.offload.plan import Plan, plan_offload
from midfold.offload.sanitize import sanitize
from midfold.ports import Sink
from midfold.redact import redact as hide_credentials
from midfold.summaries.tool_calls import one_line

Redact: TypeAlias = Callable[[str], str]
Locate: TypeAlias = Callable[[str], str]
"""Says where the text with a reference is kept; the reference itself where nothing else reads it."""

_DEFAULT = Budgets()
_REASON_CHARS = 120


@dataclass(frozen=True, slots=True)
class Persisted:
    """A result that is kept under `reference`; `kept_chars` differ where credentials were replaced."""

    reference: str
    tool: str
    call_id: str
    chars: int
    bytes: int
    kept_chars: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A result of which only `left_chars` are left, as the sink failed for `reason`."""

    tool: str
    call_id: str
    chars: int
    left_chars: int
    reason: str


@dataclass(frozen=True, slots=True)
class Shortened:
    """A result as it enters the context, and what was done to it; `None` where nothing was."""

    text: str
    what: Persisted | Cut | None = None


@dataclass(frozen=True, slots=True)
class Offloaded:
    """Messages whose results keep to their limits, and what was done to which.

    `over_budget` counts turns that are still too large, of results too small for a block to be shorter.
    """

    messages: list[Message]
    persisted: dict[Location, Persisted] = field(default_factory=dict)
    cut: dict[Location, Cut] = field(default_factory=dict)
    over_budget: int = 0

    @property
    def is_changed(self) -> bool:
        return bool(self.persisted or self.cut)


def enforce(
    messages: Sequence[Message],
    sink: Sink,
    budgets: Budgets = _DEFAULT,
    *,
    start: int = 0,
    redact: Redact = hide_credentials,
    locate: Locate = str,
) -> Offloaded:
    """Put aside every result that is over its limit, and the largest of every turn that is over its own.

    Messages before `start` stay as they are. Doing it again changes nothing, and the same messages and sink
    give the same blocks, so that a prefix stays what a provider has cached. Whatever goes wrong in the sink,
    or in `locate`, only cuts results: both ends stay, with a note of what is missing and why.

    `redact` replaces the credentials in what is put aside. `locate` says where a reference is kept: give it
    `FileSession.path_of` for agents that can read the file by themselves.
    """
    keeper = _Keeper(sink, budgets, redact, locate)
    done = Offloaded(list(messages))
    while True:
        settled = {*done.persisted, *done.cut}
        plan = plan_offload(done.messages, budgets, start=start, holds=keeper.holds, settled=settled)
        if not plan.steps:
            return replace(done, over_budget=plan.over_budget)
        # A cut leaves more than was planned for, so that more results may have to go.
        done = _carry_out(plan, done, keeper)


def apply(
    plan: Plan,
    messages: Sequence[Message],
    sink: Sink,
    budgets: Budgets = _DEFAULT,
    *,
    redact: Redact = hide_credentials,
    locate: Locate = str,
) -> Offloaded:
    """Carry out a plan that was made for these messages, and nothing else."""
    done = _carry_out(plan, Offloaded(list(messages)), _Keeper(sink, budgets, redact, locate))
    return replace(done, over_budget=plan.over_budget)


def persist_result(
    text: str,
    sink: Sink,
    *,
    tool: str = "",
    call_id: str = "",
    budgets: Budgets = _DEFAULT,
    redact: Redact = hide_credentials,
    locate: Locate = str,
) -> Shortened:
    """Put one result aside if it is over the limit of its tool; for loops that have results one by one."""
    if len(text) <= budgets.limit_of(tool) or len(text) <= budgets.block_chars:
        return Shortened(text)
    keeper = _Keeper(sink, budgets, redact, locate)
    return keeper.put_aside(ToolResult(call_id, text), tool, budgets.cut_chars(tool))


def _carry_out(plan: Plan, done: Offloaded, keeper: "_Keeper") -> Offloaded:
    messages, persisted, cut = list(done.messages), dict(done.persisted), dict(done.cut)
    for step in plan.steps:
        shortened = keeper.put_aside(step.result, step.tool, step.cut_chars)
        message = messages[step.at.message]
        messages[step.at.message] = message.with_part(step.at.part, replace(step.result, text=shortened.text))
        if isinstance(shortened.what, Persisted):
            persisted[step.at] = shortened.what
        elif shortened.what is not None:
            cut[step.at] = shortened.what
    return Offloaded(messages, persisted, cut)


@dataclass(frozen=True, slots=True)
class _Keeper:
    sink: Sink
    budgets: Budgets
    redact: Redact
    locate: Locate

    def put_aside(self, result: ToolResult, tool: str, cut_chars: int) -> Shortened:
        """Keep a result and write its block, or cut it."""
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
            return Shortened(left, Cut(tool, result.call_id, original.chars, len(left), reason))
        kept = Persisted(reference, tool, result.call_id, original.chars, original.bytes, len(safe))
        return Shortened(block, kept)

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
