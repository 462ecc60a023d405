"""One call of the model: the request, the reply as it comes, and what it used, stored with it."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing

from midfold.agent.core import Core
from midfold.agent.events import (
    Emit,
    Level,
    ModelCalled,
    Notice,
    ReasoningDelta,
    TextDelta,
    Topic,
)
from midfold.agent.reply_repair import repair_reply
from midfold.agent.session import commit
from midfold.agent.text_calls import read_text_calls
from midfold.concurrency import run_in_thread, shield_until_done
from midfold.errors import ProviderError, StoreError
from midfold.late_dataclasses import replace
from midfold.messages import Message, Text, is_request
from midfold.store import Call
from midfold.tokens import Cost
from midfold.usage import Cause, CostKind
from midfold.wire import Conversion, Request, render
from midfold.wire.apis import Completion, ReasoningChunk, StreamCut, StreamDone, TextChunk, fit_request
from midfold.wire.failures import Failure, FailureKind, classify, judge_reply

STOPPED = "[stopped here by the user]"
BROKEN_OFF = "[the connection broke off here]"


class Refused(Exception):
    """The request failed before a word of the reply came; `error` is what the caller gets in the end."""

    def __init__(self, failure: Failure, error: ProviderError) -> None:
        super().__init__(str(error))
        self.failure = failure
        self.error = error


class ModelCall:
    """A question to the model. One that is refused may be sent again, with what was changed meanwhile."""

    def __init__(self, core: Core, emit: Emit, sent_tokens: int) -> None:
        """`sent_tokens` is what the request takes, estimated."""
        self.sent_tokens = sent_tokens
        self.output_cap = core.max_output or core.model.default_output
        self._core = core
        self._emit = emit
        self._words: list[str] = []

    @property
    def text(self) -> str:
        """The words that have come of the reply."""
        return "".join(self._words)

    async def send(self) -> Completion:
        """Send the conversation as it is now, and return the reply, stored and paid for.

        When it is cancelled, or the line breaks, words that came are stored as what they are: a beginning.
        Raises `Refused` where nothing came, `ProviderError` and `StoreError`.
        """
        core = self._core
        started = time.monotonic()
        try:
            completion = await self._receive()
        except asyncio.CancelledError:
            await self._store_beginning(STOPPED)
            raise
        except ProviderError as error:
            if self.text:
                await self._store_beginning(BROKEN_OFF)
                raise
            raise Refused(_read_failure(error), error) from None
        if core.model.writes_calls_as_text:
            completion = read_text_calls(completion, core.tools)
        completion = await shield_until_done(self._store(completion, time.monotonic() - started))
        silent = judge_reply(
            finish_reasons=[completion.finish_reason],
            usage=completion.raw_usage,
            sent_tokens=self.sent_tokens,
            window_tokens=core.engine.context_length,
        )
        if silent is not None and not (completion.text or completion.calls):
            raise Refused(silent.failure, ProviderError(str(silent.failure.message), model=core.model.name))
        if silent is not None:
            self._warn(f"The reply may not have seen everything: {silent.sign.value}.", Topic.REPLY)
        return completion

    async def _store(self, completion: Completion, seconds: float) -> Completion:
        """Store a reply in a form that can be sent back, and what it used."""
        core, conversation = self._core, self._core.conversation
        reply, call = completion, self._make_call(completion, seconds)
        items: Sequence[object] = ()
        if completion.text or completion.calls:
            reply = repair_reply(
                completion,
                conversation.dialect,
                used_ids=conversation.call_ids() if completion.calls else (),
                tools=core.tools,
            )
            items = reply.items
            core.read_cache.admit(reply.messages, conversation.dialect)
        reason = completion.finish_reason or completion.finish.value
        problem = await run_in_thread(conversation.add_reply, items, call, finish_reason=reason)
        self._report_usage(completion, call, seconds, problem)
        return reply

    async def _receive(self) -> Completion:
        self._words.clear()
        core = self._core
        async with aclosing(core.model.client.stream(self._request())) as events:
            async for event in events:
                match event:
                    case TextChunk(text):
                        self._words.append(text)
                        self._emit(TextDelta(text))
                    case ReasoningChunk(text):
                        self._emit(ReasoningDelta(text))
                    case StreamCut(partial):
                        await self._record_beginning(partial)
                    case StreamDone(completion):
                        return completion
        raise ProviderError("the stream ended without a reply", model=core.model.name)

    def _request(self) -> Request:
        core, conversation = self._core, self._core.conversation
        request = Request(
            conversation.dialect,
            [],
            system=conversation.system,
            tools=list(core.schemas) or None,
            model=core.model.name,
            max_output=self.output_cap,
        )
        # Breakpoints are set in the dialect that is sent: another knows none.
        request = fit_request(request, core.model.dialect)
        if core.is_repaired or conversation.dialect != core.model.dialect:
            request = _add_messages(request, conversation.convert(core.model.dialect))
        else:
            request = replace(request, messages=conversation.items)
        messages, system = core.cache.mark(
            self._inject(request.messages),
            request.system if isinstance(request.system, str | list) else None,
            request.tools,
            folds=core.engine.compression_count,
        )
        return replace(request, messages=messages, system=system)

    def _inject(self, items: list[object]) -> list[object]:
        """Put the words of this turn next to the newest request."""
        core = self._core
        if not core.injected:
            return items
        messages = core.read_cache.read(items, core.model.dialect)
        newest = next((at for at in reversed(range(len(messages))) if is_request(messages[at])), None)
        if newest is None:
            return items
        request = messages[newest]
        request = request.with_part(len(request.parts), Text(core.injected))
        return [*items[:newest], *render([request], core.model.dialect), *items[newest + 1 :]]

    async def _store_beginning(self, why: str) -> None:
        """Store unfinished words, and why they are: nobody is to take them for an answer."""
        if self.text.strip():
            beginning = Message("assistant", (Text(f"{self.text.rstrip()}\n\n{why}"),))
            conversation = self._core.conversation
            await commit(conversation.append, conversation.render([beginning]), finish_reason="incomplete")

    def _report_usage(
        self, completion: Completion, call: Call, seconds: float, problem: StoreError | None
    ) -> None:
        """Report the usage of a call to the engine and the host."""
        core = self._core
        if completion.raw_usage is not None:
            core.engine.update_from_response(completion.usage)
            core.model.note_success(completion.usage.prompt_tokens)
        self._warn_unrecorded(problem)
        core.tokens = completion.usage.prompt_tokens or self.sent_tokens
        self._emit(
            ModelCalled(
                model=core.model.ref.name,
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
        """Record what a reply used that broke off."""
        call = self._make_call(partial, 0.0)
        self._warn_unrecorded(await commit(self._core.conversation.add_reply, (), call, finish_reason=None))

    def _make_call(self, completion: Completion, seconds: float) -> Call:
        """Read the usage of a reply, and what it says about the prompt cache."""
        core = self._core
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
            self._emit(Notice(Level.INFO, Topic.CACHE, text))
        return core.model.make_call(completion, facts)

    def _warn_unrecorded(self, problem: StoreError | None) -> None:
        if problem is not None:
            self._warn(f"The usage of the call could not be recorded: {problem}", Topic.STORE)

    def _warn(self, text: str, topic: Topic) -> None:
        self._emit(Notice(Level.WARNING, topic, text))


def _add_messages(request: Request, converted: Conversion) -> Request:
    """Add messages to a request that holds the system prompt, in its own way or as a message."""
    systems = [text for text in (request.system_text, converted.system) if text]
    return replace(
        request,
        messages=[*request.messages, *converted.messages],
        system="\n\n".join(systems) if systems else request.system,
    )


def _read_failure(error: ProviderError) -> Failure:
    if error.status is None and not error.body:
        return Failure(FailureKind.OTHER, error.message)
    return classify(error.status, error.body)
