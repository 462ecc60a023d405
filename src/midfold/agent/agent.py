"""The agent: a model with tools, whose conversation never outgrows its window and is never lost."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing, suppress
from functools import partial
from types import TracebackType
from typing import Self, TypeVar, Unpack

from midfold.agent.core import Core
from midfold.agent.events import Emit, Event, Interrupted, Why, ignore
from midfold.agent.fold import correct_notes, fold, switch_model, unchanged, undo_fold
from midfold.agent.loop import Turn
from midfold.agent.memory import Memory
from midfold.agent.reports import (
    Preview,
    Spending,
    Status,
    report_preview,
    report_spending,
    report_status,
)
from midfold.agent.runner import Runner, pass_on_cancellation
from midfold.agent.setup import Options, build, main_model, open_agent_store, options_from, refer
from midfold.agent.tools.registry import Tool
from midfold.agent.user_calls import attach, run_own_command
from midfold.concurrency import LoopClosed, LoopThread, run_in_thread
from midfold.config import Settings
from midfold.errors import ConfigError, StoreError
from midfold.folding import Compression, list_notes, list_rules
from midfold.messages import Message
from midfold.providers.summarizers import ModelRef
from midfold.store import Store
from midfold.summaries import Note, NoteChange, Rule
from midfold.tokens import Breakdown

_T = TypeVar("_T")

INTERRUPTED = "interrupted"
MAX_PIN_CHARS = 2_000


class Agent:
    """A model with tools: `with Agent("openai/gpt-5-mini") as agent: ...`; `Options` says what else there is.

    It is used in one way: blocking, with an event loop in a thread of its own, or awaited, always in the same
    event loop. The methods without an awaited form look, or write a row, and serve both. One run or
    compression at a time; whatever would disturb it raises `AgentBusy`.
    """

    def __init__(self, model: str | ModelRef, **options: Unpack[Options]) -> None:
        """Make an agent. The store is opened; the network is not touched before the first prompt.

        Raises `ConfigError`, `EngineError`, `ExtraMissing` and `StoreError`.
        """
        self._open(model, options, open_agent_store(options))

    @classmethod
    def from_settings(cls, settings: Settings, **options: Unpack[Options]) -> Self:
        """Make an agent from the settings; options win. Raises `ConfigError` if no model is set."""
        model = main_model(settings)
        agent = cls.__new__(cls)
        agent._open(model, {**options_from(settings), **options}, open_agent_store(options, settings))
        return agent

    def _open(self, model: str | ModelRef, options: Options, store: Store) -> None:
        self._owns_store = options.get("store") is not store
        self._owns_transport = "transport" not in options
        self._runner = Runner()
        self._thread: LoopThread | None = None
        self._is_closed = False
        try:
            self._core: Core = build(model, options, store)
        except BaseException:
            if self._owns_store:
                store.close()
            raise

    # A turn

    def run(self, prompt: str | None = None, *, inject: str | None = None) -> Iterator[Event]:
        """Send `prompt`, and yield events until the model is done; the last one is `Done`.

        Without a prompt it goes on where the session stopped. The model reads `inject` next to the newest
        request, in this run only; it is never stored. Raises `ProviderError`, `StillTooLarge` and
        `StoreError`. However it ends, by an error, `interrupt`, Ctrl-C or a caller that asks for no more, the
        session is whole: what was begun is stored as what it is.
        """
        batches = self._batches(prompt, inject)
        try:
            while batch := self._wait(anext(batches, None)):
                yield from batch
        except LoopClosed:
            return  # the agent was closed meanwhile, and has seen to everything
        finally:
            with suppress(LoopClosed):
                self._wait(batches.aclose())

    async def arun(
        self, prompt: str | None = None, *, inject: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """The async form of `run`."""
        async with aclosing(self._batches(prompt, inject)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event

    def interrupt(self) -> bool:
        """Stop the current work, from any thread or signal handler; a run ends with `Interrupted`."""
        return self._runner.interrupt()

    async def _batches(self, prompt: str | None, inject: str | None) -> AsyncGenerator[list[Event], None]:
        turn = Turn(self._core, inject)
        try:
            async with aclosing(self._runner.events(partial(turn.run, prompt))) as batches:
                async for batch in batches:
                    yield batch
        except asyncio.CancelledError:
            pass_on_cancellation()
            yield [Interrupted(turn.text)]

    # Folding

    def compress(
        self, focus: str | None = None, *, keep_last: int | None = None, on_event: Emit = ignore
    ) -> Compression[object]:
        """Fold now, whatever the threshold, and return the result; see `acompress`."""
        return self._wait(self.acompress(focus, keep_last=keep_last, on_event=on_event))

    async def acompress(
        self, focus: str | None = None, *, keep_last: int | None = None, on_event: Emit = ignore
    ) -> Compression[object]:
        """Fold now: `focus` gets most of the summary; `keep_last` exchanges stay.

        `on_event` receives the events meanwhile. Raises `StoreError`. An interrupted one changes nothing.
        """
        work = partial(fold, self._core, Why.COMMAND, focus=focus, keep_last=keep_last)
        try:
            return await self._runner.perform(work, on_event)
        except asyncio.CancelledError:
            pass_on_cancellation()
            return unchanged(self._core, INTERRUPTED)

    def preview(self, focus: str | None = None, *, keep_last: int | None = None) -> Preview:
        """Return what `compress` would do, without a model and without a change."""
        self._runner.check()
        return report_preview(self._core, focus, keep_last)

    def undo(self) -> bool:
        """Undo the newest fold of the conversation; false if there is none. Raises `StoreError`."""
        self._runner.check()
        return undo_fold(self._core)

    def notes(self) -> tuple[Note, ...]:
        """List the numbered notes of the folds; none before the first fold."""
        return list_notes(self.messages)

    def correct_notes(self, change: NoteChange) -> tuple[Note, ...]:
        """Correct the notes now and for all later folds, and return them; `undo` reverts it.

        Raises `NoteNotFound`, `ConfigError` and `StoreError`.
        """
        self._runner.check()
        correct_notes(self._core, change)
        return self.notes()

    @property
    def pins(self) -> tuple[str, ...]:
        """The pinned sentences: every fold keeps them word for word."""
        return self._core.engine.pins

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules found in the user's messages: a fold keeps them like pins."""
        return list_rules(self.messages, self._core.engine.state)

    def pin(self, text: str) -> None:
        """Keep a sentence word for word through every fold of this conversation.

        Raises `StoreError`, `EngineUnable` for an engine without pins, and `ConfigError` if it is too long.
        """
        self._runner.check()
        if len(text) > MAX_PIN_CHARS:
            raise ConfigError("pin", f"{len(text):,} characters", hint=f"at most {MAX_PIN_CHARS:,}")
        self._change_pins(self._core.engine.pin, text)

    def unpin(self, text: str) -> bool:
        """Unpin a sentence; false if it was a rule that was found, which is dropped, too."""
        self._runner.check()
        was_pinned = text.strip() in self.pins
        self._change_pins(self._core.engine.unpin, text)
        return was_pinned

    def attach(self, path: str) -> str:
        """Attach a file to the next prompt and return its name; raises `ToolFailed`."""
        self._runner.check()
        return attach(self._core, path)

    def run_command(self, command: str) -> str:
        """Run a command for the user; see `arun_command`."""
        return self._wait(self.arun_command(command))

    async def arun_command(self, command: str) -> str:
        """Run a command for the user, without asking; the model reads its output with the next prompt.

        Raises `ToolFailed` for an agent without the tool `terminal`.
        """
        try:
            return await self._runner.perform(partial(run_own_command, self._core, command), ignore)
        except asyncio.CancelledError:
            pass_on_cancellation()
            return ""

    # Edits of files

    def undo_edit(self, path: str | None = None, *, force: bool = False) -> str:
        """Undo the newest edit of this conversation, or of one file; return its name.

        The model is told with the next prompt. Raises `NoEditToUndo`; `FileChangedSince` where the file is
        not as the edit left it, unless forced; and `ToolFailed` where it cannot be written.
        """
        self._runner.check()
        core = self._core
        name = core.workspace.name(core.edits.undo(path, force=force).path)
        core.remarks.append(f"[The user took back the newest edit of {name}: the file is as it was before.]")
        return name

    def file_changes(self) -> list[str]:
        """Describe what all edits of this conversation changed: a headline and a diff for each file."""
        return self._core.edits.changes()

    # The model

    def set_model(
        self,
        name: str | ModelRef,
        *,
        base_url: str | None = None,
        context_length: int | None = None,
        on_event: Emit = ignore,
    ) -> bool:
        """Switch to another model; see `aset_model`."""
        work = self.aset_model(name, base_url=base_url, context_length=context_length, on_event=on_event)
        return self._wait(work)

    async def aset_model(
        self,
        name: str | ModelRef,
        *,
        base_url: str | None = None,
        context_length: int | None = None,
        on_event: Emit = ignore,
    ) -> bool:
        """Switch to another model; if its window is too small, the conversation is folded first.

        Raises `ConfigError`, `StillTooLarge` and `StoreError`; then, and when it is interrupted, which is
        false, the old model stays.
        """
        core = self._core
        model = await run_in_thread(
            core.model.open_other,
            name if isinstance(name, ModelRef) else refer(name, base_url, core.model),
            transport=core.transport,
            retries=core.retry_notices.retries,
            explicit_window=context_length,
        )
        try:
            await self._runner.perform(partial(switch_model, core, model), on_event)
        except asyncio.CancelledError:
            pass_on_cancellation()
            return False
        return True

    # Sessions

    def new_session(self) -> str:
        """End this session and start another with a new system prompt; return its id."""
        self._runner.check()
        self._core.conversation.end()
        self._core.begin()
        return self.session_id

    def resume(self, session_id: str) -> Status:
        """Continue another session, at the tip of its conversation; raises `SessionNotFound`."""
        self._runner.check()
        if self._core.store.get_compression_tip(session_id) != self.session_id:
            self._core.conversation.end()
        self._core.resume(session_id)
        return self.status()

    @property
    def session_id(self) -> str:
        """The current session; a fold starts a new one in the same conversation."""
        return self._core.conversation.id

    @property
    def messages(self) -> list[Message]:
        """The conversation as the model sees it."""
        return self._core.conversation.messages

    @property
    def system(self) -> str:
        """The system prompt, as it was written at the start of the session."""
        return self._core.conversation.system

    @property
    def store(self) -> Store:
        """The session store: lists, searches and reports usage."""
        return self._core.store

    @property
    def memory(self) -> Memory:
        """The memory that outlives sessions."""
        return self._core.memory

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that the model may call."""
        return tuple(self._core.tools.values())

    # Reports

    def status(self) -> Status:
        """Report the session, the model, the fill of the window and the work under way."""
        # While a run is under way the engine is at work in another thread, and is not to be disturbed.
        core = self._core
        return report_status(core, core.tokens if self._runner.is_busy else core.estimate())

    def context(self) -> Breakdown:
        """Report the content of the window by section."""
        return self._core.break_down()

    def usage(self) -> Spending:
        """Report usage and cost."""
        return report_spending(self._core)

    # The end

    def close(self) -> None:
        """Stop the current work, end the session, and close everything; the session can be resumed."""
        if not self._is_closed:
            self._wait(self.aclose())
        if self._thread is not None:
            self._thread.close()

    async def aclose(self) -> None:
        """The async form of `close`."""
        if self._is_closed:
            return
        self._is_closed = True
        await self._runner.stop()
        core = self._core
        with suppress(StoreError):
            core.end()
        await core.summary_writer.aclose()
        if self._owns_transport:
            await core.transport.aclose()
        if self._owns_store:
            core.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _wait(self, work: Coroutine[object, None, _T]) -> _T:
        if self._thread is None:
            self._thread = LoopThread()
            # One that is never closed leaves no connection behind when Python ends.
            if self._owns_transport:
                self._thread.adopt(self._core.transport.aclose)
            self._thread.adopt(self._core.summary_writer.aclose)
        return self._thread.run(work)

    def _change_pins(self, change: Callable[[str], None], text: str) -> None:
        """Change what is pinned and save it; where that fails, it is as it was."""
        core = self._core
        _ = core.conversation  # beginning one forgets what was pinned before it
        before = core.engine.state
        change(text)
        try:
            core.save_state()
        except StoreError:
            core.engine.adopt(before)
            raise
