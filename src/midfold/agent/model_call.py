"""One call of the model: the request, the reply as it comes, what it used, and what follows a refusal."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from midfold.agent.core import Core
from midfold.agent.events import (
    Emit,
    Level,
    ModelCalled,
    Notice,
    ReasoningDelta,
    Recovering,
    TextDelta,
    Topic,
    Why,
)
from midfold.agent.fold import fold_or_warn
from midfold.agent.reply_repair import repair_reply
from midfold.concurrency import shield_until_done
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
from midfold.errors import ProviderError, StoreError
from midfold.messages import Message, Text
from midfold.store import Call
from midfold.tokens import Cost, next_tier
from midfold.usage import Cause, CostKind
from midfold.wire import Request, convert
from midfold.wire.apis import Completion, ReasoningChunk, StreamCut, StreamDone, TextChunk, fit_request
from midfold.wire.failures import Failure, FailureKind, classify, judge_reply

STOPPED = "[stopped here by the user]"
BROKEN_OFF = "[the connection broke off here]"

_QUIET = (Advice.NOT_OURS,)
"""Advice that says nothing beyond the error itself."""


class Refused(Exception):
    """The request failed before a word of the reply came; `error` is what the caller gets in the end."""

    def __init__(self, failure: Failure, error: ProviderError) -> None:
        super().__init__(str(error))
        self.failure = failure
        self.error = error


@dataclass(slots=True)
class ModelCall:
    """A question to the model, repeated with less where the provider refuses it."""

    core: Core
    emit: Emit
    sent_tokens: int
    """what the request takes, estimated"""
    _words: list[str] = field(default_factory=list)
    _output_cap: int | None = None
    _has_repaired: bool = False

    @property
    def text(self) -> str:
        """The words that have come of the reply."""
        return "".join(self._words)

    async def ask(self) -> Completion:
        """Return the reply, stored and paid for; raises `ProviderError` and `StoreError`.

        When it is cancelled, or the line breaks, words that came are stored as what they are: a beginning.
        """
        self._output_cap = self.core.limits.max_output or self.core.live.default_output
        ladder: Ladder | None = None
        while True:
            try:
                completion = await self._stream()
            except Refused as refused:
                ladder = await self._climb(ladder, refused)
            else:
                if ladder is not None:
                    ladder.close()
                return completion

    async def _stream(self) -> Completion:
        """Send the request as it is now, and store what comes."""
        core = self.core
        started = time.monotonic()
        try:
            completion = await self._receive()
        except asyncio.CancelledError:
            await self._keep_beginning(STOPPED)
            raise
        except ProviderError as error:
            if self.text:
                await self._keep_beginning(BROKEN_OFF)
                raise
            raise Refused(_read_failure(error), error) from None
        completion = await shield_until_done(self._keep(completion, time.monotonic() - started))
        silent = judge_reply(
            finish_reasons=[completion.finish_reason],
            usage=completion.raw_usage,
            sent_tokens=self.sent_tokens,
            window_tokens=core.engine.context_length,
        )
        if silent is not None and not (completion.text or completion.calls):
            raise Refused(silent.failure, ProviderError(str(silent.failure.message), model=core.live.name))
        if silent is not None:
            self._warn(f"The reply may not have seen everything: {silent.sign.value}.", Topic.REPLY)
        return completion

    async def _keep(self, completion: Completion, seconds: float) -> Completion:
        """Store a reply, in a form that can be sent back, and then put down what it used."""
        core, conversation = self.core, self.core.conversation
        kept, call = completion, self._make_call(completion, seconds)
        items: Sequence[object] = ()
        if completion.text or completion.calls:
            kept = repair_reply(
                completion,
                conversation.dialect,
                used_ids=conversation.call_ids() if completion.calls else (),
                tools=core.tools,
            )
            items = kept.items
            core.read_cache.admit(kept.messages, conversation.dialect)
        reason = completion.finish_reason or completion.finish.value
        problem = await conversation.keep_reply(items, call, finish_reason=reason)
        self._settle(completion, call, seconds, problem)
        return kept

    async def _receive(self) -> Completion:
        self._words.clear()
        core = self.core
        async with aclosing(core.live.model.stream(self._request())) as events:
            async for event in events:
                match event:
                    case TextChunk(text):
                        self._words.append(text)
                        self.emit(TextDelta(text))
                    case ReasoningChunk(text):
                        self.emit(ReasoningDelta(text))
                    case StreamCut(partial):
                        await self._record_beginning(partial)
                    case StreamDone(completion):
                        return completion
        raise ProviderError("the stream ended without a reply", model=core.live.name)

    def _request(self) -> Request:
        core, conversation = self.core, self.core.conversation
        items: list[object] = conversation.items
        if core.is_repaired:
            items = convert(conversation.messages, conversation.dialect).messages
        request = core.live.request(
            items,
            conversation.dialect,
            system=conversation.system,
            tools=core.schemas,
            max_output=self._output_cap,
        )
        # Only what is spelled as it is sent can be marked: another spelling knows no breakpoints.
        request = fit_request(request, core.live.dialect)
        messages, system = core.cache.mark(
            request.messages,
            request.system if isinstance(request.system, str | list) else None,
            request.tools,
            folds=core.engine.compression_count,
        )
        return replace(request, messages=messages, system=system)

    async def _keep_beginning(self, why: str) -> None:
        """Store words that were not finished, saying so: nobody is to take them for an answer."""
        if self.text.strip():
            beginning = Message("assistant", (Text(f"{self.text.rstrip()}\n\n{why}"),))
            conversation = self.core.conversation
            await conversation.append(conversation.spell([beginning]), finish_reason="incomplete")

    def _settle(self, completion: Completion, call: Call, seconds: float, problem: StoreError | None) -> None:
        """Let the engine know what a call used, and everybody who watches."""
        core = self.core
        if completion.raw_usage is not None:
            core.engine.update_from_response(completion.usage)
        self._tell_of_books(problem)
        core.tokens = completion.usage.prompt_tokens or self.sent_tokens
        self.emit(
            ModelCalled(
                model=core.live.ref.name,
                usage=call.usage,
                cost=Cost(
                    call.cost, ("tokens without a price",) if call.cost_kind == CostKind.PARTIAL else ()
                ),
                seconds=seconds,
                tokens=core.tokens,
                window_tokens=core.engine.context_length,
                threshold_tokens=core.engine.threshold_tokens,
            )
        )

    async def _record_beginning(self, partial: Completion) -> None:
        """Put down what a reply used that broke off."""
        call = self._make_call(partial, 0.0)
        self._tell_of_books(await self.core.conversation.keep_reply((), call, finish_reason=None))

    def _make_call(self, completion: Completion, seconds: float) -> Call:
        """Read what a reply used, and what it says about the prompt cache."""
        core = self.core
        bust = core.cache.observe(completion.usage)
        facts = {
            "seconds": round(seconds, 3),
            **({"removed_tokens": core.removed_tokens} if core.removed_tokens else {}),
            **({"cache_bust": str(bust.cause)} if bust else {}),
        }
        core.removed_tokens = 0
        if bust:
            advice = f"; {core.cache.advice}" if bust.cause is Cause.EXPIRED and core.cache.advice else ""
            text = f"The prompt cache went cold: {bust}{advice}."
            self.emit(Notice(Level.INFO, Topic.CACHE, text))
        return core.live.make_call(completion, facts)

    def _tell_of_books(self, problem: StoreError | None) -> None:
        if problem is not None:
            self._warn(f"What the call used could not be recorded: {problem}", Topic.STORE)

    async def _climb(self, ladder: Ladder | None, refused: Refused) -> Ladder:
        """Do something about a refusal, or raise it with the advice that there is."""
        core = self.core
        window = core.engine.context_length
        attempt = Attempt(refused.failure, self.sent_tokens, window, self._output_cap)
        try:
            if ladder is None:
                ladder = recover(attempt, is_compression_enabled=core.engine.enabled)
                step = next(ladder)
            else:
                step = ladder.send(attempt)
            self._learn(refused.failure)
            while not await self._carry_out(step):
                step = ladder.send(attempt)
        except StopIteration as end:
            self._take_back_repair()
            self._advise(end.value)
            raise refused.error from None
        return ladder

    def _learn(self, failure: Failure) -> None:
        """Take in how large the window is: as the provider states it, or as a guess that is less wrong."""
        core, window = self.core, self.core.engine.context_length
        if core.live.learn(failure, window):
            core.tell_model()
        elif failure.kind is FailureKind.PROMPT_TOO_LONG and core.live.window.source == "probe":
            lower = next_tier(min(window, self.sent_tokens))
            core.tell_model(lower or window)

    async def _carry_out(self, step: RecoveryStep) -> bool:
        """Carry a step of the ladder out; false where it changes nothing."""
        self.emit(Recovering(step, _describe(step)))
        match step:
            case LowerOutputCap(cap):
                self._output_cap = cap
            case Compress(target, cap):
                self._output_cap = cap or self._output_cap
                is_folded = await fold_or_warn(self.core, Why.OVERFLOW, self.emit, most_tokens=target)
                self.sent_tokens = self.core.estimate()
                return is_folded
            case Repair():
                self._has_repaired = not self.core.is_repaired
                self.core.is_repaired = True
            case OffloadMedia():
                return False  # nothing here says anything but words
        return True

    def _take_back_repair(self) -> None:
        """Spell the history as it is again: that was not what was wrong, and the prompt cache has it so."""
        if self._has_repaired:
            self.core.is_repaired = False

    def _advise(self, end: GiveUp) -> None:
        if end.advice not in _QUIET:
            self._warn(f"{end.advice.value[0].upper()}{end.advice.value[1:]}.", Topic.RECOVERY)

    def _warn(self, text: str, topic: Topic) -> None:
        self.emit(Notice(Level.WARNING, topic, text))


def _read_failure(error: ProviderError) -> Failure:
    if error.status is None and not error.body:
        return Failure(FailureKind.OTHER, error.message)
    return classify(error.status, error.body)


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
