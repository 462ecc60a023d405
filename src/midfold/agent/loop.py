"""One turn: what the user says, and calls of model and tools until the model has nothing more to do."""

from dataclasses import dataclass

from midfold.agent.core import Core
from midfold.agent.events import Done, Emit, Level, Notice, Topic, ignore
from midfold.agent.fold import fold_after_reply, make_room
from midfold.agent.model_call import ModelCall
from midfold.agent.tool_calls import ToolCalls
from midfold.concurrency import run_in_thread
from midfold.errors import MidfoldError
from midfold.wire.apis import Finish

PLACEHOLDERS = (
    "Credentials in this session were replaced by placeholders when it was stored; the model sees those."
)


class NothingToAnswer(MidfoldError, ValueError):
    """A turn without words of the user needs words that are not answered yet."""

    def __init__(self) -> None:
        super().__init__("there is nothing to answer yet: say something")


@dataclass(slots=True)
class Turn:
    """A turn under way; it is taken once."""

    core: Core
    emit: Emit
    _asking: ModelCall | None = None

    @property
    def text(self) -> str:
        """What came of the reply that is under way or was the last."""
        return self._asking.text if self._asking else ""

    async def take(self, prompt: str | None) -> None:
        """Say `prompt`, or go on without one, until the model is done.

        Before each call nothing is open, so that is where the conversation may be compressed.
        """
        conversation, patience = self.core.conversation, self.core.patience
        patience.emit = self.emit
        try:
            await self._begin(prompt)
            for step in range(1, self.core.limits.max_steps + 1):
                if await self._step(step):
                    return
        except BaseException:
            conversation.look_for_open_calls()
            raise
        finally:
            patience.emit = ignore
        most = self.core.limits.max_steps
        self.emit(Notice(Level.WARNING, Topic.STEPS, f"Stopped after {most} calls of the model in one turn."))
        self.emit(Done(self.text, most))

    async def _begin(self, prompt: str | None) -> None:
        conversation = self.core.conversation
        await conversation.check_alone()
        await conversation.close_open_calls()
        if conversation.has_placeholders:
            conversation.has_placeholders = False
            self.emit(Notice(Level.INFO, Topic.REDACTED, PLACEHOLDERS))
        if prompt is not None and prompt.strip():
            is_first = not conversation.is_stored
            await conversation.say(prompt)
            if is_first:  # what was pinned before the first words
                await run_in_thread(self.core.try_save_state)
        elif not conversation.items or conversation.messages[-1].role == "assistant":
            raise NothingToAnswer

    async def _step(self, number: int) -> bool:
        """Call the model once, and run the tools that it calls; true when it is done."""
        core = self.core
        tokens = await make_room(core, self.emit)
        self._tell()
        folded = core.engine.compression_count
        self._asking = ModelCall(core, self.emit, tokens)
        completion = await self._asking.ask()
        if completion.finish is Finish.LENGTH:
            self._warn("The reply was cut off: it reached the output cap.")
        elif completion.finish is Finish.REFUSED:
            self._warn("The model refused to answer.")
        elif not (completion.text or completion.calls):
            self._warn("The model said nothing.")
        if completion.calls:
            await ToolCalls(core, self.emit).run(completion)
            return False
        if core.engine.compression_count == folded:  # else a refusal has just made room
            await fold_after_reply(core, self.emit)
        self._tell()
        self.emit(Done(completion.text, number))
        return True

    def _tell(self) -> None:
        """Tell what went wrong where nobody listened."""
        for notice in self.core.notices.take():
            self.emit(notice)

    def _warn(self, text: str) -> None:
        self.emit(Notice(Level.WARNING, Topic.REPLY, text))
