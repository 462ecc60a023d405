"""One request on its way to the provider: stored folds applied, long results offloaded, folded when due.

It runs in a worker thread, under the lock of its conversation. Whatever fails here, the request goes on as
the client sent it, and the client is told.
"""

import logging
from collections.abc import Sequence
from functools import partial

from midfold.config import Settings
from midfold.engines import FoldingEngine
from midfold.errors import DialectError, EngineContractError, MidfoldError, SessionEnded, StoreError
from midfold.folding import Compression, state_to_json
from midfold.gateway.engines import STATE, EngineFactory
from midfold.gateway.folds import FoldedHistory, FoldMemo, apply_stored_folds, count_kept
from midfold.gateway.hygiene import HygieneGate
from midfold.gateway.recall import RecallOffer, RecallTools
from midfold.gateway.records import Records
from midfold.gateway.session import GatewaySession, KnownItems
from midfold.gateway.settings import UpstreamSettings
from midfold.gateway.shared_folds import PREPARED_STATE
from midfold.gateway.turns import ClientTurn, PreparedRequest
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, chain_digests
from midfold.offload import Budgets, FileSink, enforce
from midfold.tokens import TokenCounter
from midfold.wire import apply_cache_control, caching_applies, render
from midfold.wire.apis import encode_body, get_api, has_own_marker, set_output_cap
from midfold.wire.joiners import add_tools
from midfold.wire.validate import find_errors

log = logging.getLogger("midfold.gateway")

