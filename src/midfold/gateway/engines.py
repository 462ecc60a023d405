"""The engine of each conversation, set up by the settings, and the writer of its summaries."""

import hashlib
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from pathlib import Path

from midfold.concurrency import LoopThread, run_in_thread
from midfold.config import Settings
from midfold.engines import (
    ContextCompressor,
    EngineSetup,
    FoldingEngine,
    Summarizer,
    find_engine,
    open_engine,
)
from midfold.errors import SessionBusy, SessionNotFound, StoreError, SummaryUnavailable
from midfold.folding import SummaryRequest, state_from_json
from midfold.gateway.session import GatewaySession
from midfold.gateway.shared_folds import SharedFolds
from midfold.gateway.turns import ClientTurn
from midfold.keys import KeyBudget, OverBudget, Reservation
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import MessageCache
from midfold.providers import PROVIDERS, Provider
from midfold.providers.summarizers import ModelSummarizer
from midfold.store import Call, HeldLease, Store
from midfold.tokens import LearnedLimits, TokenCounter, Window, resolve_window
from midfold.usage import make_summary_call

STATE = "compression"
"""The name by which the store keeps what an engine remembers, in chat and here alike."""
LIMITS_FILE = "learnt_limits.json"
_PAID_STATE = "paid_summary"
"""The name by which the store keeps who paid last for a summary of a conversation, and when."""
_PAID_SECONDS = 120.0
"""A gateway that has not used its summary by then may be gone."""


@dataclass(frozen=True, slots=True)
class EngineFactory:
    """Opens the engines of conversations."""

    settings: Settings
    store: Store
    home: Path
    cache: MessageCache
    limits: LearnedLimits
    summaries: "SummaryWriters"

    @property
    def shared(self) -> SharedFolds:
        """The folds that gateways on the same store prepare for one another."""
        return SharedFolds(self.store)

    def window_of(self, turn: ClientTurn, provider: str, base_url: str) -> Window:
        """Return how large the window of a request is."""
        name = f"{provider}/{turn.model}" if turn.model else provider
        explicit = self.settings.model.context_length
        found = resolve_window(name, endpoint=base_url, explicit=explicit, limits=self.limits)
        if turn.asked_window is not None and explicit is None and found.source == "table":
            return replace(found, tokens=max(found.tokens, turn.asked_window))
        return found

    def engine_for(self, session: GatewaySession, turn: ClientTurn, window_tokens: int) -> FoldingEngine:
        """Return the engine of a conversation, opened with what the store remembers of it."""
        if session.engine is None:
            session.engine = self._open(session, turn, window_tokens)
        session.engine.update_model(turn.model, window_tokens)
        return session.engine

    def _open(self, session: GatewaySession, turn: ClientTurn, window_tokens: int) -> FoldingEngine:
        remembered = session.stored_id or session.branch_of
        state = None
        with suppress(SessionNotFound):
            state = self.store.load_state(remembered, STATE) if remembered else None
        policy = self.settings.policy(window_tokens, add_system_note=False)
        setup = EngineSetup(
            policy=policy,
            model=turn.model,
            summarizer=self.summaries.writer_for(session),
            key=self.store.conversation_key(session.id),
            state=state_from_json(state),
            store=self.store,
            enabled=self.settings.compression.enabled,
            cache=self.cache,
            answers_by_model=self.settings.context.answers_by_model,
        )
        engine = open_engine(find_engine(self.settings.context.engine, self.home), setup)
        if type(engine) is ContextCompressor:
            engine.on_prepared(partial(self.shared.publish, session))
        engine.on_session_start(
            session.id,
            home=str(self.home),
            platform="gateway",
            model=turn.model,
            context_length=window_tokens,
            conversation_id=session.conversation_id,
        )
        return engine


