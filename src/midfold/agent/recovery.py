"""Recovery from a refusal of the provider: the request is made to fit, or the error is raised with advice."""

from midfold.agent.core import Core
from midfold.agent.events import Emit, Level, Notice, Recovering, Topic, Why
from midfold.agent.fold import fold_or_warn
from midfold.agent.model_call import ModelCall, Refused
from midfold.engines import (
    Advice,
    Attempt,
    Compress,
    GiveUp,
    Ladder,
    LowerOutputCap,
    OffloadMedia,
    RecoveryStep,
    Repair,
    recover,
)
from midfold.tokens import next_tier
from midfold.wire.failures import Failure, FailureKind

_QUIET = (Advice.NOT_OURS,)
"""Advice that says nothing beyond the error itself."""


class Recovery:
    """Climbs the ladder of `engines.recover` for one call of the model."""

    def __init__(self, core: Core, call: ModelCall, emit: Emit) -> None:
        self._core = core
        self._call = call
        self._emit = emit
        self._ladder: Ladder | None = None
        self._has_repaired = False

    async def prepare_retry(self, refused: Refused) -> None:
        """Do something about a refusal, or raise its error with the advice that there is."""
        core, call = self._core, self._call
        attempt = Attempt(refused.failure, call.sent_tokens, core.engine.context_length, call.output_cap)
        try:
            if self._ladder is None:
                self._ladder = recover(attempt, is_compression_enabled=core.engine.enabled)
                step = next(self._ladder)
            else:
                step = self._ladder.send(attempt)
            self._learn(refused.failure)
            while not await self._carry_out(step):
                step = self._ladder.send(attempt)
        except StopIteration as end:
            self._give_up(end.value)
            raise refused.error from None

    def _learn(self, failure: Failure) -> None:
        """Take in how large the window is: as the provider states it, or as a guess that is less wrong."""
        core, window = self._core, self._core.engine.context_length
        if core.model.learn(failure, window):
            core.update_engine_model()
        elif failure.kind is FailureKind.PROMPT_TOO_LONG and core.model.window.source == "probe":
            core.update_engine_model(next_tier(min(window, self._call.sent_tokens)) or window)

    async def _carry_out(self, step: RecoveryStep) -> bool:
        """Carry a step of the ladder out; false where it changes nothing."""
        core, call = self._core, self._call
        self._emit(Recovering(step, _describe(step)))
        match step:
            case LowerOutputCap(cap):
                call.output_cap = cap
            case Compress(target, cap):
                call.output_cap = cap or call.output_cap
                is_folded = await fold_or_warn(core, Why.OVERFLOW, self._emit, most_tokens=target)
                call.sent_tokens = core.estimate()
                return is_folded
            case Repair():
                self._has_repaired = not core.is_repaired
                core.is_repaired = True
            case OffloadMedia():
                return False  # nothing here says anything but words
        return True

    def _give_up(self, end: GiveUp) -> None:
        if self._has_repaired:
            # That was not what was wrong, and the prompt cache has the history as it is.
            self._core.is_repaired = False
        if end.advice not in _QUIET:
            text = f"{end.advice.value[0].upper()}{end.advice.value[1:]}."
            self._emit(Notice(Level.WARNING, Topic.RECOVERY, text))


def _describe(step: RecoveryStep) -> str:
    match step:
        case LowerOutputCap(cap):
            return f"The provider has room for {cap:,} tokens of output; asking for that much."
        case Compress(target):
            return f"The request is too long for the model; compressing it to {target:,} tokens."
        case Repair():
            return "The provider does not accept the history as it is; mending it."
        case OffloadMedia():
            return "The request is too large; leaving out images."
