"""When to compress: tiers of pressure, the approach warning, and the brake on passes that save nothing."""

from enum import IntEnum

from midfold.folding.policy import CompressionPolicy
from midfold.folding.state import CompressionState
from midfold.late_dataclasses import dataclass, replace

APPROACH = 0.85
"""Of the threshold: where the user reads that a compression is near."""
INEFFECTIVE_LIMIT = 2
"""Vain passes in a row after which automatic compression pauses; also the most in `VAIN_WINDOW_TURNS`."""
VAIN_WINDOW_TURNS = 10
SPACING_TURNS = 3
"""From a vain pass to the next: what could not shrink a moment ago would not now. Others wait one turn."""
REOPEN_GROWTH = 1.20
MANY_FOLDS = 2


class Tier(IntEnum):
    """The fill of the window, in the steps at which something happens."""

    CALM = 0
    NOTED = 65
    LARGE = 75
    COMPRESS = 85
    EMERGENCY = 95


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether to compress now, and why or why not."""

    compress: bool
    reason: str
    is_emergency: bool = False


def tier_of(tokens: int, context_length: int) -> Tier:
    """Return the tier of a request; an unknown window is calm."""
    if context_length <= 0:
        return Tier.CALM
    percent = 100 * tokens / context_length
    return max(tier for tier in Tier if percent >= tier)


def decide(tokens: int, policy: CompressionPolicy, state: CompressionState) -> Decision:
    """Say whether a request of `tokens` should be compressed before it is sent.

    The pause holds below the last tier; there, one pass a turn is made all the same.
    """
    if policy.context_length <= 0:
        return Decision(False, "the window is unknown")
    tier = tier_of(tokens, policy.context_length)
    if tier is Tier.EMERGENCY:
        tried = bool(state.vain_turns) and state.vain_turns[-1] == state.turn
        return Decision(not tried, "the window is nearly full", is_emergency=True)
    if tokens < policy.threshold_tokens and tier < Tier.COMPRESS:
        return Decision(False, f"{tokens:,} of {policy.threshold_tokens:,} tokens")
    if is_paused(tokens, state):
        return Decision(False, "automatic compression is paused")
    if _is_too_soon(tier, state):
        return Decision(False, "the last pass was a moment ago")
    return Decision(True, f"{tokens:,} tokens reach the threshold of {policy.threshold_tokens:,}")


def is_paused(tokens: int, state: CompressionState) -> bool:
    """Whether vain passes stopped automatic compression, and the conversation has not grown past it since."""
    recent = [turn for turn in state.vain_turns if turn > state.turn - VAIN_WINDOW_TURNS]
    if len(recent) >= INEFFECTIVE_LIMIT:
        return True
    return state.paused_at_tokens is not None and tokens < state.paused_at_tokens * REOPEN_GROWTH


def _is_too_soon(tier: Tier, state: CompressionState) -> bool:
    """Whether a pass was made in vain a moment ago, or one with success in this very turn."""
    if state.last_pass_turn is None:
        return False
    if state.vain_turns[-1:] == (state.last_pass_turn,):
        return state.turn < state.last_pass_turn + SPACING_TURNS
    return tier < Tier.COMPRESS and state.turn <= state.last_pass_turn


def note_outcome(state: CompressionState, *, effective: bool, is_fold: bool, tokens: int) -> CompressionState:
    """Return the state after a pass that left a request of `tokens`."""
    if effective:
        return replace(
            state,
            last_pass_turn=state.turn,
            count=state.count + 1,
            folds=state.folds + is_fold,
            ineffective=0,
            paused_at_tokens=None,
            vain_turns=(),
        )
    ineffective = state.ineffective + 1
    return replace(
        note_attempt(state),
        ineffective=ineffective,
        paused_at_tokens=tokens if ineffective >= INEFFECTIVE_LIMIT else state.paused_at_tokens,
    )


def note_attempt(state: CompressionState) -> CompressionState:
    """Return the state after a pass that found nothing to work on: tried in vain, yet nothing is dense."""
    recent = tuple(turn for turn in state.vain_turns if turn > state.turn - VAIN_WINDOW_TURNS)
    return replace(state, last_pass_turn=state.turn, vain_turns=(*recent, state.turn))


def reopen(state: CompressionState) -> CompressionState:
    """Lift the pause, as a manual command does."""
    return replace(state, ineffective=0, paused_at_tokens=None, vain_turns=(), last_pass_turn=None)


def warn(
    tokens: int, policy: CompressionPolicy, state: CompressionState
) -> tuple[str | None, CompressionState]:
    """Return the approach warning when it is due, and the state that remembers it.

    It is shown once, and again only after usage dropped below the mark.
    """
    mark = int(policy.threshold_tokens * APPROACH)
    if tokens < mark:
        return None, replace(state, is_warned=False) if state.is_warned else state
    if state.is_warned:
        return None, state
    percent = tokens / policy.threshold_tokens
    figures = f"{tokens:,} of {policy.threshold_tokens:,} tokens"
    words = f"Context at {percent:.0%} of the compression threshold: {figures}"
    return words, replace(state, is_warned=True)


def advise(state: CompressionState) -> str | None:
    """Say how often a conversation was folded, and the ways out, from the second fold on."""
    if state.folds < MANY_FOLDS:
        return None
    return (
        f"This conversation was folded {state.folds} times; accuracy may suffer. Start a new session before "
        "the next fold, or save lasting facts to memory, which folding does not touch."
    )


def pause_notice(state: CompressionState) -> str | None:
    """Say that automatic compression pauses, and the ways out."""
    if state.paused_at_tokens is None:
        return None
    if state.ineffective < INEFFECTIVE_LIMIT:
        return (
            "Automatic compression pauses: the last compression was taken back. It goes on when the "
            "conversation has grown by a fifth, or when you compress by hand."
        )
    return (
        f"Automatic compression pauses: the last {state.ineffective} passes saved too little. "
        "Start a new session, or compress with a focus to choose what stays."
    )
