"""The contracts between hosts and context engines.

A host reports the usage of each call, asks the engine whether to compress, and lets it. One engine is active
at a time and serves one conversation. A `ContextEngine` returns a list. A `FoldingEngine` also says which
messages went, what stands for them and what it saved, so that a host can store, show and undo its folds.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeVar

from midfold.engines.summarizer_call import Patience, Summarizer
from midfold.errors import EngineUnable
from midfold.folding import Compression, CompressionPolicy, CompressionState, DryRun
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message, MessageCache

M = TypeVar("M")


class ContextEngine(ABC):
    """Decides when a conversation is compressed, and how.

    Hosts read the attributes below; an engine keeps them true.
    """

    last_prompt_tokens: int = 0
    last_completion_tokens: int = 0
    last_total_tokens: int = 0
    threshold_tokens: int = 0
    context_length: int = 0
    compression_count: int = 0
    threshold_percent: float = 0.75
    protect_first_n: int = 3
    protect_last_n: int = 6

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that selects this engine."""

    @abstractmethod
    def update_from_response(self, usage: object) -> None:
        """Set `last_prompt_tokens` and its siblings by what a call used.

        `usage` is the usage of one reply, as the provider wrote it: a dict or SDK object of any API, or a
        `CanonicalUsage`; `normalize_usage` reads them all.
        """

    @abstractmethod
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Return whether to compress now, by the given or the last reported count."""

    @abstractmethod
    def compress(
        self, messages: Sequence[M], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[M]:
        """Return a shorter list that its provider accepts, or the same messages."""

    def should_compress_preflight(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> bool:
        """Return whether to compress before a request is sent, by its estimated size."""
        return False

    def has_content_to_compress(self, messages: Sequence[object]) -> bool:
        """Return whether there is anything to fold; hosts ask before they call a model."""
        return True

    def on_session_start(self, session_id: str, **info: object) -> None:
        """A session starts, or a compression opened its continuation (`boundary_reason="compression"`)."""

    def on_session_end(self, session_id: str, messages: Sequence[object]) -> None:
        """A session ends: exit, reset or expiry. Not called at a compression."""

    def on_session_reset(self) -> None:
        """Forget the conversation: counters go back to zero."""
        self.last_prompt_tokens = 0
        self.last_completion_tokens = 0
        self.last_total_tokens = 0
        self.compression_count = 0

    def cancel_preparation(self) -> None:
        """Discard the prepared fold, if there is one."""

    def undo(self, messages: Sequence[object] | None = None) -> list[object] | None:
        """Undo the last compression, if possible: return the old list and the newer messages."""
        return None

    def get_tool_schemas(self) -> list[dict[str, object]]:
        """Return the tools that this engine offers to the model."""
        return []

    def handle_tool_call(self, name: str, args: Mapping[str, object], **info: object) -> str:
        """Answer a call of one of this engine's tools, as JSON text."""
        return json.dumps({"error": f"unknown tool: {name}"})

    def get_status(self) -> dict[str, object]:
        """Return the figures of a status line."""
        used = 100 * self.last_prompt_tokens / self.context_length if self.context_length else 0
        return {
            "last_prompt_tokens": self.last_prompt_tokens,
            "threshold_tokens": self.threshold_tokens,
            "context_length": self.context_length,
            "usage_percent": min(100.0, round(used, 1)),
            "compression_count": self.compression_count,
        }

    def update_model(
        self, model: str, context_length: int, base_url: str = "", api_key: str = "", provider: str = ""
    ) -> None:
        """Switch to another model: its window sets the threshold."""
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)


