"""The loop of the agent: one turn, from what the user says to the model's last answer.

    begin ─► make room ─► ask the model ─► run the tools it calls ─┐
                ▲              │ calls none                        │
                │              └─► fold where that is due ─► done  │
                └──────────────────────────────────────────────────┘

All that is said is in the store before the next step begins, so a turn may end anywhere and be continued.
Before each call of the model no tool call is open: that is where the conversation may be compressed.
"""

import asyncio
from functools import partial

from midfold.agent.auto_recall import TOLD, recall_for
from midfold.agent.core import Core
from midfold.agent.events import Done, Emit, Level, Notice, Topic, ignore
from midfold.agent.fallback import take_over
from midfold.agent.fold import fold_after_reply, make_room
from midfold.agent.model_call import ModelCall, Refused
from midfold.agent.recovery import Recovery
from midfold.agent.session import commit
from midfold.agent.tool_calls import run_tool_calls
from midfold.agent.user_calls import tell_user_calls
from midfold.errors import MidfoldError, ProviderError, StoreError
from midfold.tokens import TokenCounter
from midfold.wire.apis import Completion, Finish

PLACEHOLDERS = (
    "Credentials in this session were replaced by placeholders when it was stored; the model sees those."
)


class NothingToAnswer(MidfoldError, ValueError):
    """A turn without words of the user needs words that are not answered yet."""

    def __init__(self) -> None:
        super().__init__("there is nothing to answer yet: say something")


class Turn:
    """A turn of an agent; it is run once."""

    def __init__(self, core: Core, inject: str | None = None) -> None:
        """`inject` is read by the model next to the newest request, in this turn only."""
        self._core = core
        self._inject = inject or ""
        self._emit: Emit = ignore
        self._call: ModelCall | None = None

    @property
    def text(self) -> str:
        """The words that have come of the reply that is under way or was the last."""
        return self._call.text if self._call else ""

    async def run(self, prompt: str | None, emit: Emit) -> None:
        """Say `prompt`, or go on without one, until the model is done."""
        core, conversation = self._core, self._core.conversation
        most_steps = core.max_steps
        self._emit = core.retry_notices.emit = emit
        core.injected = self._inject
        try:
            await self._begin(prompt)
            await self._recall(prompt)
            for step in range(1, most_steps + 1):
                core.bring_back_named_tools()
                tokens = await make_room(core, emit)
                self._emit_waiting()
                folds = core.engine.compression_count
                reply = await self._ask(tokens)
                self._warn_of(reply)
                if reply.calls:
                    await run_tool_calls(core, reply, emit)
                    continue
                if core.engine.compression_count == folds:  # else a refusal has just made room
                    await fold_after_reply(core, emit)
                self._emit_waiting()
                emit(Done(reply.text, step))
                return
        except BaseException:
            conversation.look_for_open_calls()
            raise
        finally:
            core.retry_notices.emit = ignore
            core.injected = ""
        emit(
            Notice(Level.WARNING, Topic.STEPS, f"Stopped after {most_steps} calls of the model in one turn.")
        )
        emit(Done(self.text, most_steps))

    async def _begin(self, prompt: str | None) -> None:
        """Store what the user says; a turn without words needs somebody's words to answer."""
        conversation = self._core.conversation
        has_words = prompt is not None and bool(prompt.strip())
        await commit(_open_turn, self._core, prompt if has_words else None)
        if has_words:
            await tell_user_calls(self._core, self._emit)
        if conversation.has_placeholders:
            conversation.has_placeholders = False
            self._emit(Notice(Level.INFO, Topic.REDACTED, PLACEHOLDERS))
        if not has_words and (not conversation.items or conversation.messages[-1].role == "assistant"):
            raise NothingToAnswer

    async def _recall(self, prompt: str | None) -> None:
        """Put what was said earlier and resembles the request beside it, where that is wanted."""
        core, conversation = self._core, self._core.conversation
        if not core.recall_tokens or not prompt:
            return
        count = TokenCounter(core.model.ref.name)
        find = partial(recall_for, tokens=core.recall_tokens, count=count, sink=core.sink)
        try:
            found = await asyncio.to_thread(
                find, prompt, core.store, conversation.id, tuple(conversation.messages)
            )
        except StoreError as error:
            core.notices.add(Topic.RECALL, f"Nothing was recalled: {error}.")
            return
        if found:
            core.injected = f"{core.injected}\n\n{found}" if core.injected else found
            core.notices.tell(Topic.RECALL, TOLD)

    async def _ask(self, tokens: int) -> Completion:
        """Return the reply to a request of so many tokens, stored; a refused request is sent with less."""
        call = self._call = ModelCall(self._core, self._emit, tokens)
        recovery = Recovery(self._core, call, self._emit)
        while True:
            try:
                return await call.send()
            except Refused as refused:
                try:
                    await recovery.prepare_retry(refused)
                except ProviderError as error:
                    if not await take_over(self._core, error, self._emit):
                        raise
                    return await self._ask(self._core.estimate())

    def _emit_waiting(self) -> None:
        for notice in self._core.notices.take():
            self._emit(notice)

    def _warn_of(self, reply: Completion) -> None:
        """Say what is wrong with a reply, if anything is."""
        if reply.finish is Finish.LENGTH:
            text = "The reply was cut off: it reached the output cap."
        elif reply.finish is Finish.REFUSED:
            text = "The model refused to answer."
        elif not (reply.text or reply.calls):
            text = "The model said nothing."
        else:
            return
        self._emit(Notice(Level.WARNING, Topic.REPLY, text))


def _open_turn(core: Core, prompt: str | None) -> None:
    """Store what the user says, behind an answer to every call that a crash left open."""
    conversation = core.conversation
    # Before anything is written: storing words would reopen a session that another process has ended.
    conversation.check_alone()
    conversation.close_open_calls()
    if prompt is None:
        return
    is_first = not conversation.is_stored
    conversation.say("\n\n".join([*core.remarks, prompt]))
    core.remarks.clear()
    if is_first:
        core.try_save_state()  # what was pinned before the first words
    core.try_save_model()
