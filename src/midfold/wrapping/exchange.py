"""One call of a wrapped client, from the caller's body to the reply: a flow whose driver does all I/O."""

from collections.abc import Callable, Generator, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from midfold.engines import (
    Attempt,
    Compress,
    ContextCompressor,
    Ladder,
    LowerOutputCap,
    RecoveryStep,
    recover,
)
from midfold.errors import StoreError
from midfold.folding import Compression
from midfold.late_dataclasses import dataclass, field, replace
from midfold.store import Store
from midfold.tokens import MIN_LIMIT_TOKENS, CanonicalUsage, resolve_window
from midfold.usage import make_call, make_summary_call
from midfold.wire import Request, merge_usage
from midfold.wire.failures import Failure, FailureKind, classify
from midfold.wrapping.histories import Histories, SentHistory

if TYPE_CHECKING:
    from midfold.providers.summarizers import SummaryCall

SOURCE = "wrap"
"""The source of sessions in which calls of wrapped clients are recorded."""
# A limit below this part of the window may be a lie, and is not remembered.
_SURPRISING = 0.25


@dataclass(frozen=True, slots=True)
class Send:
    """Send this body, and answer with the reply; an error of the SDK is thrown in."""

    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class FoldNow:
    """Compress these items, and answer with the result."""

    engine: ContextCompressor
    items: list[object]
    most_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Acquire:
    """Wait until nobody else works with a conversation, and hold it; the flow lets go of it."""

    lock: Lock


Step: TypeAlias = Send | FoldNow | Acquire
Flow: TypeAlias = Generator[Step, object, object]


@dataclass(frozen=True, slots=True)
class ClientReport:
    """The calls, usage and savings of a wrapped client."""

    calls: int = 0
    usage: CanonicalUsage = field(default_factory=CanonicalUsage)
    """as the provider reported it"""
    unreported: int = 0
    """calls without reported usage, such as chat streams without `include_usage`"""
    compressions: int = 0
    saved_tokens: int = 0
    """taken out of requests by compressions, as counted; each request after them is shorter by as much"""
    recoveries: int = 0
    """requests that were rejected as too long, folded and sent again"""


@dataclass(slots=True)
class ClientLedger:
    """The usage of a client: added up, and recorded where there is a store."""

    store: Store | None = None
    on_compression: Callable[[Compression[object]], None] | None = None
    report: ClientReport = ClientReport()
    summary_calls: "Callable[[], tuple[SummaryCall, ...]]" = tuple
    """the calls for summaries so far"""
    _last_summary: "SummaryCall | None" = None
    _lock: Lock = field(default_factory=Lock)

    def add(self, **amounts: int) -> None:
        """Count something."""
        with self._lock:
            changed = {name: getattr(self.report, name) + amount for name, amount in amounts.items()}
            self.report = replace(self.report, **changed)

    def add_compression(self, result: Compression[object]) -> None:
        """Count a compression, and hand it to the caller."""
        self.add(compressions=1, saved_tokens=max(result.saved_tokens, 0))
        if self.on_compression is not None:
            self.on_compression(result)

    def add_usage(self, history: SentHistory, request: Request, used: CanonicalUsage, raw: object) -> None:
        """Add what a call used, and record it; a store that fails stops no conversation."""
        with self._lock:
            self.report = replace(self.report, usage=self.report.usage + used)
        if self.store is None:
            return
        try:
            if history.session_id is None:
                session = self.store.create_session(
                    source=SOURCE, model=request.model, dialect=request.dialect
                )
                history.session_id = session.id
            call = make_call(raw, request.model or "", dialect=request.dialect)
            self.store.record_call(history.session_id, replace(call, usage=used))
            for summary in self._new_summaries():
                self.store.record_call(history.session_id, make_summary_call(summary))
        except StoreError:
            self.add(unreported=1)

    def _new_summaries(self) -> "Sequence[SummaryCall]":
        with self._lock:
            calls, last = self.summary_calls(), self._last_summary
            known = next((index for index, call in enumerate(calls) if call is last), -1)
            self._last_summary = calls[-1] if calls else None
        return calls[known + 1 :]


