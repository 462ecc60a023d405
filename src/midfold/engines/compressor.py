"""The default engine: folds the middle of a conversation when the threshold is reached.

It is the only mutable thing around the fold; each method is a few lines over a pure function.
"""

from collections.abc import Sequence
from typing import Self, TypeVar, cast

from midfold import folding
from midfold.concurrency import running_loop
from midfold.engines.arguments import check_summarizer, check_window
from midfold.engines.base import EngineSetup, EngineStore
from midfold.engines.meter import Meter
from midfold.engines.metered_engine import MeteredEngine
from midfold.engines.prepared import (
    Background,
    Phase,
    Tell,
    apply_prepared_fold,
    can_wait,
    is_prepared_for,
    is_still_useful,
    is_time,
    prepare_from,
)
from midfold.engines.pruned import PrunedOriginals
from midfold.engines.reports import log_pressure
from midfold.engines.run import Run
from midfold.engines.summarizer_call import Patience, Summarizer, SummarizerCaller, no_summary
from midfold.errors import StaleFold
from midfold.folding import DIGEST, Compression, CompressionPolicy, CompressionState, DryRun, Flow
from midfold.late_dataclasses import replace
from midfold.messages import Message, MessageCache
from midfold.pipeline import render_compression, render_flow
from midfold.wire import normalize_usage, parse

M = TypeVar("M")
_STANDS_IN = "the built-in digest stands in"


