"""The default engine: folds the middle of a conversation when the threshold is reached.

The only mutable thing around the fold; each method is a few lines over a pure function.
"""

import asyncio
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from midfold.compression.flow import Flow, SummaryRequest, compress
from midfold.compression.plan import lay_out, make_plan
from midfold.compression.policy import CompressionPolicy
from midfold.compression.pressure import decide, reopen, warn
from midfold.compression.results import Compression
from midfold.compression.run import arun, run
from midfold.compression.state import CompressionState
from midfold.engines.base import ContextEngine
from midfold.engines.folding import conclude
from midfold.engines.reading import Reader
from midfold.errors import SummaryUnavailable
from midfold.messages import Message
from midfold.tokens import Calibration, TokenCounter
from midfold.wire import Request
from midfold.wire.usage import normalize_usage

Summarizer = Callable[[SummaryRequest], str]


class ContextCompressor(ContextEngine):
    """Keeps both ends of a conversation and folds its middle.

    `summarizer` is any callable from `SummaryRequest` to text; without one the built-in digest summarises.
    """

    def __init__(
        self,
        context_length: int = 200_000,
        *,
        model: str | None = None,
        policy: CompressionPolicy | None = None,
        summarizer: Summarizer | None = None,
        enabled: bool = True,
    ) -> None:
        self.summarizer = summarizer
        self.enabled = enabled
        self.state = CompressionState()
        self._policy = policy or CompressionPolicy()
        self._key = secrets.token_bytes(16)
        self._requested_focus: str | None = None
        self._is_requested = False
        self._reader = Reader(TokenCounter(model))
        self._calibration = Calibration()
        self._sent_tokens: int | None = None
        self._beside = 0
        self._unseen_tokens = 0
        self.update_model(model or "", context_length)

    @property
    def name(self) -> str:
        return "compressor"

    @property
    def policy(self) -> CompressionPolicy:
        """The settings of this engine's compressions."""
        return self._policy

    def update_from_response(self, usage: object) -> None:
        """Take in what a call used: the figures that decide, and how far our counts are off."""
        used = normalize_usage(usage)
        self.last_prompt_tokens = used.prompt_tokens
        self.last_completion_tokens = used.output_tokens
        self.last_total_tokens = used.total_tokens
        self.state = replace(self.state, turn=self.state.turn + 1)
        if self._sent_tokens is not None:
            self._calibration = self._calibration.observe(used.prompt_tokens, self._sent_tokens)

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Say whether to compress now, by the last report or a given figure."""
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        return self._is_requested or (self.enabled and decide(tokens, self._policy, self.state).compress)

    def should_compress_preflight(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> bool:
        """Say whether to compress before this request is sent, by an estimate of the whole of it."""
        return self.should_compress(self.estimate(messages, system=system, tools=tools))

    def estimate(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> int:
        """Estimate the tokens of a request: the last report and what came after it, else our own count."""
        self._reader.read(messages)
        self._beside = self._reader.count_beside(system, tools)
        self._sent_tokens = self._reader.tokens + self._beside
        return self._calibration.estimate(self._sent_tokens)

    def has_content_to_compress(self, messages: Sequence[object]) -> bool:
        """Say whether there is a middle to fold."""
        parsed = self._reader.read(messages)
        layout = lay_out(parsed, self._reader.sizes, self._policy)
        plan = make_plan(layout, self._policy, self._policy.tail_budget_tokens)
        earlier = layout.summary
        return any(index != earlier for span in plan.spans for index in span)

    def request_compression(self, reason: str, focus: str | None = None) -> None:
        """Ask for a compression at the next safe point, as plug-ins do; `reason` says why, for people."""
        self._is_requested = bool(reason)
        self._requested_focus = focus

    def compress(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[object]:
        """Return the compressed list, or the messages as they are."""
        return self.compress_result(messages, current_tokens, focus_topic).messages

    def compress_result(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> Compression[object]:
        """Compress, and tell what was done; interrupting it leaves everything as it was."""
        request, flow = self._prepare(messages, current_tokens, focus_topic)
        return self._take(run(flow, self.summarizer or _no_summary), request)

    async def acompress(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[object]:
        """Compress in async code; the summariser runs in a thread and the event loop never waits for it."""
        return (await self.acompress_result(messages, current_tokens, focus_topic)).messages

    async def acompress_result(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> Compression[object]:
        """Compress in async code, and tell what was done."""
        request, flow = self._prepare(messages, current_tokens, focus_topic)
        summarize = self.summarizer or _no_summary

        async def ask(asked: SummaryRequest) -> str:
            return await asyncio.to_thread(summarize, asked)

        return self._take(await arun(flow, ask), request)

    def approach_warning(self) -> str | None:
        """Return a sentence for the user when the threshold is near; once, until usage drops again."""
        words, self.state = warn(self.last_prompt_tokens, self._policy, self.state)
        return words

    def on_session_reset(self) -> None:
        """Forget the conversation: counters, earlier compressions, warnings, the pause."""
        super().on_session_reset()
        self.state = CompressionState()
        self._is_requested = False
        self._requested_focus = None
        self._forget()

    def update_model(
        self,
        model: str,
        context_length: int,
        *,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
    ) -> None:
        """Another model takes over: its window sets the budgets, its vocabulary counts."""
        self.model = model
        self._policy = replace(self._policy, context_length=context_length)
        self.context_length = context_length
        self.threshold_percent = self._policy.threshold
        self.threshold_tokens = self._policy.threshold_tokens
        self.protect_first_n = self._policy.protect_first_n
        self.protect_last_n = self._policy.protect_last_n
        self._forget()

    def _forget(self) -> None:
        """Drop what was read and learnt for another model or another conversation."""
        self._reader = Reader(TokenCounter(self.model or None))
        self._calibration = Calibration()
        self._sent_tokens = None
        self._beside = 0

    def _prepare(
        self, messages: Sequence[object], current_tokens: int | None, focus_topic: str | None
    ) -> tuple[Request, Flow]:
        parsed = list(self._reader.read(messages))
        tokens = self._whole_request(current_tokens)
        decision = decide(tokens, self._policy, self.state)
        focus = focus_topic or self._requested_focus
        # A host that insists although nothing calls for it is passing on what a person asked for.
        is_manual = focus is not None or self._is_requested or not self._is_due(tokens)
        if is_manual:
            self.state = reopen(self.state)
        self._unseen_tokens = tokens - self._reader.tokens - self._beside
        flow = compress(
            parsed,
            policy=self._policy,
            count=self._reader.count,
            state=self.state,
            sizes=list(self._reader.sizes),
            overhead_tokens=tokens - self._reader.tokens,
            focus=focus,
            use_model=self.summarizer is not None and not decision.is_emergency,
            is_manual=is_manual,
            is_emergency=decision.is_emergency,
            key=self._key,
        )
        return Request(self._reader.dialect, list(messages)), flow

    def _is_due(self, tokens: int) -> bool:
        """Whether a request of this size calls for a compression, paused or not."""
        return decide(tokens, self._policy, reopen(self.state)).compress

    def _whole_request(self, current_tokens: int | None) -> int:
        """Return the size of the request these messages are part of; never less than the messages alone."""
        counted = self._reader.tokens + self._beside
        if current_tokens is not None:
            return max(current_tokens, counted)
        return max(self._calibration.estimate(counted), self.last_prompt_tokens, counted)

    def _take(self, outcome: Compression[Message], request: Request) -> Compression[object]:
        """Remember what came out, and only then count it as done."""
        result = conclude(outcome, request, self.state)
        self.state = result.state
        self.compression_count = result.state.count
        self._is_requested = False
        self._requested_focus = None
        if result.changed:
            self.last_prompt_tokens = result.tokens_after
            # What the provider reports next is about the compressed list.
            self._sent_tokens = result.tokens_after - self._unseen_tokens
        return result


def _no_summary(_request: SummaryRequest) -> str:
    raise SummaryUnavailable("no summariser is configured")
