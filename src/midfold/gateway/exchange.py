"""One request and its answer, from reading the one to recording the other."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from http import HTTPStatus
from typing import ParamSpec, TypeVar

from midfold.concurrency import run_in_thread, shield_until_done
from midfold.config import ReportedUsage, Settings
from midfold.errors import ProviderError, StoreError
from midfold.gateway.access import Caller
from midfold.gateway.engines import EngineFactory
from midfold.gateway.identity import SessionIndex
from midfold.gateway.live import LiveFeed
from midfold.gateway.metrics import GatewayMetrics
from midfold.gateway.pipeline import RequestPipeline
from midfold.gateway.recall import RecallTools
from midfold.gateway.recall_rounds import RecallRounds, RoundWay
from midfold.gateway.records import Outcome, Records
from midfold.gateway.recovery import RequestRecovery
from midfold.gateway.reserved_requests import ReservedRequest, pay
from midfold.gateway.rewriting import Rewrite
from midfold.gateway.routes import Route, RouteAction
from midfold.gateway.session import GatewaySession
from midfold.gateway.settings import UpstreamSettings
from midfold.gateway.streaming import ClientLine, Header, deliver
from midfold.gateway.tracing import CallTracer
from midfold.gateway.turns import ClientTurn, PreparedRequest, UnreadableRequest, read_turn
from midfold.gateway.upstream import Upstreams, headers_for, target_of
from midfold.keys import BudgetBook, KeyBudget
from midfold.late_dataclasses import dataclass, field
from midfold.messages import MessageCache
from midfold.providers import KeySource, RelayAnswer, RelayRequest
from midfold.wire.failures import judge_reply

log = logging.getLogger("midfold.gateway")

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SLOTS = 4


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request as it came. `headers` are those that decide something, by their names in lower case."""

    route: Route
    method: str
    path: str
    query: bytes = field(repr=False)
    raw_headers: tuple[Header, ...] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    caller: Caller = field(default_factory=Caller)
    packed: bytes | None = field(default=None, repr=False)
    """the body as it came, where it was unpacked"""


