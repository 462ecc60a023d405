"""Any engine in a host: one that only keeps the plain contract is given all else that hosts need.

A plain `ContextEngine` returns lists. Its host counts the request, derives the fold from the lists, checks
that the result is legal and smaller, and keeps the state. A promise that the engine breaks is reported, and
the conversation goes on as it was.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Self, TypeAlias, TypeVar, cast

from midfold.concurrency import start_thread
from midfold.engines.base import ContextEngine, EngineSetup, FoldingEngine
from midfold.engines.derived_fold import ResultRejected, read_result
from midfold.engines.guards import RAISED, ItemSnapshot, describe_error, fit_keywords
from midfold.engines.meter import Meter
from midfold.engines.metered_engine import MeteredEngine
from midfold.engines.run import Run
from midfold.errors import EngineContractError, EngineUnable
from midfold.folding import Compression, CompressionState, is_paused, reopen
from midfold.late_dataclasses import replace
from midfold.messages import MessageCache
from midfold.tokens import CanonicalUsage
from midfold.wire import normalize_usage, parse

M = TypeVar("M")
T = TypeVar("T")
OnFault: TypeAlias = Callable[[EngineContractError], None]
"""Takes each promise that an engine breaks while it is hosted."""

NOTHING_YET = "nothing to compress yet"


def ignore_fault(_error: EngineContractError) -> None:
    """Let it pass."""


def open_engine(
    chosen: type[ContextEngine] | ContextEngine, setup: EngineSetup, on_fault: OnFault = ignore_fault
) -> FoldingEngine:
    """Build an engine for a host, or take one that is built; `update_model` sets model and window.

    Raises `EngineContractError` where it cannot be built.
    """
    engine = _build(chosen, setup) if isinstance(chosen, type) else chosen
    if not isinstance(engine, FoldingEngine):
        return HostedEngine(engine, setup, on_fault)
    engine.enabled = engine.enabled and setup.enabled
    return engine


def _build(chosen: type[ContextEngine], setup: EngineSetup) -> ContextEngine:
    try:
        return chosen.open(setup) if issubclass(chosen, FoldingEngine) else chosen()
    except TypeError as error:
        promise = "a folding engine is built by open(setup), any other without arguments"
        raise EngineContractError(chosen.__name__, f"{promise}; it raised {error}") from error


class HostedEngine(MeteredEngine):
    """A plain engine as a folding one, with the fewer facts that it gives."""

    can_pin = False

    def __init__(self, engine: ContextEngine, setup: EngineSetup, on_fault: OnFault = ignore_fault) -> None:
        self.engine = engine
        self.enabled = setup.enabled
        self.state = setup.state
        self.compression_count = setup.state.count
        self._policy = setup.policy
        self._key = setup.key
        self._cache = setup.cache or MessageCache(parse)
        self._on_fault = on_fault
        self._is_compressing = False
        self._model, self.context_length = setup.model, setup.policy.context_length
        self._meter = Meter(setup.model, b"", self._cache)
        self._read_figures()

    @classmethod
    def open(cls, setup: EngineSetup) -> Self:  # noqa: ARG003 - the contract has it
        """Raise `EngineUnable`: it hosts an engine, and is none by itself."""
        raise EngineUnable(cls.__name__, "be chosen by itself; it hosts another engine")

    @property
    def name(self) -> str:
        return str(self.engine.name)

    def adopt(self, state: CompressionState, *, key: bytes | None = None) -> None:
        """Go on with what was counted in a conversation."""
        self.state = state
        self.compression_count = state.count
        self._key = self._key if key is None else key

    def update_from_response(self, usage: object) -> None:
        """Pass on what a call used."""
        if usage is None:
            return
        used = usage if isinstance(usage, CanonicalUsage) else normalize_usage(usage)
        self._note_usage(used)
        self._ask_engine(
            "update_from_response takes any usage", None, self.engine.update_from_response, usage
        )
        self._read_figures()

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Ask the engine, unless it compressed in vain lately."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        if not self._may_compress(tokens):
            return False
        promise = "should_compress answers with a bool"
        return bool(self._ask_engine(promise, False, self.engine.should_compress, tokens))

    def should_compress_preflight(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> bool:
        """Ask the engine about the request, and about its estimated size."""
        tokens = self.estimate(messages, system=system, tools=tools)
        if not self._may_compress(tokens):
            return False
        ask = self.engine.should_compress_preflight
        given = fit_keywords(ask, {"system": system, "tools": tools})
        is_due = self._ask_engine(
            "should_compress_preflight answers with a bool", False, ask, messages, **given
        )
        return bool(is_due) or self.should_compress(tokens)

    def has_content_to_compress(self, messages: Sequence[object]) -> bool:
        """Ask the engine."""
        promise = "has_content_to_compress answers with a bool"
        return bool(self._ask_engine(promise, True, self.engine.has_content_to_compress, messages))

    def compress_result(
        self,
        messages: Sequence[M],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[M]:
        """Let the engine compress, and report what it did; raises `EngineContractError`."""
        run = self._open(messages, current_tokens, focus_topic, keep_last, most_tokens)
        if run.refusal:
            return cast("Compression[M]", run.unchanged(run.refusal))
        with self._noting_faults(run):
            return cast("Compression[M]", self._accept(self._compress(run), run))

    async def acompress_result(
        self,
        messages: Sequence[M],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[M]:
        """Do the same beside the event loop; an engine that is interrupted goes on to its end unheard."""
        run = self._open(messages, current_tokens, focus_topic, keep_last, most_tokens)
        if run.refusal:
            return cast("Compression[M]", run.unchanged(run.refusal))
        with self._noting_faults(run):
            compressing = start_thread(lambda: self._compress(run), "midfold-engine")
            return cast("Compression[M]", self._accept(await asyncio.wrap_future(compressing), run))

    def undo(self, messages: Sequence[object] | None = None) -> list[object] | None:
        """Undo the last compression, once, and report it to the engine."""
        restored = None if messages is None else super().undo(messages)
        if restored is not None:
            self._ask_engine("undo returns a list or None", None, self.engine.undo, messages)
        return restored

    def on_session_start(self, session_id: str, **info: object) -> None:
        """Pass it on; only a continuation leaves the last compression to be undone."""
        if info.get("boundary_reason") != "compression":
            self._undo_point = None
        hook = self.engine.on_session_start
        self._ask_engine("on_session_start never raises", None, hook, session_id, **fit_keywords(hook, info))
        self._read_figures()

    def on_session_end(self, session_id: str, messages: Sequence[object]) -> None:
        """Pass it on."""
        self._undo_point = None
        self._ask_engine(
            "on_session_end never raises", None, self.engine.on_session_end, session_id, messages
        )

    def on_session_reset(self) -> None:
        """Forget the conversation, and have the engine forget it."""
        super().on_session_reset()
        self.state = CompressionState()
        self._undo_point = None
        self._meter = Meter(self._model, b"", self._cache)
        self._ask_engine("on_session_reset never raises", None, self.engine.on_session_reset)

    def cancel_preparation(self) -> None:
        """Pass it on."""
        self._ask_engine("cancel_preparation never raises", None, self.engine.cancel_preparation)

    def update_model(
        self, model: str, context_length: int, base_url: str = "", api_key: str = "", provider: str = ""
    ) -> None:
        """Pass it on, and count as that model does."""
        self._model, self.context_length = model, context_length
        self._policy = replace(self._policy, context_length=context_length)
        self._meter = Meter(model, b"", self._cache)
        try:
            self.engine.update_model(model, context_length, base_url, api_key, provider)
        except RAISED as error:
            self._on_fault(
                self._contract_error("update_model takes a model and its window", error, hide=api_key)
            )
        self._read_figures()

    def get_tool_schemas(self) -> list[dict[str, object]]:
        """Return the tools of the engine."""
        promise = "get_tool_schemas returns a list"
        none: list[dict[str, object]] = []
        found: object = self._ask_engine(promise, none, self.engine.get_tool_schemas)
        return list(found) if isinstance(found, list | tuple) else []

    def handle_tool_call(self, name: str, args: Mapping[str, object], **info: object) -> str:
        """Have the engine answer a call of one of its tools."""
        answer = self.engine.handle_tool_call
        return answer(name, dict(args), **fit_keywords(answer, info))

    def get_status(self) -> dict[str, object]:
        """Return the figures of a status line, and those that the engine adds."""
        own = super().get_status()
        added: object = self._ask_engine("get_status returns a mapping", own, self.engine.get_status)
        return {**added, **own} if isinstance(added, dict) else own

    def _may_compress(self, tokens: int) -> bool:
        return self.enabled and not self._is_compressing and not is_paused(tokens, self.state)

    def _open(
        self,
        messages: Sequence[object],
        current_tokens: int | None,
        focus: str | None,
        keep_last: int | None,
        most: int | None,
    ) -> Run:
        tokens = self._measure(messages, current_tokens)
        policy = replace(self._policy, max_tokens=most) if most else self._policy
        state = reopen(self.state) if focus is not None or most is not None else self.state
        run = Run.of(self._meter.reader, tokens, policy, state)
        return replace(run, focus=focus, refusal=self._refuse(messages, keep_last))

    def _refuse(self, messages: Sequence[object], keep_last: int | None) -> str:
        """Return why the engine is not asked, empty where it is."""
        if keep_last is not None:
            return f"the engine {self.name!r} cannot keep a number of exchanges; compress without one"
        if self._is_compressing:
            return f"the engine {self.name!r} is still at work on the compression before"
        return "" if self.has_content_to_compress(messages) else NOTHING_YET

    def _compress(self, run: Run) -> object:
        compress: Callable[..., object] = self.engine.compress
        given = fit_keywords(compress, {"current_tokens": run.tokens, "focus_topic": run.focus})
        before = ItemSnapshot(run.request.messages)
        self._is_compressing = True
        try:
            returned = compress(list(run.request.messages), **given)
        except RAISED as error:
            before.restore()
            raise self._contract_error("compress returns a list", error) from error
        finally:
            self._is_compressing = False
        if before.restore():
            raise EngineContractError(self.name, "compress never changes the messages that it is given")
        return returned

    @contextmanager
    def _noting_faults(self, run: Run) -> Iterator[None]:
        """Count a compression that failed as one in vain, so that it is not tried again at once."""
        try:
            yield
        except EngineContractError:
            self.adopt(run.in_vain("").state)
            raise

    def _accept(self, returned: object, run: Run) -> Compression[object]:
        """Go on with the list that the engine returned, unless it is rejected."""
        self._read_figures()
        try:
            result = read_result(returned, run, engine=self.name, count=self._meter.reader.count)
        except ResultRejected as error:
            reason = f"what the engine {self.name!r} returned was not used: {error}"
            result = replace(run.in_vain(reason), warning=reason)
        if result is None:
            result = run.in_vain(f"the engine {self.name!r} left the messages as they are")
        return self._remember(result, run)

    def _read_figures(self) -> None:
        """Read the engine's own threshold; the window is the one that the host set."""
        threshold = getattr(self.engine, "threshold_tokens", 0)
        share = getattr(self.engine, "threshold_percent", ContextEngine.threshold_percent)
        self.threshold_percent = share if isinstance(share, int | float) else ContextEngine.threshold_percent
        is_set = isinstance(threshold, int) and 0 < threshold <= self.context_length
        self.threshold_tokens = threshold if is_set else int(self.context_length * self.threshold_percent)

    def _ask_engine(
        self, promise: str, default: T, ask: Callable[..., T], *args: object, **info: object
    ) -> T:
        """Ask the engine; one that raises is reported, and `default` is the answer."""
        try:
            return ask(*args, **info)
        except RAISED as error:
            self._on_fault(self._contract_error(promise, error))
            return default

    def _contract_error(self, promise: str, error: BaseException, *, hide: str = "") -> EngineContractError:
        return EngineContractError(self.name, f"{promise}; it raised {describe_error(error, hide=hide)}")