class ContextCompressor(MeteredEngine):
    """Keeps both ends of a conversation and folds its middle.

    `summarizer` is any callable from `SummaryRequest` to text; without one the built-in digest summarises.
    With one, and with `prepare_ahead`, a host that asks `should_compress_preflight` before each request never
    waits for it: it is asked in the `background`, from any thread. Other hosts wait with `patience`. An async
    one is for async hosts, on whose event loop it is awaited. The same history, settings and `key` give the
    same bytes. `store` is for engines that keep more of a conversation than their `state`; this one does not.
    """

    def __init__(
        self,
        context_length: int = 200_000,
        *,
        model: str | None = None,
        policy: CompressionPolicy | None = None,
        summarizer: Summarizer | None = None,
        enabled: bool = True,
        prepare_ahead: bool = True,
        background: Background | None = None,
        patience: Patience | None = None,
        cache: MessageCache | None = None,
        key: bytes = b"",
        state: CompressionState | None = None,
        store: EngineStore | None = None,
    ) -> None:
        check_window(context_length)
        check_summarizer(summarizer)
        self.enabled = enabled
        self.prepare_ahead = prepare_ahead
        self.state = state or CompressionState()
        self.compression_count = self.state.count
        self.store = store
        self._summarizer = summarizer
        self._background = background or Background()
        self._caller = SummarizerCaller(patience)
        self._policy = policy or CompressionPolicy()
        self._cache = cache or MessageCache(parse)
        self._key = key
        self._pruned = PrunedOriginals()
        self._is_requested, self._requested_focus = False, cast("str | None", None)
        self._has_report = False
        self._use_model(model or "", context_length)

    name = "compressor"

    @classmethod
    def open(cls, setup: EngineSetup) -> Self:
        """Build an engine from one value."""
        return cls(
            setup.policy.context_length,
            model=setup.model,
            policy=setup.policy,
            summarizer=setup.summarizer,
            enabled=setup.enabled,
            prepare_ahead=setup.prepare_ahead,
            patience=setup.patience,
            cache=setup.cache,
            key=setup.key,
            state=setup.state,
            store=setup.store,
        )

    @property
    def setup(self) -> EngineSetup:
        """The setup of this engine, to build an equal one from."""
        own = (self.policy, self.model, self._summarizer, self._key, self.state, self.store)
        return EngineSetup(*own, self.enabled, self.prepare_ahead, self._caller.patience, self._cache)

    def adopt(self, state: CompressionState, *, key: bytes | None = None) -> None:
        """Adopt the state of a conversation; a fold prepared with other pins is discarded."""
        if (state.pins, state.unpinned) != (self.state.pins, self.state.unpinned):
            self._background.discard("the pins changed")
        self.state = state
        self.compression_count = state.count
        if key is not None and key != self._key:
            self._key = key
            self._background.discard("another conversation was taken up")
            self._forget()

    @property
    def summarizer(self) -> Summarizer | None:
        """The writer of summaries; `None` is the built-in digest. A change gives up the prepared fold."""
        return self._summarizer

    @summarizer.setter
    def summarizer(self, summarizer: Summarizer | None) -> None:
        if summarizer is not self._summarizer:
            self._background.discard("another summariser was set")
        self._summarizer = summarizer

    def update_from_response(self, usage: object) -> None:
        """Record the usage of a call and calibrate the count; `None` changes nothing."""
        if usage is None:
            return
        self._note_usage(normalize_usage(usage))
        self._has_report = True
        self._prepare_next(self.last_prompt_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether to compress now, by the last report or a given figure."""
        if self._is_requested or not self.enabled:
            return self._is_requested
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        is_under_way = self._background.preparation.phase is Phase.PREPARING
        has_time = is_under_way and can_wait(tokens, self._policy)
        is_due = folding.decide(tokens, self._policy, self.state).compress
        return is_due and not has_time and not self._why_wait(tokens)

    def should_compress_preflight(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> bool:
        """Return whether to compress before this request is sent, by an estimate of its size.

        From 80 % of the threshold on the next fold is prepared meanwhile; while it is, and the request still
        fits, the answer is no.
        """
        if not self._has_report and len(messages) > len(self._meter.reader.messages) > 0:
            # A host that never reports what a call used has turns all the same.
            self.state = self.state.next_turn()
        self._has_report = False
        tokens = self.estimate(messages, system=system, tools=tools)
        log_pressure(tokens, self._policy)
        self._asks_ahead = True
        self._prepare_next(tokens)
        return self.should_compress(tokens)

    def has_content_to_compress(self, messages: Sequence[object]) -> bool:
        """Return whether there is a middle to fold."""
        self._meter.reader.read(messages)
        return self._make_run(0).has_middle

    def request_compression(self, reason: str, focus: str | None = None) -> None:
        """Ask for a compression at the next safe point, as plug-ins do; `reason` says why, for people."""
        self._is_requested = bool(reason)
        self._requested_focus = focus

    def compress_result(
        self,
        messages: Sequence[M],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[M]:
        """Compress and return the result; an interrupted compression changes nothing.

        A fold that was prepared ahead is applied at once; its `reason` says so. With `keep_last`, that
        many exchanges (a request and all that follows it) stay as they are, and what is before them is
        folded, as a person asked for it. `most_tokens` is a ceiling for the whole request, set by a refusal.
        """
        run = self._open(messages, current_tokens, focus_topic, keep_last, most_tokens)
        ask = self._caller.for_fold(self._summarizer or no_summary)
        result = self._skip_flow(run) or self._explain_digest(folding.run(self._flow(run), ask), run)
        return cast("Compression[M]", result)

    async def acompress_result(
        self,
        messages: Sequence[M],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[M]:
        """The async form of `compress_result`."""
        run = self._open(messages, current_tokens, focus_topic, keep_last, most_tokens)
        ask = self._caller.for_fold_async(self._summarizer or no_summary)
        result = self._skip_flow(run) or self._explain_digest(await folding.arun(self._flow(run), ask), run)
        return cast("Compression[M]", result)

    def on_prepared(self, tell: Tell) -> None:
        """Call `tell`, in the thread that prepared it, with each fold that `take_prepared` may take."""
        self._background.tell = tell

    @property
    def wants_fold(self) -> bool:
        """Whether it is time for a fold, and none is under way or ready."""
        is_idle = self._background.preparation.phase not in (Phase.PREPARING, Phase.READY)
        return is_idle and self._prepares and self._meter.estimate_read() >= prepare_from(self._policy)

    def take_prepared(self, prepared: Compression[Message]) -> None:
        """Take a fold that another engine prepared for this conversation."""
        if is_prepared_for(prepared, self._meter.reader.messages):
            self._background.receive(prepared)

    def cancel_preparation(self) -> None:
        """Discard the prepared fold; a late answer is ignored."""
        self._background.discard("it was cancelled")

    def undo(self, messages: Sequence[object] | None = None) -> list[object] | None:
        """Undo the last compression, and discard the fold prepared after it."""
        restored = super().undo(messages)
        if restored is not None:
            self._asks_ahead = False
            self._background.discard("a compression was taken back")
        return restored

    def dry_run(
        self, messages: Sequence[object], focus_topic: str | None = None, *, keep_last: int | None = None
    ) -> DryRun[Message]:
        """Return what a manual compression would do, without a model and without a change."""
        run = self._open(messages, None, focus_topic, keep_last, None)
        if run.refusal:
            return DryRun((), run.unchanged(run.refusal).with_messages(list(run.messages)))
        run = replace(run, state=folding.reopen(run.state), is_manual=True, is_emergency=False)
        return folding.dry_run(self._begin(run, use_model=self._summarizer is not None))

    def get_status(self) -> dict[str, object]:
        """Return the figures of a status line, the phase of the next fold, and why it waits if it does."""
        own = {"preparation": self._background.describe(), "waits": self._why_wait(self.last_prompt_tokens)}
        return super().get_status() | own

    def on_session_start(self, session_id: str, **info: object) -> None:
        """Drop the last conversation, unless this one continues it."""
        if info.get("boundary_reason") != "compression":
            self._background.discard("another session started")
            self._undo_point = None

    def on_session_end(self, session_id: str, messages: Sequence[object]) -> None:
        """Stop preparing folds, and drop the undo point."""
        self._background.discard("the session ended")
        self._undo_point = None

    def on_session_reset(self) -> None:
        """Forget the conversation: counters, earlier compressions, warnings, the pause."""
        super().on_session_reset()
        self.state = CompressionState()
        self._is_requested, self._requested_focus = False, None
        self._undo_point = None
        self._background.forget()
        self._forget()

    def update_model(
        self, model: str, context_length: int, base_url: str = "", api_key: str = "", provider: str = ""
    ) -> None:
        """Switch to another model: its window sets the budgets, its tokenizer counts."""
        if (model, context_length) != (self.model, self.context_length):
            self._background.discard("another model took over")
            self._use_model(model, context_length)

    def _use_model(self, model: str, context_length: int) -> None:
        self.model, self.context_length = model, context_length
        self._use_policy(self._policy)
        self._forget()

    def _use_policy(self, policy: CompressionPolicy) -> None:
        super()._use_policy(policy)
        self.threshold_percent = self._policy.threshold
        self.threshold_tokens = self._policy.threshold_tokens
        self.protect_first_n, self.protect_last_n = policy.protect_first_n, policy.protect_last_n

    def _forget(self) -> None:
        """Drop what was read and learnt for another model or another conversation."""
        self._pruned.forget()
        self._meter = Meter(self.model, self._key, self._cache)
        self._asks_ahead = False

    @property
    def _prepares(self) -> bool:
        """Whether folds are prepared: a digest is written in no time, and a ceiling has no threshold."""
        has_threshold = self._policy.max_tokens is None
        return self.prepare_ahead and self.enabled and self._summarizer is not None and has_threshold

    def _prepare_next(self, tokens: int) -> None:
        """Begin on the next fold when it is time, for the list as it was last shown."""
        summarize = self._summarizer
        if summarize is None or not (self._prepares and self._asks_ahead):
            return
        ready = self._background.preparation.ready
        if ready is not None and not is_prepared_for(ready, self._meter.reader.messages):
            self._background.discard_stale()
        # By the time it is due the request will have grown to the threshold.
        due = max(tokens, self.threshold_tokens)
        if is_time(tokens, self._policy, self.state) and not self._why_wait(due):
            flow = self._begin(self._make_run(due), use_model=True)
            loop = running_loop()
            self._background.start(lambda: folding.run(flow, self._caller.for_fold(summarize, loop)))

    def _why_not_ask(self, is_manual: bool) -> str | None:
        """Say why the summariser is not asked now, if that is so: nobody waits for it in a turn."""
        if is_manual or not (self._prepares and self._asks_ahead):
            return None
        return self._background.preparation.excuse

    def _why_wait(self, tokens: int) -> str:
        return self._meter.why_wait(tokens, self._policy, uses_model=self._summarizer is not None)

    def _make_run(self, tokens: int) -> Run:
        return Run.of(self._meter.reader, tokens, self._policy, self.state)

    def _open(
        self,
        messages: Sequence[object],
        current_tokens: int | None,
        focus_topic: str | None,
        keep_last: int | None,
        most_tokens: int | None,
    ) -> Run:
        return self._make_run(self._measure(messages, current_tokens)).asked(
            focus=focus_topic or self._requested_focus,
            keep_last=keep_last,
            most_tokens=most_tokens,
            is_requested=self._is_requested,
        )

    def _skip_flow(self, run: Run) -> Compression[object] | None:
        """Do what needs no flow: refuse, or apply the prepared fold if it belongs here and helps."""
        if run.refusal:
            return self._remember(run.unchanged(run.refusal), run)
        preparation = self._background.preparation
        # A summary that is ready was paid for: a person gets it, too, unless they asked for another one.
        is_special = run.focus is not None or run.is_partial or run.policy.max_tokens is not None
        if preparation.ready is None or (run.is_manual and is_special):
            return None
        try:
            applied = apply_prepared_fold(
                preparation.ready, run, count=self._meter.reader.count, key=self._key
            )
        except StaleFold:
            self._background.discard_stale()
            return None
        result = render_compression(applied, run.request, run.state)
        if not is_still_useful(result, preparation.ready, prepare_from(self._policy)):
            self._background.discard("it would no longer help")
            return None
        return self._remember(result, run) if self._background.commit(preparation.ticket) else None

    def _flow(self, run: Run) -> Flow[object]:
        can_ask = self._summarizer is not None and self._why_not_ask(run.is_manual) is None
        flow = self._begin(run, use_model=can_ask and not run.is_emergency)
        return render_flow(flow, run.request, run.state)

    def _begin(self, run: Run, *, use_model: bool) -> Flow[Message]:
        """Return the flow of a run; engines that fold otherwise have another one."""
        reader = self._meter.reader
        return run.flow(reader, use_model=use_model, originals=self._pruned.find(reader.digests))

    def _explain_digest(self, outcome: Compression[object], run: Run) -> Compression[object]:
        """Add the reason where the digest stood in for a summary that was not ready."""
        why = self._why_not_ask(run.is_manual) if outcome.summarizer == DIGEST else None
        if why is not None and outcome.warning is None:
            is_said = _STANDS_IN in why  # by the failure of a preparation
            outcome = replace(outcome, warning=why if is_said else f"{why}; {_STANDS_IN}")
        return self._remember(outcome, run)

    def _remember(self, result: Compression[object], run: Run) -> Compression[object]:
        if result.changed:
            self._pruned.remember(result)
            self._background.conclude()
            self._asks_ahead = False
        self._is_requested, self._requested_focus = False, None
        return super()._remember(result, run)