class SummaryWriters:
    """Gives each conversation a writer of summaries; `None` is the built-in digest, which asks no model.

    `summarizer` takes the place of a model.
    """

    def __init__(
        self,
        store: Store,
        *,
        model: str | None = None,
        providers: Mapping[str, Provider] = PROVIDERS,
        summarizer: Summarizer | None = None,
    ) -> None:
        self.store = store
        self.model = model
        self.holder = secrets.token_hex(8)
        """this gateway, among those on the same store"""
        self._providers = providers
        self._summarizer = summarizer
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()

    def writer_for(self, session: GatewaySession) -> Summarizer | None:
        """Return the writer for one conversation."""
        if self._summarizer is None and self.model is None:
            return None
        return SessionSummaries(self, session)

    def ask(self, request: SummaryRequest, session_id: str, key_budget: KeyBudget | None = None) -> str:
        """Ask for a summary, and record what it cost; raises `SummaryUnavailable`.

        It is paid from `key_budget`, the one that pays for the conversation, where there is one.
        """
        if self._summarizer is None:
            return self._open_thread().run(self._ask_model(request, session_id, key_budget))
        answer = self._summarizer(request)
        if not isinstance(answer, str):
            raise SummaryUnavailable("the gateway's summariser has to answer with a text")
        return answer

    def close(self) -> None:
        """Give up what is asked, and close the connections."""
        if self._thread is not None:
            self._thread.close()

    async def _ask_model(self, request: SummaryRequest, session_id: str, key_budget: KeyBudget | None) -> str:
        reservation = await run_in_thread(_reserve, key_budget, self.model or "", request)
        # One for each question, so that its calls are those of this conversation; folds are rare.
        async with ModelSummarizer(self.model, providers=self._providers) as model:
            try:
                return await model(request)
            finally:
                calls = [make_summary_call(call) for call in model.calls]
                await run_in_thread(self._record, session_id, calls)
                if reservation is not None:
                    spent = sum((call.cost or Decimal(0) for call in calls), Decimal(0))
                    await run_in_thread(reservation.settle, None, spent)

    def _record(self, session_id: str, calls: Sequence[Call]) -> None:
        with suppress(StoreError):  # the summary is paid for and good, whatever the books say
            for call in calls:
                self.store.record_call(session_id, call)

    def _open_thread(self) -> LoopThread:
        with self._lock:
            self._thread = self._thread or LoopThread()
            return self._thread


class SessionSummaries:
    """Writes the summaries of one conversation, each paid for once.

    What was paid for is in the store until its fold is, so that a gateway that died in between, or another
    one on the same store, takes it from there. One of them asks at a time.
    """

    def __init__(self, writers: SummaryWriters, session: GatewaySession) -> None:
        self._writers = writers
        self._session = session

    def __call__(self, request: SummaryRequest) -> str:
        """Return a summary; raises `SummaryUnavailable`."""
        store, session = self._writers.store, self._session
        prompt = hashlib.sha256(request.prompt.encode("utf-8", "surrogatepass")).digest()
        model = self._writers.model or "summarizer"
        if (kept := _recall(store, prompt, model)) is not None:
            return kept
        try:
            with HeldLease(store, session.id):
                self._check_alone()
                return _recall(store, prompt, model) or self._ask(request, prompt, model)
        except SessionNotFound:  # nothing of it is stored yet, so that nobody else can be at it
            return self._ask(request, prompt, model)
        except SessionBusy as error:
            raise SummaryUnavailable("another gateway is folding this conversation") from error

    def _ask(self, request: SummaryRequest, prompt: bytes, model: str) -> str:
        store, session = self._writers.store, self._session
        words = self._writers.ask(request, session.id, session.key_budget)
        with suppress(StoreError):  # it is good, whatever becomes of the copy
            store.remember_summary(prompt, model, "", {"text": words})
            paid = {"session": session.id, "holder": self._writers.holder, "at": time.time()}
            store.save_state(session.id, _PAID_STATE, paid)
        return words

    def _check_alone(self) -> None:
        """Raise where another gateway has just paid for a fold of the same session and not used it yet."""
        paid = self._writers.store.load_state(self._session.id, _PAID_STATE)
        if not isinstance(paid, dict) or paid.get("session") != self._session.id:
            return
        at = paid.get("at")
        is_fresh = isinstance(at, float) and time.time() - at < _PAID_SECONDS
        if is_fresh and paid.get("holder") != self._writers.holder:
            raise SummaryUnavailable("another gateway has prepared the next fold of this conversation")


def _reserve(key_budget: KeyBudget | None, model: str, request: SummaryRequest) -> Reservation | None:
    """Put aside the money for a summary; raises `SummaryUnavailable` where the key has none left."""
    if key_budget is None:
        return None
    try:
        return key_budget.reserve(model, TokenCounter(model).count_text(request.prompt), request.max_tokens)
    except OverBudget as error:
        raise SummaryUnavailable(str(error)) from None


def _recall(store: Store, prompt: bytes, model: str) -> str | None:
    try:
        found = store.recall_summary(prompt, model, "")
    except StoreError:
        return None
    text = found.get("text") if isinstance(found, dict) else None
    return text if isinstance(text, str) else None
