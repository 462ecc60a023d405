"""The session that is going on: the messages as the model sees them, and the same in the store.

A message is in the list when it is in the store, not before. So whatever ends the process, the store has all
that was said, and what it says can be gone on with.
"""

import secrets
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

from midfold.agent.prompt_cache import PrefixCache
from midfold.concurrency import run_in_thread, shield_until_done
from midfold.errors import SessionEnded, SessionGrew, StoreError
from midfold.folding import STATE_NAME, Compression, CompressionState, state_from_json, state_to_json
from midfold.late_dataclasses import replace
from midfold.messages import Message, MessageCache, Text, ToolCall, ToolResult, pair_calls
from midfold.redact import redact
from midfold.store import Call, EndReason, Lease, Store, check_sound
from midfold.stored_notes import is_correction
from midfold.summaries.tool_calls import one_line
from midfold.wire import Conversion, GrowingConversion, Request, render

_T = TypeVar("_T")
_P = ParamSpec("_P")

UNKNOWN_RESULT = (
    "[the session ended before this call did: it may have run or not, and what it gave is not known]"
)
_TITLE_CHARS = 80
_TITLE_SEEN_CHARS = 2_000


class ContinuedElsewhere(StoreError):
    """Somebody else went on with the session meanwhile; nothing was added to what they said."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"the session {session_id} was continued elsewhere; resume it to go on with all that was said"
        )
        self.session_id = session_id


async def commit(write: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """Write beside the event loop, to the end also when the caller is cancelled meanwhile."""
    return await shield_until_done(run_in_thread(write, *args, **kwargs))


class Conversation:
    """One session at a time, in one dialect for all its life.

    A method that writes commits in the calling thread and raises `StoreError`, such as `ContinuedElsewhere`;
    coroutines call it through `commit`.
    """

    def __init__(
        self,
        store: Store,
        *,
        source: str,
        model: str,
        dialect: str,
        system: str,
        cache: MessageCache,
    ) -> None:
        """Begin a session; it is in the store from its first message on."""
        self._cache = cache
        self.id = secrets.token_hex(16)
        self.conversation_id = self.id
        self.dialect = dialect
        self.system = system
        self.items: list[object] = []
        self.has_placeholders = False
        """whether credentials were replaced in what was read from the store"""
        self._store = store
        self._source = source
        self._model = model
        self.is_stored = False
        """whether anything was said, so that the store knows of it"""
        self._is_open = False
        """whether this one wrote to the session or opened it again, and so is the one to end it"""
        self._may_have_open_calls = False
        self._own_count = 0
        """messages that the store has of this very session, unless another writer goes on with it"""
        self._systems: list[str] = []
        """the system prompts before the folds that were made here; the store hides credentials in its own"""
        self._messages = PrefixCache(self._read)
        self._conversion = GrowingConversion(dialect)

    @classmethod
    def resume(cls, store: Store, session_id: str, *, dialect: str, cache: MessageCache) -> "Conversation":
        """Go on at the tip of the chain that a session belongs to; raises `SessionNotFound`.

        `dialect` is for a session in which nothing was said yet.
        """
        session = store.session(store.get_compression_tip(session_id))
        system = Request(dialect, [], system=store.system(session.id))
        found = cls(
            store,
            source=session.source,
            model=session.model or "",
            dialect=session.dialect or dialect,
            system=system.system_text,
            cache=cache,
        )
        records = store.records(session.id)
        check_sound(session.id, records)
        found.id, found.conversation_id = session.id, session.conversation_id
        found.items = [record.item for record in records]
        found.has_placeholders = any(record.is_redacted for record in records)
        found.is_stored = True
        found._own_count = session.message_count
        found.look_for_open_calls()
        return found

    @property
    def messages(self) -> list[Message]:
        """The messages, to ask about."""
        return self._messages.of(self.items)

    def convert(self, to: str) -> Conversion:
        """Write the messages anew in a dialect, this one or another, so that a provider takes them."""
        if self._conversion.to != to:
            self._conversion = GrowingConversion(to)
        return self._conversion.convert(self.messages)

    def look_for_open_calls(self) -> None:
        """Say that calls may have been left without a result, as by a crash."""
        self._may_have_open_calls = True

    def call_ids(self) -> set[str]:
        """Return the ids of all calls, answered or not."""
        return {call.id for message in self.messages for call in message.calls}

    def render(self, messages: Sequence[Message]) -> list[object]:
        """Render messages in the dialect of this session."""
        return render(messages, self.dialect)

    def say(self, prompt: str) -> None:
        """Add what the user says, and create the session with its first words."""
        if not self.is_stored:
            self._store.create_session(
                session_id=self.id,
                source=self._source,
                model=self._model,
                title=_make_title(prompt),
                dialect=self.dialect,
                system=self.system,
            )
            self.is_stored = self._is_open = True
        self.append(self.render([Message("user", (Text(prompt),))]))

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Add the results of calls, all at once."""
        if results:
            self.append(self.render([Message("tool", tuple(results))]))

    def close_open_calls(self) -> None:
        """Answer the calls that a crash left open: no provider takes a list with a call in the air."""
        if self._may_have_open_calls and self.is_stored:
            messages = self.messages
            parts = [messages[at.message].parts[at.part] for at in pair_calls(messages).open_calls]
            calls = [part for part in parts if isinstance(part, ToolCall)]
            self.answer([ToolResult(call.id, UNKNOWN_RESULT, name=call.name) for call in calls])
            self._may_have_open_calls = False

    def append(self, items: Sequence[object], *, finish_reason: str | None = None) -> None:
        """Add messages, all or none; they are durable when this returns."""
        if not items:
            return
        messages, count = self._read(items), self._own_count
        self._write(
            lambda: self._store.append(self.id, messages, finish_reason=finish_reason, expected_count=count)
        )
        self.items = [*self.items, *items]
        self._own_count += len(items)

    def add_reply(
        self, items: Sequence[object], call: Call, *, finish_reason: str | None
    ) -> StoreError | None:
        """Add a reply and record what it used; return why the latter could not be done, where it is so.

        What was used is recorded also where the reply cannot be added: it was paid for.
        """
        problem = None
        try:
            self.append(items, finish_reason=finish_reason)
        finally:
            try:
                self.record(call)
            except StoreError as error:
                problem = error
        return problem

    def record(self, call: Call) -> None:
        """Record what a call of a model used."""
        self._store.record_call(self.id, call)

    def check_alone(self) -> None:
        """Raise `ContinuedElsewhere` where another writer went on with the session.

        One that was only closed is opened again.
        """
        if not self.is_stored:
            return
        session = self._store.session(self.id)
        if session.message_count != self._own_count:
            raise ContinuedElsewhere(self.id)
        if session.ended_at is not None:
            self._reopen()

    def continue_folded(
        self,
        compression: Compression[object],
        *,
        system: str,
        lease: Lease | None,
        facts: dict[str, object],
        state: CompressionState,
    ) -> None:
        """End the session with a fold and go on in its continuation, saving the engine's `state` with it."""
        continued = self._write(
            lambda: self._store.continue_session_result(
                self.id,
                compression.messages,
                compression,
                lease=lease,
                system=system,
                facts=facts,
                states={STATE_NAME: state_to_json(state)},
                expected_count=self._own_count,
            )
        )
        self._systems.append(self.system)
        self.id, self.system, self.items = continued.session_id, system, list(compression.messages)
        self._own_count = 0  # all that it begins with is its parent's, or made by the fold

    def save_state(self, state: CompressionState) -> None:
        """Save what the engine remembers of the conversation."""
        self._store.save_state(self.id, STATE_NAME, state_to_json(state))

    def load_state(self) -> CompressionState:
        """Return what was remembered; how often it was folded is what the store has of it."""
        if not self.is_stored:
            return CompressionState()
        folds = [fold for fold in self._store.folds(self.id) if not is_correction(fold)]
        return replace(
            state_from_json(self._store.load_state(self.id, STATE_NAME)),
            count=len(folds),
            folds=sum(stored.fold.summary is not None for stored in folds),
        )

    def mark_announced(self) -> None:
        """Note that the fold that opened the session was announced."""
        self._store.mark_announced(self.id)

    def undo_fold(self) -> None:
        """Undo the newest fold: go on with all that was said, as the store has it."""
        self.check_alone()
        self.id = self._store.undo_continuation(self.id)
        self._is_open = True
        restored = Conversation.resume(self._store, self.id, dialect=self.dialect, cache=self._cache)
        self.system = self._systems.pop() if self._systems else restored.system
        self.items, self.has_placeholders = restored.items, restored.has_placeholders
        self._own_count = restored._own_count

    def keep_said(self, shown: Sequence[object], *, but: int) -> None:
        """Go on with messages as they were shown, all `but` one: the store hides credentials in its own."""
        if len(shown) == len(self.items):
            self.items = [*shown[:but], self.items[but], *shown[but + 1 :]]

    def end(self) -> None:
        """Close it for now; it can be resumed. One that was only read stays open."""
        if self._is_open:
            self._store.end_session(self.id, EndReason.CLOSED)
            self._is_open = False

    def _write(self, work: Callable[[], _T]) -> _T:
        """Write to the session, also where another agent closed it that had only read it.

        Raises `ContinuedElsewhere` where the store has more than this list, or a fold that it has not.
        """
        try:
            done = work()
        except SessionGrew:
            raise ContinuedElsewhere(self.id) from None
        except SessionEnded:
            self._reopen()
            return self._write(work)
        self._is_open = True
        return done

    def _reopen(self) -> None:
        try:
            self._store.reopen_session(self.id)
        except SessionEnded as error:
            raise ContinuedElsewhere(error.tip or self.id) from None
        self._is_open = True

    def _read(self, items: Sequence[object]) -> list[Message]:
        return self._cache.read(items, self.dialect)


def _make_title(prompt: str) -> str:
    """Make a title of how a prompt begins; credentials are hidden before a cut makes them look like none."""
    return one_line(redact(one_line(prompt, _TITLE_SEEN_CHARS)), _TITLE_CHARS)
