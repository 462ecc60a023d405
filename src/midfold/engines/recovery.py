"""The ladder of answers to a provider's failure: the next step to try, and when to stop.

It does nothing itself. The sender of the request carries each step out, sends it again, and reports to the
ladder when that failed too; so gateway, agent and summariser climb the same one.
"""

from collections.abc import Generator
from enum import StrEnum
from typing import TypeAlias, assert_never

from midfold.late_dataclasses import dataclass, replace
from midfold.tokens import MIN_LIMIT_TOKENS, LearnedLimits, Lesson
from midfold.wire.failures import Failure, FailureKind

MAX_ATTEMPTS = 3
"""Each one is a whole request; what did not help three times will not help a fourth."""
MIN_OUTPUT_TOKENS = 1_024
"""A reply that has less room than this is cut off before it says anything."""

# A step that takes away less than a tenth is as good as none.
_SHRUNK = 0.9
# Counts are off by a few tokens, and templates add some.
_MARGIN_TOKENS = 64
# How much of the limit the prompt may fill after each failure: the first may be a matter of counting.
_FILLS = (0.9, 0.7, 0.5)
# A reply may take this part of a window that the prompt would fill.
_OUTPUT_SHARE = 0.25
# A limit below this part of the window is surprising, and believed when it is stated again.
_SURPRISING = 0.25