_FOLD_TRIES = 2
"""A fold that somebody else was quicker with is found and applied; only then it is tried again."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """The messages of a request on their way through the pipeline."""

    messages: list[Message]
    items: list[object]
    folds: int = 0
    offloaded: int = 0
    is_edited: bool = False
    warning: str = ""
    kept: int = 0
    """how many of the newest messages stand where they stood"""


class RequestPipeline:
    """Prepares the requests of all conversations."""

    def __init__(
        self,
        settings: Settings,
        engines: EngineFactory,
        records: Records,
        outputs: FileSink | None,
        recall: RecallTools | None = None,
        tenant: str = "",
    ) -> None:
        self._tenant = tenant
        self._settings = settings
        self._engines = engines
        self._records = records
        self._outputs = outputs if settings.gateway.offload else None
        self._recall = recall
        self._gate = HygieneGate(settings.gateway.hygiene)
        output = settings.tool_output
        self._budgets = Budgets(output.result_chars, output.turn_chars, output.preview_chars, output.per_tool)

    def prepare(
        self, turn: ClientTurn, session: GatewaySession, upstream: UpstreamSettings
    ) -> PreparedRequest:
        """Return what is sent in place of a request; never raises for anything of ours."""
        try:
            turn = turn.reusing(session.known.messages, session.known.hashes)
            session.known = KnownItems(turn.messages, turn.hashes, turn.history.settled_length)
            draft = self._splice(turn, session)
            engine = self._open_engine(turn, session, upstream)
            tokens = self._estimate(engine, turn, draft)
            self._engines.shared.offer(session, engine, draft.messages)
            if self._is_due(engine, turn, draft, tokens):
                draft = self._fold(turn, session, engine, draft)
                tokens = self._estimate(engine, turn, draft)
            return self._finish(turn, upstream, draft, tokens, self._offer(turn, engine))
        except Exception as error:  # noqa: BLE001 - a conversation is never stopped by what is to help it
            return self._give_up(turn, error)

    def shorten(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        upstream: UpstreamSettings,
        prepared: PreparedRequest,
        most_tokens: int,
    ) -> PreparedRequest | None:
        """Fold a request that was refused down to a ceiling; `None` where that changes nothing."""
        try:
            engine = self._open_engine(turn, session, upstream)
            draft = self._splice(turn, session)
            folded = self._fold(turn, session, engine, draft, most_tokens=most_tokens)
            if folded.items is draft.items:
                return None
            tokens = self._estimate(engine, turn, folded)
            offer = self._offer(turn, engine)
            made = self._finish(turn, upstream, folded, tokens, offer, output_cap=prepared.output_cap)
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("a refused request could not be folded: %s", _describe(error))
            return None
        return replace(made, recovered=f"folded to {tokens} tokens")

    def lower_output_cap(
        self, turn: ClientTurn, prepared: PreparedRequest, tokens: int
    ) -> PreparedRequest | None:
        """Ask for less output in this request alone."""
        body = turn.request.raw or {}
        if prepared.is_edited:
            body = _body_with(turn, prepared.items, prepared.tools)
        encoded = encode_body(set_output_cap(body, turn.request.dialect, tokens))
        words = f"output cap lowered to {tokens}"
        return replace(prepared, body=encoded, output_cap=tokens, recovered=words)

    def restore(self, turn: ClientTurn, prepared: PreparedRequest) -> PreparedRequest:
        """Return the request as the client sent it, where the provider refuses what was made of it."""
        return PreparedRequest(
            turn.body,
            turn.request.messages,
            tokens=prepared.client_tokens,
            client_tokens=prepared.client_tokens,
            output_cap=turn.output_cap,
            warning="the provider refused the folded request; it was sent as it is",
            recovered="sent as the client wrote it",
        )

    def count(self, turn: ClientTurn, session: GatewaySession | None) -> bytes:
        """Return the body of a request for a count, with the folds that were made for its messages."""
        try:
            found = apply_stored_folds(
                self._engines.store,
                turn.messages,
                turn.history.chain,
                session.stored_id if session else None,
            )
            if not found.folds:
                return turn.body
            items = render(found.messages, turn.request.dialect)
            items = turn.with_moved(found.messages, items, found.kept)
            offer = self._offer(turn, session.engine if session is not None else None)
            return encode_body(_body_with(turn, items, offer.tools))
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("a count passes as it is: %s", _describe(error))
            return turn.body

    def _splice(self, turn: ClientTurn, session: GatewaySession) -> _Draft:
        """Offload what is too long, and apply the folds that were made before."""
        messages, chain, offloaded = turn.messages, turn.history.chain, 0
        if self._outputs is not None:
            sink = self._outputs.session(session.conversation_id, tenant=self._tenant)
            shortened = enforce(messages, sink, self._budgets)
            if shortened.is_changed:
                messages, chain = shortened.messages, chain_digests(shortened.messages)
                offloaded = len(shortened.offloaded) + len(shortened.cut)
        session.folded = session.folded or FoldMemo()
        keep = partial(session.folded.keep, dialect=turn.request.dialect)
        found = apply_stored_folds(self._engines.store, messages, chain, session.stored_id, keep)
        return self._draft(turn, found, offloaded)

    def _draft(self, turn: ClientTurn, found: FoldedHistory, offloaded: int) -> _Draft:
        """Write a folded history; one that the provider would refuse is not sent."""
        dialect = turn.request.dialect
        if not found.folds and not offloaded:
            return _Draft(turn.messages, turn.request.messages, kept=len(turn.messages))
        items = render(found.messages, dialect)
        faults = self._count_errors(turn, items)
        # What the client sent is long and seldom at fault, so it is looked at only when the result is.
        if faults and faults > self._count_errors(turn, turn.request.messages):
            warning = "the folded request would not be legal; it was sent as it is"
            return _Draft(turn.messages, turn.request.messages, warning=warning, kept=len(turn.messages))
        return _Draft(found.messages, items, len(found.folds), offloaded, is_edited=True, kept=found.kept)

    def _open_engine(
        self, turn: ClientTurn, session: GatewaySession, upstream: UpstreamSettings
    ) -> FoldingEngine:
        window = self._engines.window_of(turn, upstream.provider, upstream.base_url)
        return self._engines.engine_for(session, turn, window.tokens)

    def _offer(self, turn: ClientTurn, engine: FoldingEngine | None) -> RecallOffer:
        """Return the tools for a request that is changed; they stay the same, as all that follows does."""
        return self._recall.offer(turn, engine) if self._recall is not None else RecallOffer()

    def _estimate(self, engine: FoldingEngine, turn: ClientTurn, draft: _Draft) -> int:
        return engine.estimate(draft.items, system=_beside(turn), tools=turn.request.tools)

    def _is_due(self, engine: FoldingEngine, turn: ClientTurn, draft: _Draft, tokens: int) -> bool:
        request = turn.request
        is_due = engine.should_compress_preflight(draft.items, system=_beside(turn), tools=request.tools)
        is_over = engine.enabled and self._gate.is_over(
            tokens,
            len(draft.items),
            window_tokens=engine.context_length,
            threshold_tokens=engine.threshold_tokens,
        )
        return (is_due or (is_over and engine.should_compress(tokens))) and bool(draft.items)

    def _fold(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        engine: FoldingEngine,
        draft: _Draft,
        *,
        most_tokens: int | None = None,
    ) -> _Draft:
        """Fold a request and store the fold; where either fails, the request stays as it is."""
        with session.write_lock:
            self._records.record(turn, session)
        for _ in range(_FOLD_TRIES):
            try:
                result = engine.compress_result(draft.items, most_tokens=most_tokens)
            except EngineContractError as error:
                return replace(draft, warning=str(error))
            if not result.changed:
                return replace(draft, warning=result.warning or draft.warning)
            try:
                return self._commit(turn, session, engine, draft, result)
            except SessionEnded:  # another gateway was quicker: its fold is found, and may do
                engine.undo(result.messages)
                with session.write_lock:
                    self._records.record(turn, session)
                draft = self._splice(turn, session)
                if not engine.should_compress(self._estimate(engine, turn, draft)):
                    return draft
            except StoreError as error:
                engine.undo(result.messages)
                return replace(draft, warning=f"not folded, as the store did not take it: {error}")
        return draft

    def _commit(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        engine: FoldingEngine,
        draft: _Draft,
        result: Compression[object],
    ) -> _Draft:
        old_id = session.id
        stored = _settled_part(result, len(turn.messages) - turn.history.settled_length)
        continued = self._engines.store.continue_session_result(
            old_id,
            stored.messages,
            stored,
            facts={"why": "gateway"},
            states={STATE: state_to_json(engine.state), PREPARED_STATE: None},
        )
        session.id = continued.session_id
        engine.on_session_start(session.id, boundary_reason="compression", old_session_id=old_id)
        self._engines.store.mark_announced(session.id)
        log.info("%s folded: %s", session.conversation_id[:8], result.headline)
        messages = self._engines.cache.read(result.messages, turn.request.dialect)
        return _Draft(
            messages,
            result.messages,
            draft.folds + 1,
            draft.offloaded,
            True,
            result.warning or draft.warning,
            min(draft.kept, count_kept(result.fold, result.before)) if result.fold is not None else 0,
        )

    def _finish(
        self,
        turn: ClientTurn,
        upstream: UpstreamSettings,
        draft: _Draft,
        tokens: int,
        offer: RecallOffer,
        *,
        output_cap: int | None = None,
    ) -> PreparedRequest:
        """Encode what is sent; what nobody edited are the client's own bytes."""
        cap = output_cap or turn.output_cap
        items = turn.with_moved(draft.messages, draft.items, draft.kept) if turn.moved else draft.items
        if not draft.is_edited:
            return PreparedRequest(
                turn.body, items, False, tokens, tokens, output_cap=cap, warning=draft.warning
            )
        count = TokenCounter(turn.model or None)
        saved = sum(map(count, turn.messages)) - sum(map(count, draft.messages))
        body = self._mark(turn, upstream, items, offer.tools)
        if output_cap is not None and output_cap != turn.output_cap:
            body = set_output_cap(body, turn.request.dialect, output_cap)
        return PreparedRequest(
            encode_body(body),
            items,
            True,
            tokens,
            tokens + max(saved, 0),
            draft.folds,
            draft.offloaded,
            cap,
            draft.warning,
            tools=tuple(offer.tools),
            hidden=offer.names,
        )

    def _mark(
        self, turn: ClientTurn, upstream: UpstreamSettings, items: list[object], tools: Sequence[object]
    ) -> dict[str, object]:
        """Set cache breakpoints beside the client's own, where they help."""
        request, body = turn.request, _body_with(turn, items, tools)
        route = get_api(request.dialect).cache_route or upstream.provider
        if not caching_applies(turn.model, route) or has_own_marker(body):
            return body
        system = request.system if isinstance(request.system, str | list) else None
        marked, marked_system = apply_cache_control(
            items,
            system,
            self._settings.model.cache_ttl.value,
            native=route != "openrouter",
            tools=request.tools,
        )
        return _body_with(turn, marked, tools) | ({"system": marked_system} if marked_system else {})

    def _give_up(self, turn: ClientTurn, error: Exception) -> PreparedRequest:
        warning = f"passed on as it is: {_describe(error)}"
        log.warning("a request was %s", warning)
        return PreparedRequest(turn.body, turn.request.messages, output_cap=turn.output_cap, warning=warning)

    def _count_errors(self, turn: ClientTurn, items: Sequence[object]) -> int:
        request = turn.request
        try:
            return len(
                find_errors(items, dialect=request.dialect, system=request.system, tools=request.tools)
            )
        except DialectError:
            return len(items)


def _body_with(turn: ClientTurn, items: Sequence[object], tools: Sequence[object] = ()) -> dict[str, object]:
    """Return the client's body with other messages in it, and with more tools."""
    body = turn.request.with_messages(items)
    written = body if isinstance(body, dict) else {}
    return add_tools(written, list(tools)) if tools else written


def _beside(turn: ClientTurn) -> object:
    """Return what is sent beside the history, to be counted: the system prompt, and what was set aside."""
    if not turn.moved:
        return turn.request.system
    return "\n".join([turn.request.system_text, *(moved.message.text for moved in turn.moved)])


def _settled_part(result: Compression[object], unsettled: int) -> Compression[object]:
    """Return a fold without the newest messages, which the client may still take back.

    Those that it changes are stored with it.
    """
    kept = len(result.before) - unsettled
    if result.fold is not None:
        kept = max(kept, result.fold.stop)
    left = len(result.before) - kept
    if result.fold is None or left <= 0:
        return result
    return replace(result, before=result.before[:kept], messages=result.messages[:-left])


def _describe(error: Exception) -> str:
    """Say what went wrong; words of errors that are not ours may quote what was said."""
    return str(error) if isinstance(error, MidfoldError) else type(error).__name__
