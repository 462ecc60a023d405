"""Climbs the ladder of recovery for one request: what the provider refuses as too long is made to fit.

Nothing of an answer has reached the client by then. What cannot be made to fit ends with the provider's own
error, byte for byte, and the advice beside it.
"""

import logging

from midfold.concurrency import run_in_thread
from midfold.engines import (
    Advice,
    Attempt,
    Compress,
    Ladder,
    LowerOutputCap,
    OffloadMedia,
    RecoveryStep,
    Repair,
    learn_limit,
    recover,
)
from midfold.gateway.engines import EngineFactory
from midfold.gateway.pipeline import RequestPipeline
from midfold.gateway.session import GatewaySession
from midfold.gateway.settings import UpstreamSettings
from midfold.gateway.turns import ClientTurn, PreparedRequest
from midfold.providers import RelayAnswer
from midfold.wire.failures import Failure, FailureKind, classify

log = logging.getLogger("midfold.gateway")

_OURS = (FailureKind.PROMPT_TOO_LONG, FailureKind.MAX_TOKENS_TOO_LARGE, FailureKind.PAYLOAD_TOO_LARGE)
"""The failures that a shorter request can repair; all others are between the client and its provider."""


class RequestRecovery:
    """One request's way up the ladder."""

    def __init__(
        self,
        pipeline: RequestPipeline,
        engines: EngineFactory,
        turn: ClientTurn,
        session: GatewaySession,
        upstream: UpstreamSettings,
    ) -> None:
        self._pipeline = pipeline
        self._engines = engines
        self._turn = turn
        self._session = session
        self._upstream = upstream
        self._ladder: Ladder | None = None
        self._advice = ""
        self._is_restored = False

    @property
    def has_begun(self) -> bool:
        """Whether a request was changed after a refusal."""
        return self._ladder is not None or self._is_restored

    def noted(self, prepared: PreparedRequest) -> PreparedRequest:
        """Return a request with the advice that there is."""
        return prepared.with_warning(self._advice)

    async def react(self, answer: RelayAnswer, prepared: PreparedRequest) -> PreparedRequest | None:
        """Return the request to send in place of one that was refused; `None` to pass the refusal on."""
        error = (await answer.failure()).error
        failure = classify(error.status, error.body)
        if failure.malformed and prepared.is_edited and not self._is_restored:
            self._is_restored = True
            log.warning(
                "%s: the folded request was refused: %s", self._session.conversation_id[:8], failure.message
            )
            return self._pipeline.restore(self._turn, prepared)
        if failure.kind not in _OURS and self._ladder is None:
            return None
        async with self._session.turnstile:
            return await run_in_thread(self._climb, failure, prepared)

    def _climb(self, failure: Failure, prepared: PreparedRequest) -> PreparedRequest | None:
        attempt = self._attempt(failure, prepared)
        try:
            step = self._next_step(attempt)
            self._learn(failure)
            while (following := self._carry_out(step, prepared)) is None:
                step = self._next_step(attempt)
        except StopIteration as end:
            if end.value.advice is not Advice.NOT_OURS:
                self._advice = _without_commands(end.value.advice)
            return None
        log.info("%s: %s", self._session.conversation_id[:8], following.recovered)
        return following

    def _attempt(self, failure: Failure, prepared: PreparedRequest) -> Attempt:
        engine = self._session.engine
        window = engine.context_length if engine is not None else 0
        return Attempt(failure, prepared.tokens, window, prepared.output_cap)

    def _next_step(self, attempt: Attempt) -> RecoveryStep:
        """Ask the ladder; raises `StopIteration` where it ends."""
        if self._ladder is None:
            engine = self._session.engine
            is_enabled = engine is not None and engine.enabled
            self._ladder = recover(attempt, is_compression_enabled=is_enabled)
            return next(self._ladder)
        return self._ladder.send(attempt)

    def _learn(self, failure: Failure) -> None:
        """Remember the window that the provider states."""
        engine = self._session.engine
        if engine is not None:
            learn_limit(
                failure,
                self._engines.limits,
                endpoint=self._upstream.base_url,
                model=f"{self._upstream.provider}/{self._turn.model}",
                configured_tokens=engine.context_length,
            )

    def _carry_out(self, step: RecoveryStep, prepared: PreparedRequest) -> PreparedRequest | None:
        """Carry a step out; `None` where it changes nothing."""
        match step:
            case LowerOutputCap(cap):
                return self._pipeline.lower_output_cap(self._turn, prepared, cap)
            case Compress(target, cap):
                made = self._pipeline.shorten(self._turn, self._session, self._upstream, prepared, target)
                if made is not None and cap is not None:
                    return self._pipeline.lower_output_cap(self._turn, made, cap)
                return made
            case Repair() | OffloadMedia():
                return None


def _without_commands(advice: Advice) -> str:
    """Return the first half of an advice: the second names commands of the chat."""
    return advice.value.partition(";")[0]
