"""What a context engine is: the contract that hosts hold on to.

A host tells the engine what each call used, asks it whether to compress, and lets it. One engine is active
at a time and serves one conversation.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence


class ContextEngine(ABC):
    """Decides when a conversation is compressed, and how.

    Hosts read the attributes below; whoever writes an engine keeps them true.
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
        """Take in what a call used, in any provider's shape."""

    @abstractmethod
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Say whether to compress now; without a figure, by the last reported one."""

    @abstractmethod
    def compress(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[object]:
        """Return a shorter list that is legal for its provider, or the messages as they are."""

    def should_compress_preflight(
        self, messages: Sequence[object], *, system: object = None, tools: Sequence[object] | None = None
    ) -> bool:
        """Say whether to compress before a request is sent, by an estimate of it."""
        return False

    def has_content_to_compress(self, messages: Sequence[object]) -> bool:
        """Say whether there is anything to fold; hosts ask before they bother a model."""
        return True

    def on_session_start(self, session_id: str, **info: object) -> None:
        """A session starts, or a compression opened its continuation (`boundary_reason="compression"`)."""

    def on_session_end(self, session_id: str, messages: Sequence[object]) -> None:
        """A session really ends: exit, reset or expiry. Never called at a compression."""

    def on_session_reset(self) -> None:
        """Forget the conversation: counters go back to zero."""
        self.last_prompt_tokens = 0
        self.last_completion_tokens = 0
        self.last_total_tokens = 0
        self.compression_count = 0

    def cancel_preparation(self) -> None:
        """Give up whatever is prepared beside the conversation; nothing is heard of it any more."""

    def undo(self, messages: Sequence[object] | None = None) -> list[object] | None:
        """Take the last compression back, where the engine can: the list before it and what came since."""
        return None

    def get_tool_schemas(self) -> list[dict[str, object]]:
        """Return the tools that this engine offers to the model."""
        return []

    def handle_tool_call(self, name: str, args: Mapping[str, object], **info: object) -> str:
        """Answer a call of one of this engine's tools, as JSON text."""
        return json.dumps({"error": f"unknown tool: {name}"})

    def get_status(self) -> dict[str, object]:
        """Return what a status line shows."""
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
        """Another model takes over: its window sets the threshold anew."""
        self.context_length = context_length
        self.threshold_tokens = int(context_length * self.threshold_percent)