class EngineStore(Protocol):
    """Where an engine keeps values of its own; they are deleted with the conversation."""

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value; `None` forgets it."""
        ...

    def add_state(self, session_id: str, name: str, value: object) -> bool:
        """Keep a JSON value unless there is one by that name; return whether it was kept."""
        ...

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return the value that was saved by that name."""
        ...


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """Everything that an engine is built from."""

    policy: CompressionPolicy = field(default_factory=CompressionPolicy)
    """the settings of a compression, and the window to compress for"""
    model: str = ""
    summarizer: Summarizer | None = None
    """`None` is the built-in digest"""
    key: bytes = b""
    """of placeholders and fences: the same history, settings and key give the same bytes"""
    state: CompressionState = field(default_factory=CompressionState)
    store: EngineStore | None = None
    """for engines that keep more of a conversation than their state"""
    enabled: bool = True
    """whether to compress automatically"""
    prepare_ahead: bool = True
    patience: Patience | None = None
    cache: MessageCache | None = None
    """messages that were read before, also by other readers"""
    answers_by_model: bool = False
    """whether the summariser also answers questions that the engine's tools are asked; each is paid for"""


class FoldingEngine(ContextEngine):
    """An engine whose compressions are values, and whose memory is passed in and out.

    `state` is all that it remembers of a conversation. Hosts keep it, and hand it back with `adopt`.
    """

    enabled: bool = True
    state: CompressionState
    can_pin: bool = True
    """whether it keeps sentences word for word that a person pinned"""

    @classmethod
    @abstractmethod
    def open(cls, setup: EngineSetup) -> Self:
        """Build an engine."""

    @property
    @abstractmethod
    def policy(self) -> CompressionPolicy:
        """The settings of its compressions."""

    @policy.setter
    @abstractmethod
    def policy(self, policy: CompressionPolicy) -> None: ...

    @property
    @abstractmethod
    def key(self) -> bytes:
        """The key of placeholders and fences."""

    @abstractmethod
    def adopt(self, state: CompressionState, *, key: bytes | None = None) -> None:
        """Go on with what was remembered of a conversation, and with its key where that is another one."""

    @abstractmethod
    def estimate(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> int:
        """Estimate the tokens of a request."""

    @abstractmethod
    def compress_result(
        self,
        messages: Sequence[M],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[M]:
        """Compress, and report what was done.

        `keep_last` exchanges stay as they are; `most_tokens` is a ceiling for the whole request.
        """

    @abstractmethod
    async def acompress_result(
        self,
        messages: Sequence[M],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[M]:
        """Compress in async code, and report what was done; the event loop never waits."""

    def compress(
        self, messages: Sequence[M], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[M]:
        """Return the compressed list, or the messages as they are."""
        return self.compress_result(messages, current_tokens, focus_topic).messages

    async def acompress(
        self, messages: Sequence[M], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[M]:
        """Compress in async code; the event loop never waits for the summariser."""
        return (await self.acompress_result(messages, current_tokens, focus_topic)).messages

    def dry_run(
        self, messages: Sequence[object], focus_topic: str | None = None, *, keep_last: int | None = None
    ) -> DryRun[Message]:
        """Return what a compression by hand would do; no model is asked, and nothing changes.

        Raises `EngineUnable` where the engine cannot say.
        """
        raise EngineUnable(self.name, "say beforehand what a compression would do")

    @property
    def pins(self) -> tuple[str, ...]:
        """The sentences that the user pinned: kept word for word through every compression."""
        return self.state.pins

    def pin(self, text: str) -> None:
        """Keep a sentence word for word through every compression; raises `EngineUnable`."""
        self._check_pins()
        self.adopt(self.state.with_pin(text))

    def unpin(self, text: str) -> None:
        """Let go of a sentence, pinned by hand or found as a rule; raises `EngineUnable`."""
        self._check_pins()
        self.adopt(self.state.without_pin(text))

    def approach_warning(self) -> str | None:
        """Return a sentence for the user when a compression is near; once, until usage drops again."""
        return None

    def _check_pins(self) -> None:
        if not self.can_pin:
            raise EngineUnable(self.name, "keep sentences word for word, so nothing can be pinned")