class Advice(StrEnum):
    """Why the ladder ends, and the way out."""

    STILL_TOO_LONG = (
        "the conversation is still too long; /new starts another, /compress <topic> keeps one topic of it"
    )
    COMPRESSION_OFF = (
        "the conversation is too long and compression is off; /compress folds it once, /new starts another"
    )
    STILL_TOO_LARGE = "the request is too large; send fewer or smaller files, or start another with /new"
    NO_OUTPUT_FITS = "the output cap cannot be lowered any further; ask for less output, or /compress"
    RATE = "a rate limit or a quota; wait, or use another model"
    ABOVE_RATE = (
        "the request alone is above the rate limit, so waiting cannot help; /compress makes it smaller"
    )
    MALFORMED = "the provider does not accept the history; /new starts another"
    NOT_OURS = "nothing about the length of the conversation can repair this"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that was sent, and how it failed. Sizes are in tokens, by our own count."""

    failure: Failure
    sent_tokens: int
    window_tokens: int
    output_cap: int | None = None
    """the output that the request asked for, where it asked for any"""
    media_bytes: int = 0
    """of images and other blobs in the request"""


@dataclass(frozen=True, slots=True)
class Compress:
    """Fold the conversation to at most `target_tokens`; where a cap is given, ask for that much output."""

    target_tokens: int
    output_cap: int | None = None


@dataclass(frozen=True, slots=True)
class LowerOutputCap:
    """Ask for less output, in this call only: history and window stay as they are."""

    output_cap: int


@dataclass(frozen=True, slots=True)
class OffloadMedia:
    """Put images and other blobs where the request only names them."""


@dataclass(frozen=True, slots=True)
class Repair:
    """Validate the history and repair what breaks the provider's rules."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Hand the provider's own error on, with this advice beside it."""

    advice: Advice


RecoveryStep: TypeAlias = Compress | LowerOutputCap | OffloadMedia | Repair
Ladder: TypeAlias = Generator[RecoveryStep, Attempt, GiveUp]


def recover(attempt: Attempt, *, is_compression_enabled: bool = True) -> Ladder:
    """Yield the steps to try after `attempt`, at most three in all, and return why it ends.

    Carry a step out, send the request, and send the new `Attempt` in here if it failed again; after a
    success, close the generator. A step that changed nothing need not be sent to the provider: send the
    attempt in as it is, and the ladder ends.
    """
    climbed: list[RecoveryStep] = []
    while True:
        step = _choose(attempt, climbed, is_compression_enabled)
        if isinstance(step, GiveUp):
            return step
        climbed.append(step)
        following = yield step
        if len(climbed) == MAX_ATTEMPTS or not _has_shrunk(attempt, following, step):
            return _give_up(following.failure)
        attempt = following


def learn_limit(
    failure: Failure,
    limits: LearnedLimits,
    *,
    endpoint: str,
    model: str,
    configured_tokens: int,
    is_guess: bool = False,
) -> Lesson:
    """Remember the window that a failure states, where its wording is known to state one.

    Output caps, rates, credit and figures that merely stand in a text are never remembered. `is_guess` says
    that nobody knew the window: then a stated one is believed, whatever its size.
    """
    is_window = failure.kind is FailureKind.PROMPT_TOO_LONG and failure.is_limit_learnable
    if not is_window or failure.limit is None:
        return Lesson.REFUSED
    return limits.learn(
        endpoint, model, failure.limit, configured_tokens=configured_tokens, is_guess=is_guess
    )


def _choose(
    attempt: Attempt, climbed: list[RecoveryStep], is_compression_enabled: bool
) -> RecoveryStep | GiveUp:
    attempt = _without_total(attempt)
    step = _choose_freely(attempt, climbed)
    if isinstance(step, Compress) and not is_compression_enabled:
        room = _room_for_output(attempt)
        is_cap = attempt.failure.kind is FailureKind.MAX_TOKENS_TOO_LARGE
        return _lower_to(room, attempt) if is_cap and room > 0 else GiveUp(Advice.COMPRESSION_OFF)
    if isinstance(step, OffloadMedia) and not is_compression_enabled:
        return GiveUp(Advice.STILL_TOO_LARGE)
    return step


def _choose_freely(attempt: Attempt, climbed: list[RecoveryStep]) -> RecoveryStep | GiveUp:
    failure = attempt.failure
    match failure.kind:
        case FailureKind.PROMPT_TOO_LONG:
            return _shorten(attempt, climbed)
        case FailureKind.MAX_TOKENS_TOO_LARGE:
            return _make_room(attempt, climbed)
        case FailureKind.PAYLOAD_TOO_LARGE:
            can_offload = attempt.media_bytes > 0 and OffloadMedia() not in climbed
            return OffloadMedia() if can_offload else _compress(attempt, climbed)
        case FailureKind.RATE_LIMIT:
            return _give_up(failure)
        case FailureKind.OTHER:
            return Repair() if failure.malformed and Repair() not in climbed else _give_up(failure)
        case _:
            assert_never(failure.kind)


def _shorten(attempt: Attempt, climbed: list[RecoveryStep]) -> RecoveryStep:
    """Answer a prompt that is too long; where nothing is counted, the output cap may be what is."""
    is_uncounted = attempt.failure.limit is None and attempt.failure.input_tokens is None
    room = attempt.window_tokens - attempt.sent_tokens - _MARGIN_TOKENS
    has_lowered = any(isinstance(step, LowerOutputCap) for step in climbed)
    if is_uncounted and attempt.output_cap and not has_lowered:
        lower = min(room, attempt.output_cap // 2)
        if lower >= MIN_OUTPUT_TOKENS:
            return LowerOutputCap(lower)
    return _compress(attempt, climbed)


def _without_total(attempt: Attempt) -> Attempt:
    """Distinguish a total from a prompt: some providers state only what prompt and output cap come to."""
    stated, limit, cap = attempt.failure.input_tokens, attempt.failure.limit, attempt.output_cap
    is_prompt = attempt.failure.kind is FailureKind.PROMPT_TOO_LONG
    if not is_prompt or stated is None or limit is None or not cap:
        return attempt
    is_total = abs(attempt.sent_tokens + cap - stated) < abs(attempt.sent_tokens - stated)
    if not is_total or stated - cap >= limit:
        return attempt
    kind = FailureKind.MAX_TOKENS_TOO_LARGE
    return replace(attempt, failure=replace(attempt.failure, kind=kind, input_tokens=stated - cap))


def _make_room(attempt: Attempt, climbed: list[RecoveryStep]) -> RecoveryStep | GiveUp:
    """Answer an output cap that is too large, and fold where it would leave no output to speak of."""
    room = _room_for_output(attempt)
    if room < MIN_OUTPUT_TOKENS and not _is_cap_alone(attempt.failure):
        wanted = min(attempt.output_cap or MIN_OUTPUT_TOKENS, int(_limit(attempt, climbed) * _OUTPUT_SHARE))
        return replace(_compress(attempt, climbed), output_cap=max(1, wanted))
    return _lower_to(room, attempt)


def _lower_to(room: int, attempt: Attempt) -> RecoveryStep | GiveUp:
    cap = room if attempt.output_cap is None else min(room, int(attempt.output_cap * _SHRUNK))
    return LowerOutputCap(cap) if cap > 0 else GiveUp(Advice.NO_OUTPUT_FITS)


def _room_for_output(attempt: Attempt) -> int:
    """Return the output that may be asked for.

    Servers state at times only how long the prompt is at the least, so the larger count holds.
    """
    failure = attempt.failure
    if _is_cap_alone(failure):
        return failure.limit or 0
    sent = max(attempt.sent_tokens, failure.input_tokens or 0)
    return (failure.limit or attempt.window_tokens) - sent - _MARGIN_TOKENS


def _is_cap_alone(failure: Failure) -> bool:
    """Say whether the limit is of the output itself, not of prompt and output together."""
    return failure.limit is not None and failure.input_tokens is None


def _compress(attempt: Attempt, climbed: list[RecoveryStep]) -> Compress:
    """Aim below the limit, in our own count, which may run below the provider's."""
    limit = _limit(attempt, climbed)
    reserved = min(attempt.output_cap or 0, int(limit * _OUTPUT_SHARE))
    fill = _FILLS[min(len(climbed), len(_FILLS) - 1)]
    stated = attempt.failure.input_tokens or attempt.sent_tokens
    scale = min(1.0, attempt.sent_tokens / stated) if stated else 1.0
    target = int((limit - reserved) * fill * scale)
    return Compress(max(1, min(target, int(attempt.sent_tokens * _SHRUNK))))


