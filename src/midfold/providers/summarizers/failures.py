"""Why a model gave no summary, and how long it is left alone after that.

Only the provider's report on an answer is looked at here; its words are judged by the fold.
"""

from enum import Enum, auto
from math import inf

from midfold.errors import (
    ContextOverflow,
    MidfoldError,
    OutputCapTooLarge,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    SummaryUnavailable,
)
from midfold.late_dataclasses import dataclass
from midfold.providers.summarizers.model_ref import ModelRef
from midfold.wire.apis import Completion, Finish

COOLDOWN_SECONDS = 60.0
TIMEOUT_COOLDOWNS_SECONDS = (60.0, 300.0, 900.0)
"""After the first timeout, the second in a row, and every further one."""
NO_MODEL_COOLDOWN_SECONDS = 600.0
"""Where nobody can be asked, somebody has to change a setting first."""
# Statuses below 500 that say "not now" rather than "not like this".
_PASSING = (408, 425)
_ENDINGS = {
    Finish.CALLS: "it called a tool instead of answering",
    Finish.LENGTH: "its answer was cut off at the output cap",
    Finish.REFUSED: "it refused, or a filter did",
    Finish.OVERFLOW: "its window was full before the answer was complete",
    Finish.CUT: "its answer broke off",
}


class FailureCause(Enum):
    """Why there is no summary."""

    MISSING = auto()
    """no such model, no address or no key: nothing was sent"""
    REFUSED = auto()
    """it will not take this request, now or later"""
    BUSY = auto()
    """it might have answered at another time"""
    LATE = auto()
    USELESS = auto()
    """it answered, and the answer is no summary"""


class ModelFailed(Exception):
    """A model gave no summary. `reason` names the model."""

    def __init__(
        self,
        cause: FailureCause,
        reason: str,
        *,
        retry_after: float | None = None,
        output_tokens: int | None = None,
        overflow: ContextOverflow | None = None,
    ) -> None:
        super().__init__(reason)
        self.cause = cause
        self.reason = reason
        self.retry_after = retry_after
        self.output_tokens = output_tokens
        """the most output it would have taken, where that was the cause"""
        self.overflow = overflow
        """what it said of its window, where it was shown too much"""

    def following(self, earlier: "ModelFailed") -> "ModelFailed":
        """Return this failure with the reason of the one before it."""
        return ModelFailed(
            self.cause,
            f"{earlier.reason}; {self.reason}",
            retry_after=self.retry_after,
            overflow=earlier.overflow or self.overflow,
        )


def why_useless(completion: Completion) -> str | None:
    """Return why an answer is no summary, by how it ended and what is in it; `None` where it may be one."""
    finish = Finish.CALLS if completion.calls else completion.finish
    if finish in _ENDINGS:
        return _ENDINGS[finish]
    if completion.text.strip():
        return None
    return "it only thought, and answered nothing" if completion.reasoning else "its answer was empty"


def read_failure(error: MidfoldError, model: str) -> ModelFailed:
    """Judge an error: it may pass, or it will meet every request like this one."""
    reason = str(error) if model in str(error) else f"{model}: {error}"
    if isinstance(error, OutputCapTooLarge):
        return ModelFailed(FailureCause.REFUSED, reason, output_tokens=error.available)
    if isinstance(error, ContextOverflow):
        return ModelFailed(FailureCause.REFUSED, reason, overflow=error)
    if isinstance(error, RateLimited | ProviderUnavailable):
        return ModelFailed(FailureCause.BUSY, reason, retry_after=error.retry_after)
    may_pass = isinstance(error, ProviderError) and error.status in _PASSING
    return ModelFailed(FailureCause.BUSY if may_pass else FailureCause.REFUSED, reason)


@dataclass(frozen=True, slots=True)
class Cooldown:
    """Until when certain models are not asked. It is over when others are to be asked."""

    until: float = -inf
    reason: str = ""
    models: tuple[ModelRef, ...] = ()
    timeouts: int = 0
    """how many in a row"""

    def is_on(self, models: tuple[ModelRef, ...], now: float) -> bool:
        """Whether these models are left alone."""
        return models == self.models and now < self.until

    def check(self, models: tuple[ModelRef, ...], now: float) -> None:
        """Raise `SummaryUnavailable` while it lasts."""
        if self.is_on(models, now):
            left = self.until - now
            raise SummaryUnavailable(f"{self.reason}; not asked again for {left:.0f} s", left)

    def after(self, failed: ModelFailed, models: tuple[ModelRef, ...], now: float) -> "Cooldown":
        """Return the cooldown that a failure brings."""
        timeouts = self.timeouts if models == self.models else 0
        timeouts += failed.cause is FailureCause.LATE
        return Cooldown(now + _seconds(failed, timeouts), failed.reason, models, timeouts)


NO_COOLDOWN = Cooldown()


def _seconds(failed: ModelFailed, timeouts: int) -> float:
    match failed.cause:
        case FailureCause.MISSING:
            return NO_MODEL_COOLDOWN_SECONDS
        case FailureCause.LATE:
            return TIMEOUT_COOLDOWNS_SECONDS[min(timeouts, len(TIMEOUT_COOLDOWNS_SECONDS)) - 1]
        case _:
            asked = failed.retry_after or 0.0
            # What a provider asks for is honoured within reason: it may be wrong, or hostile.
            return min(max(COOLDOWN_SECONDS, asked), TIMEOUT_COOLDOWNS_SECONDS[-1])
