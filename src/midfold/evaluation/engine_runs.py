"""A whole conversation as an engine lives it: turn by turn, folded whenever its window fills.

What is left of the probes at the end is the honest figure for long sessions: every fold but the first works
on what an earlier one left.
"""

from collections.abc import Sequence

from midfold.engines import ContextCompressor
from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.probes import Probe, Zone
from midfold.evaluation.tallies import Tally
from midfold.evaluation.texts import CompressedContext, escaped_forms, holds, index_context
from midfold.late_dataclasses import dataclass
from midfold.wire import parse

WINDOW_PART = 0.2
"""The window, as a part of the conversation: small enough for several folds."""
LEAST_WINDOW_TOKENS = 8_000
"""A smaller window holds little but the notes' own frame."""


@dataclass(frozen=True, slots=True)
class EngineRun:
    """The probes that are left at the end of one conversation."""

    conversation: str
    window: int
    folds: int
    tokens_before: int
    tokens_after: int
    must_keep: Tally
    middle: Tally
    missing: tuple[str, ...]
    """must-keep strings that are gone"""


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """All conversations that were folded at least once."""

    conversations: int
    folds: float
    must_keep: float | None
    middle: float | None


def run_engine(conversation: MeasuredConversation, window_part: float = WINDOW_PART) -> EngineRun | None:
    """Replay a conversation through the default engine; `None` where the window never fills."""
    request = conversation.request
    window = max(LEAST_WINDOW_TOKENS, int(conversation.tokens * window_part))
    engine = ContextCompressor(window, model=request.model, prepare_ahead=False)
    cuts = set(conversation.whole_cuts)
    items: list[object] = []
    for index, item in enumerate(request.messages):
        if index in cuts and conversation.messages[index].role == "assistant":
            items = _make_room(engine, items, conversation)
        items.append(item)
    items = _make_room(engine, items, conversation)
    if not engine.compression_count:
        return None
    messages = parse(items, request.dialect)
    context = index_context(messages, None, request.system_text)
    owed = [probe for probe in conversation.probes if probe.must_keep]
    middle = [probe for probe in conversation.probes if probe.zone is Zone.MIDDLE]
    return EngineRun(
        conversation=conversation.name,
        window=window,
        folds=engine.compression_count,
        tokens_before=conversation.tokens,
        tokens_after=conversation.overhead_tokens + sum(map(conversation.count, messages)),
        must_keep=_tally(owed, context),
        middle=_tally(middle, context),
        missing=tuple(probe.answer for probe in owed if not _is_kept(probe, context)),
    )


def summarize_engine(runs: Sequence[EngineRun]) -> EngineFigures | None:
    """Add up the runs."""
    if not runs:
        return None
    return EngineFigures(
        conversations=len(runs),
        folds=sum(run.folds for run in runs) / len(runs),
        must_keep=sum((run.must_keep for run in runs), Tally()).part,
        middle=sum((run.middle for run in runs), Tally()).part,
    )


def _make_room(
    engine: ContextCompressor, items: list[object], conversation: MeasuredConversation
) -> list[object]:
    """Ask the engine, as a host does before each call of its model."""
    request = conversation.request
    if not items or not engine.should_compress_preflight(items, system=request.system, tools=request.tools):
        return items
    return list(engine.compress_result(items).messages)


def _is_kept(probe: Probe, context: CompressedContext) -> bool:
    return holds(context.joined, escaped_forms(probe.answer))


def _tally(probes: Sequence[Probe], context: CompressedContext) -> Tally:
    return Tally(sum(_is_kept(probe, context) for probe in probes), len(probes))