class ClientExchange:
    """One call. `flow` is driven once; `observe` takes in what is reported, then or as a stream ends."""

    def __init__(
        self,
        request: Request,
        histories: Histories,
        ledger: ClientLedger,
        *,
        windows: dict[str, int],
        context_length: int | None,
    ) -> None:
        self._request = request
        self._messages = histories.read(request)
        self._history = histories.find(self._messages)
        self._engine = self._history.engine
        self._ledger = ledger
        self._windows = windows
        self._context_length = context_length
        self._sent = request.messages
        self._output_cap = request.max_output
        self._sent_tokens = 0
        self._ladder: Ladder | None = None
        self._is_observed = False

    def flow(self) -> Flow:
        """Make room, send, and make more room where the provider refuses; returns the reply."""
        yield from self._held(self._prepare())
        while True:
            try:
                reply = yield Send(self._body())
            except Exception as error:
                failure = read_failure(error)
                if failure is None or not (yield from self._held(self._recover(failure))):
                    raise
            else:
                self._close_ladder()
                self._ledger.add(calls=1)
                return reply

    def observe(self, reports: list[object]) -> None:
        """Take in the usage that a reply, or the events of a stream, reported; the first time counts."""
        if self._is_observed:
            return
        self._is_observed = True
        used = merge_usage(reports, self._request.dialect)
        if not used.total_tokens:
            self._ledger.add(unreported=1)
            return
        self._ledger.add_usage(self._history, self._request, used, reports[-1])
        # Another call of the same conversation is at work with the engine; the next report will do.
        if self._history.lock.acquire(blocking=False):
            try:
                self._engine.update_from_response(used)
            finally:
                self._history.lock.release()

    def _held(self, work: Generator[Step, object, bool]) -> Generator[Step, object, bool]:
        """Do something with the engine while nobody else does."""
        lock = self._history.lock
        yield Acquire(lock)
        try:
            return (yield from work)
        finally:
            lock.release()

    def _prepare(self) -> Generator[Step, object, bool]:
        request, engine = self._request, self._engine
        engine.update_model(request.model or "", self._window())
        self._sent = self._history.fold(self._messages, request.dialect)
        if engine.should_compress_preflight(self._sent, system=request.system, tools=request.tools):
            yield from self._compress()
        self._sent_tokens = engine.estimate(self._sent, system=request.system, tools=request.tools)
        return True

    def _compress(self, most_tokens: int | None = None) -> Generator[Step, object, bool]:
        """Compress what would be sent; false where that changes nothing."""
        result = yield FoldNow(self._engine, self._sent, most_tokens)
        if not isinstance(result, Compression) or result.fold is None:
            return False
        self._history.folds.append(result.fold)
        # Written as every later request will write it, so that it has the same bytes.
        self._sent = self._history.fold(self._messages, self._request.dialect)
        self._ledger.add_compression(result)
        return True

    def _recover(self, failure: Failure) -> Generator[Step, object, bool]:
        """Climb the ladder of answers to a refusal; true where the request is worth sending again."""
        attempt = Attempt(failure, self._sent_tokens, self._engine.context_length, self._output_cap)
        self._learn(failure)
        try:
            if self._ladder is None:
                self._ladder = recover(attempt)
                step = next(self._ladder)
            else:
                step = self._ladder.send(attempt)
            while not (yield from self._carry_out(step)):
                step = self._ladder.send(attempt)
        except StopIteration:
            return False
        self._ledger.add(recoveries=1)
        return True

    def _carry_out(self, step: RecoveryStep) -> Generator[Step, object, bool]:
        match step:
            case Compress(target, cap):
                self._output_cap = cap or self._output_cap
                has_changed = yield from self._compress(target)
                request = self._request
                self._sent_tokens = self._engine.estimate(
                    self._sent, system=request.system, tools=request.tools
                )
                return has_changed
            case LowerOutputCap(cap) if self._output_cap is not None:
                self._output_cap = cap
                return True
            case _:  # images and broken histories are the caller's own
                return False

    def _close_ladder(self) -> None:
        if self._ladder is not None:
            self._ladder.close()

    def _body(self) -> Mapping[str, object]:
        """Return what is sent: the caller's own body where nothing is to be changed."""
        request = self._request
        if self._output_cap != request.max_output:
            request = request.with_output_cap(self._output_cap)
        return request.with_body(self._sent) if self._history.folds else request.raw or {}

    def _window(self) -> int:
        model = self._request.model or ""
        known = resolve_window(model, explicit=self._context_length).tokens
        return min(known, self._windows.get(model, known))

    def _learn(self, failure: Failure) -> None:
        """Remember the window that a provider states, for this process."""
        window, limit = self._engine.context_length, failure.limit
        is_window = failure.kind is FailureKind.PROMPT_TOO_LONG and failure.is_limit_learnable
        if is_window and limit and max(MIN_LIMIT_TOKENS, window * _SURPRISING) <= limit < window:
            self._windows[self._request.model or ""] = limit
            self._engine.update_model(self._request.model or "", limit)


def read_failure(error: Exception) -> Failure | None:
    """Read an SDK's error; `None` for one that no answer of a provider led to."""
    status, response = getattr(error, "status_code", None), getattr(error, "response", None)
    if not isinstance(status, int) or response is None:
        return None
    return classify(status, str(getattr(response, "text", "")))
