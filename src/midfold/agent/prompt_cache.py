"""The provider's prompt cache for one conversation: a request costs only its new messages."""

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, Generic, TypeVar

from midfold.late_dataclasses import replace
from midfold.usage import Bust, PromptCache, SentRequest, digest_request
from midfold.wire import MESSAGE_BREAKPOINTS, System, apply_cache_control, count_markers

_T = TypeVar("_T")

_SYSTEM_ROLES = ("system", "developer")


class PrefixCache(Generic[_T]):
    """Remembers the value made of each message of a growing list, so that only new ones cost.

    Messages are known by identity: it is for those that nobody changes in place, as in a conversation here.
    """

    def __init__(self, make: Callable[[Sequence[object]], Sequence[_T]]) -> None:
        """`make` makes one thing of each message that it is given."""
        self._make = make
        self._items: list[object] = []
        self._made: list[_T] = []

    def of(self, items: Sequence[object]) -> list[_T]:
        """Return the values made of these messages."""
        known = self._count_known(items)
        del self._items[known:], self._made[known:]
        new = items[known:]
        if new:
            self._made += self._make(new)
            self._items += new
        return list(self._made)

    def _count_known(self, items: Sequence[object]) -> int:
        if len(self._items) <= len(items) and all(map(is_, self._items, items)):
            return len(self._items)
        pairs = enumerate(zip(self._items, items, strict=False))
        return next((index for index, (old, new) in pairs if old is not new), len(items))


class ConversationCache(PromptCache):
    """A `PromptCache` whose messages never change in place, and which only grow between folds."""

    def __init__(self, model: str, route: str, *, ttl: str) -> None:
        super().__init__(model, route, ttl=ttl)
        self.is_cold = False
        """whether the newest request missed what the one before it had left"""
        self._digests = PrefixCache(_digest)
        self._are_marked = PrefixCache(_look_for_markers)

    def mark(
        self,
        messages: Sequence[object],
        system: System = None,
        tools: Sequence[object] | None = None,
        *,
        folds: int = 0,
    ) -> tuple[list[Any], System]:
        """Mark as `PromptCache.mark` does, at a cost that does not grow with the conversation."""
        beside = digest_request((), system, tools)
        prefix = replace(beside, messages=tuple(self._digests.of(messages)))
        self._sent = SentRequest(self.model, prefix, self._clock(), folds)
        if not self.is_on:
            return list(messages), system
        # A system prompt that is the first message has a breakpoint, too, and markers of others count
        # against the four that are allowed, wherever they are.
        lead = 1 if system is None and messages and _role(messages[0]) in _SYSTEM_ROLES else 0
        start = max(0 if any(self._are_marked.of(messages)) else _start_of_tail(messages), lead)
        native = self.route.lower() != "openrouter"
        marked, marked_system = apply_cache_control(
            [*messages[:lead], *messages[start:]], system, self.ttl, native=native, tools=tools
        )
        return [*marked[:lead], *messages[lead:start], *marked[lead:]], marked_system

    def observe(self, usage: object) -> Bust | None:
        """Observe as `PromptCache.observe` does, and remember whether the cache is cold."""
        bust = super().observe(usage)
        self.is_cold = bust is not None
        return bust


def _digest(messages: Sequence[object]) -> tuple[bytes, ...]:
    return digest_request(messages).messages


def _look_for_markers(messages: Sequence[object]) -> list[bool]:
    return [count_markers([message]) > 0 for message in messages]


def _start_of_tail(messages: Sequence[object]) -> int:
    """Return from where on a message may be given a breakpoint.

    That is where enough requests of users stand before the newest reply: they can carry one whatever the
    route, and one of them, or a message after it, is the end of the request before.
    """
    position = len(messages) - 1
    while position >= 0 and _role(messages[position]) != "assistant":
        position -= 1
    while position >= 0 and _role(messages[position]) == "assistant":
        position -= 1
    wanted = MESSAGE_BREAKPOINTS
    while position > 0 and wanted:
        wanted -= _role(messages[position]) == "user" and _has_words(messages[position])
        position -= 1
    return max(position, 0)


def _has_words(message: object) -> bool:
    """Whether a message surely holds what can carry a breakpoint; a text that is blank cannot."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return bool(content.strip())
    blocks = content if isinstance(content, list) else []
    return any(str(block.get("text", "x")).strip() for block in blocks if isinstance(block, dict))


def _role(message: object) -> object:
    return message.get("role") if isinstance(message, dict) else None