def _limit(attempt: Attempt, climbed: list[RecoveryStep]) -> int:
    """Return the window to aim for.

    A limit that nobody stated is the window, or what was sent where even that is too long. One that is
    surprisingly small may be a lie, which must not cost the conversation: at first it counts as the
    smallest that is not.
    """
    stated = attempt.failure.limit
    if stated is None or stated < MIN_LIMIT_TOKENS or attempt.failure.kind is FailureKind.PAYLOAD_TOO_LARGE:
        return max(1, min(attempt.window_tokens, attempt.sent_tokens))
    is_repeated = any(isinstance(step, Compress) for step in climbed)
    floor = MIN_LIMIT_TOKENS if is_repeated else int(attempt.window_tokens * _SURPRISING)
    return min(max(stated, floor), attempt.window_tokens)


def _has_shrunk(before: Attempt, after: Attempt, step: RecoveryStep) -> bool:
    """Say whether a step did what it is for; the next one would otherwise be as idle."""
    match step:
        case Compress():
            return after.sent_tokens <= before.sent_tokens * _SHRUNK
        case LowerOutputCap(cap):
            return after.output_cap is not None and after.output_cap <= cap
        case OffloadMedia():
            return after.media_bytes <= before.media_bytes * _SHRUNK
        case Repair():
            return True
        case _:
            assert_never(step)


def _give_up(failure: Failure) -> GiveUp:
    match failure.kind:
        case FailureKind.PROMPT_TOO_LONG:
            return GiveUp(Advice.STILL_TOO_LONG)
        case FailureKind.MAX_TOKENS_TOO_LARGE:
            return GiveUp(Advice.NO_OUTPUT_FITS)
        case FailureKind.PAYLOAD_TOO_LARGE:
            return GiveUp(Advice.STILL_TOO_LARGE)
        case FailureKind.RATE_LIMIT:
            return GiveUp(Advice.ABOVE_RATE if failure.exceeds_rate else Advice.RATE)
        case FailureKind.OTHER:
            return GiveUp(Advice.MALFORMED if failure.malformed else Advice.NOT_OURS)
        case _:
            assert_never(failure.kind)