@dataclass(frozen=True, slots=True)
class GatewayParts:
    """The parts that every exchange works with."""

    settings: Settings
    cache: MessageCache
    index: SessionIndex
    engines: EngineFactory
    records: Records
    pipeline: RequestPipeline
    upstreams: Upstreams
    recall: RecallTools | None = None
    """answers models that look for what was folded, where that is set"""
    background: set[asyncio.Task[None]] = field(default_factory=set)
    """work that goes on after an answer"""
    live: LiveFeed = field(default_factory=LiveFeed)
    metrics: GatewayMetrics = field(default_factory=GatewayMetrics)
    book: BudgetBook | None = None
    tracer: CallTracer | None = None
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_SLOTS))
    """for work that keeps a processor busy: more threads at once would only take memory"""

    async def work(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Do work beside the event loop, to its end also where the client leaves meanwhile."""
        async with self.slots:
            return await shield_until_done(run_in_thread(work, *args, **kwargs))

    def purse_of(self, caller: Caller) -> KeyBudget | None:
        """Return the money of a caller, where it is limited."""
        key = caller.key
        is_limited = key is not None and key.budget_dollars is not None
        return KeyBudget(key, self.book) if key is not None and is_limited and self.book is not None else None

    def tell(
        self, turn: ClientTurn, session: GatewaySession, prepared: PreparedRequest, seconds: float
    ) -> None:
        """Tell those who watch of a request that was answered, and count it; never what it says."""
        self.metrics.count_tokens(prepared.tokens, prepared.saved_tokens, is_folded=prepared.is_changed)
        facts = {
            "conversation": session.conversation_id,
            "model": turn.model,
            "tokens": prepared.tokens,
            "saved_tokens": prepared.saved_tokens,
            "folds": prepared.folds,
            "seconds": round(seconds, 3),
        }
        self.live.publish("request", facts)

    def do_later(self, work: "asyncio.Task[None]") -> None:
        self.background.add(work)
        work.add_done_callback(self.background.discard)


class RequestExchange:
    """Serves one request."""

    def __init__(
        self, parts: GatewayParts, request: ClientRequest, line: ClientLine, upstream: UpstreamSettings
    ) -> None:
        self._parts = parts
        self._request = request
        self._line = line
        self._upstream = upstream
        self._key_budget = parts.purse_of(request.caller)

    @property
    def dialect(self) -> str:
        """The dialect in which the client is told of errors."""
        return self._request.route.dialect or self._upstream.provider

    async def run(self) -> None:
        """Serve it; raises what keeps an answer from coming at all."""
        match self._request.route.action:
            case RouteAction.PASS:
                await self._pass(self._request.body)
            case RouteAction.COUNT:
                await self._count()
            case RouteAction.CONVERSE:
                await self._converse()

    async def _pass(self, body: bytes, warning: str = "") -> None:
        extra = _name_changes(None, "", warning) if warning else ()
        async with self._send(body) as answer:
            await deliver(answer, self._line, dialect=self.dialect, extra=extra)

    async def _count(self) -> None:
        is_provider = self._parts.settings.gateway.report_usage is ReportedUsage.PROVIDER
        body = await self._parts.work(self._fold_count) if is_provider else self._request.body
        await self._pass(body)

    def _fold_count(self) -> bytes:
        """Return the request for a count with the folds that were made for its messages."""
        try:
            turn = self._read()
        except UnreadableRequest:
            return self._request.body
        session, turn = self._parts.index.find(turn)
        return self._parts.pipeline.count(turn, session)

    def _read(self) -> ClientTurn:
        request = self._request
        return read_turn(request.body, request.route.dialect, request.headers, self._parts.cache)

    async def _converse(self) -> None:
        try:
            turn, session, prepared = await self._parts.work(self._begin)
        except UnreadableRequest as error:
            log.info("passed on as it is: %s", error)
            return await self._pass(self._request.body)
        except StoreError as error:
            log.warning("the store cannot be asked: %s", error)
            return await self._pass(self._request.body, f"passed on as it is: {error}")
        try:
            if prepared is None:
                async with session.turnstile:
                    prepared = await self._parts.work(
                        self._parts.pipeline.prepare, turn, session, self._upstream
                    )
            return await self._serve(turn, session, prepared)
        finally:
            session.active -= 1

    def _begin(self) -> tuple[ClientTurn, GatewaySession, PreparedRequest | None]:
        """Read a request, find its conversation, and prepare it, unless another of it is being prepared."""
        session, turn = self._parts.index.claim(self._read())
        session.active += 1
        session.key_budget = self._key_budget
        if not session.turnstile.try_enter():
            return turn, session, None
        try:
            return turn, session, self._parts.pipeline.prepare(turn, session, self._upstream)
        finally:
            session.turnstile.leave()

    async def _serve(self, turn: ClientTurn, session: GatewaySession, prepared: PreparedRequest) -> None:
        parts = self._parts
        recovery = RequestRecovery(parts.pipeline, parts.engines, turn, session, self._upstream)
        outcome, started = Outcome(), time.monotonic()
        # Beside the upstream, which takes longer.
        recording = asyncio.create_task(parts.work(self._record, turn, session))
        parts.do_later(recording)
        try:
            while True:
                started = time.monotonic()
                async with self._send(prepared.body, prepared, is_again=recovery.has_begun) as answer:
                    following = None if answer.is_success else await recovery.react(answer, prepared)
                    if following is None:
                        rounds = self._open_rounds(session, prepared) if answer.is_success else None
                        try:
                            await self._answer(answer, session, recovery.noted(prepared), rounds)
                        finally:
                            outcome = rounds.outcome if rounds is not None else Outcome(answer.observation())
                        return
                prepared = following
        finally:
            seconds = time.monotonic() - started
            work = self._take_in(turn, session, prepared, outcome, seconds, recording)
            parts.do_later(asyncio.create_task(work))

    def _send(
        self, body: bytes, prepared: PreparedRequest | None = None, *, is_again: bool = False
    ) -> AbstractAsyncContextManager[RelayAnswer]:
        request = self._request
        # A key for repetitions stands for one body; another body is another request.
        without = [b"idempotency-key"] if is_again else []
        # An answer that is looked through need not be unpacked first.
        without += [b"accept-encoding"] if prepared is not None and prepared.hidden else []
        if request.packed is not None:
            if body is request.body:
                body = request.packed
            else:
                without.append(b"content-encoding")
        is_shared = self._upstream.keys is KeySource.OURS or request.caller.key is not None
        relayed = RelayRequest(
            request.method,
            target_of(request.path, request.query),
            headers_for(request.raw_headers, without=without, listed_only=is_shared),
            body,
        )
        cap = prepared.output_cap if prepared is not None else None
        sending = self._parts.upstreams.relay_to(self._upstream).send(relayed, output_cap=cap)
        if self._key_budget is None or request.method != "POST" or request.route.action is RouteAction.COUNT:
            return sending
        tokens = prepared.tokens if prepared is not None else 0
        asked = ReservedRequest(self._upstream.provider, request.body, tokens)
        return pay(self._key_budget, asked, sending, self._parts.work)

    def _open_rounds(self, session: GatewaySession, prepared: PreparedRequest) -> RecallRounds | None:
        """Return what answers the model's questions for what was folded, where it can ask them."""
        tools = self._parts.recall
        if tools is None or not prepared.hidden:
            return None
        return RecallRounds(tools, session, prepared, self._line, self.dialect)

    async def _answer(
        self,
        answer: RelayAnswer,
        session: GatewaySession,
        prepared: PreparedRequest,
        rounds: RecallRounds | None,
    ) -> None:
        settings = self._parts.settings.gateway
        is_told = prepared.is_changed
        rewrite = None
        if prepared.saved_tokens and settings.report_usage is ReportedUsage.CLIENT:
            rewrite = Rewrite(prepared.saved_tokens)
        warning = prepared.warning or session.take_warning()
        extra = _name_changes(prepared if is_told else None, session.conversation_id, warning)
        ping = settings.ping_seconds if is_told else None
        if rounds is None:
            return await deliver(
                answer, self._line, dialect=self.dialect, extra=extra, rewrite=rewrite, ping_seconds=ping
            )
        way = RoundWay(
            lambda body: self._send(body, prepared, is_again=True), self._parts.work, extra, rewrite, ping
        )
        return await rounds.run(answer, way)

    async def _take_in(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        prepared: PreparedRequest,
        outcome: Outcome,
        seconds: float,
        recording: "asyncio.Task[None]",
    ) -> None:
        """Take in an answer: for the engine, which may prepare a fold, and for the books."""
        async with session.turnstile:
            await self._parts.work(self._inform_engine, session, prepared, outcome)
        await asyncio.wait({recording})
        await self._parts.work(self._record_call, turn, session, prepared, outcome, seconds)

    def _record(self, turn: ClientTurn, session: GatewaySession) -> None:
        with session.write_lock, _noting_failures(session):
            self._parts.records.record(turn, session)

    def _record_call(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        prepared: PreparedRequest,
        outcome: Outcome,
        seconds: float,
    ) -> None:
        records, provider = self._parts.records, self._upstream.provider
        with session.write_lock, _noting_failures(session):
            records.record_call(turn, session, prepared, outcome, provider=provider, seconds=seconds)
        parts = self._parts
        parts.tell(turn, session, prepared, seconds)
        if parts.tracer is not None:
            parts.tracer.record(
                turn,
                prepared,
                outcome.observation,
                self._upstream,
                conversation=session.conversation_id,
                seconds=seconds,
                headers=self._request.headers,
            )

    def _inform_engine(self, session: GatewaySession, prepared: PreparedRequest, outcome: Outcome) -> None:
        engine, completion = session.engine, outcome.observation.completion
        if engine is None:
            return
        observation = outcome.first  # what it says of the prompt is said of what was sent
        if observation.usage is not None and observation.complete:
            engine.update_from_response(observation.usage)
        silent = judge_reply(
            finish_reasons=[completion.finish_reason if completion is not None else None],
            usage=observation.usage,
            sent_tokens=prepared.tokens or None,
            window_tokens=engine.context_length,
        )
        if silent is not None or (observation.failure is not None and observation.failure.kind != "other"):
            sign = silent.sign.value if silent is not None else "an error inside the reply"
            session.warning = f"the last reply may not have seen everything: {sign}"
            log.warning("%s: %s", session.conversation_id[:8], session.warning)


@contextmanager
def _noting_failures(session: GatewaySession) -> Iterator[None]:
    """Tell the client with its next answer, and go on."""
    try:
        yield
    except StoreError as error:
        session.warning = f"not recorded: {error}"
        log.warning("%s is not recorded: %s", session.conversation_id[:8], error)


def _name_changes(prepared: PreparedRequest | None, conversation: str, warning: str) -> list[Header]:
    """Name in headers what was done to a request; nothing where nothing was."""
    named: dict[str, object] = {}
    if prepared is not None:
        named = {
            "session": conversation,
            "folded": prepared.folds or None,
            "offloaded": prepared.offloaded or None,
            "saved-tokens": prepared.saved_tokens,
            "tokens": f"sent={prepared.tokens}, client={prepared.client_tokens}",
            "recovered": prepared.recovered or None,
            "recall": "offered" if prepared.hidden else None,
        }
    named["warning"] = warning or None
    return [
        (f"x-midfold-{name}".encode(), _one_line(value)) for name, value in named.items() if value is not None
    ]


def _one_line(value: object) -> bytes:
    text = " ".join(str(value).split())
    return text.encode("ascii", "replace")[:500]


def status_of(error: Exception) -> int:
    """Return the status for a client whose request brought no answer."""
    if isinstance(error, ProviderError):
        is_late = "within" in error.message and "connection" not in error.message
        return HTTPStatus.GATEWAY_TIMEOUT if is_late else HTTPStatus.BAD_GATEWAY
    return HTTPStatus.BAD_REQUEST
