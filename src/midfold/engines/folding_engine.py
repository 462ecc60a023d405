"""The contract of engines that tell what they did: folds as values, with state and key passed in and out.

A `ContextEngine` returns a list. A `FoldingEngine` also says which messages went, what stands for them and
what it saved, so that a host can store, show and take back its folds.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

from midfold.engines.asking import Patience, Summarizer
from midfold.engines.base import ContextEngine
from midfold.errors import EngineUnable
from midfold.folding import Compression, CompressionPolicy, CompressionState, Rehearsal
from midfold.messages import Message, MessageCache


class EngineStore(Protocol):
    """What an engine may keep beside the conversation; it is deleted with it."""

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value; `None` forgets it."""
        ...

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return what was saved by that name."""
        ...


@dataclass(frozen=True, slots=True)
class EngineSetup:
    """All that an engine is built from."""

    policy: CompressionPolicy = field(default_factory=CompressionPolicy)
    """how to compress, and the window to compress for"""
    model: str = ""
    summarizer: Summarizer | None = None
    """`None` is the built-in digest"""
    key: bytes = b""
    """of placeholders and fences: the same history, settings and key give the same bytes"""
    state: CompressionState = field(default_factory=CompressionState)
    store: EngineStore | None = None
    """for engines that keep more of a conversation than their state"""
    enabled: bool = True
    """whether to compress without being asked"""
    prepare_ahead: bool = True
    patience: Patience | None = None
    cache: MessageCache | None = None
    """messages that were read before, also by others"""


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
        messages: Sequence[object],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[object]:
        """Compress, and tell what was done.

        `keep_last` exchanges stay as they are; `most_tokens` is a ceiling for the whole request.
        """

    @abstractmethod
    async def acompress_result(
        self,
        messages: Sequence[object],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        *,
        keep_last: int | None = None,
        most_tokens: int | None = None,
    ) -> Compression[object]:
        """Compress in async code, and tell what was done; the event loop never waits."""

    def compress(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[object]:
        """Return the compressed list, or the messages as they are."""
        return self.compress_result(messages, current_tokens, focus_topic).messages

    async def acompress(
        self, messages: Sequence[object], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[object]:
        """Compress in async code; the event loop never waits for the summariser."""
        return (await self.acompress_result(messages, current_tokens, focus_topic)).messages

    def rehearse(
        self, messages: Sequence[object], focus_topic: str | None = None, *, keep_last: int | None = None
    ) -> Rehearsal[Message]:
        """Say what a compression by hand would do; no model is asked, and nothing changes.

        Raises `EngineUnable` where the engine cannot say.
        """
        raise EngineUnable(self.name, "say beforehand what a compression would do")

    @property
    def pins(self) -> tuple[str, ...]:
        """What the user pinned by hand: kept word for word through every compression."""
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
