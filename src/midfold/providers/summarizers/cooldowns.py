"""How long a summariser that failed is left alone, and how failures differ in that."""

from dataclasses import dataclass
from enum import Enum, auto
from math import inf

from midfold.errors import ContextOverflow, SummaryUnavailable
from midfold.providers.summarizers.roles import ModelRef

COOLDOWN_SECONDS = 60.0
TIMEOUT_COOLDOWNS_SECONDS = (60.0, 300.0, 900.0)
"""After the first timeout, the second in a row, and every further one."""
NO_MODEL_COOLDOWN_SECONDS = 600.0
"""Where nobody can be asked, somebody has to change a setting first."""


class Trouble(Enum):
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
        trouble: Trouble,
        reason: str,
        *,
        retry_after: float | None = None,
        output_tokens: int | None = None,
        overflow: ContextOverflow | None = None,
    ) -> None:
        super().__init__(reason)
        self.trouble = trouble
        self.reason = reason
        self.retry_after = retry_after
        self.output_tokens = output_tokens
        """the most output it would have taken, where that was the trouble"""
        self.overflow = overflow
        """what it said of its window, where it was shown too much"""

    def following(self, earlier: "ModelFailed") -> "ModelFailed":
        """Return this failure with the reason of the one before it."""
        return ModelFailed(
            self.trouble,
            f"{earlier.reason}; {self.reason}",
            retry_after=self.retry_after,
            overflow=earlier.overflow or self.overflow,
        )


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
        timeouts += failed.trouble is Trouble.LATE
        return Cooldown(now + _seconds(failed, timeouts), failed.reason, models, timeouts)


NO_COOLDOWN = Cooldown()


def _seconds(failed: ModelFailed, timeouts: int) -> float:
    match failed.trouble:
        case Trouble.MISSING:
            return NO_MODEL_COOLDOWN_SECONDS
        case Trouble.LATE:
            return TIMEOUT_COOLDOWNS_SECONDS[min(timeouts, len(TIMEOUT_COOLDOWNS_SECONDS)) - 1]
        case _:
            asked = failed.retry_after or 0.0
            # What a provider asks for is honoured within reason: it may be wrong, or hostile.
            return min(max(COOLDOWN_SECONDS, asked), TIMEOUT_COOLDOWNS_SECONDS[-1])
