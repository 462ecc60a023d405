"""A provider's prompt cache, as far as it is documented: exact prefixes, a look-back of 20 blocks, a TTL."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest

LOOK_BACK = 20
LEAST_TOKENS = 1_024
TTL_SECONDS = {"5m": 300.0, "1h": 3_600.0}


@dataclass
class Block:
    """What a provider makes of one block: everything up to its end, and whether it has a breakpoint."""

    prefix: bytes
    tokens: int
    """of everything up to its end"""
    ttl: str | None


@dataclass
class ProviderCache:
    """Keeps prefixes that ended in a breakpoint, until they were not read for their TTL."""

    kept: dict[bytes, float] = field(default_factory=dict)
    """when each prefix expires"""

    def ask(self, body: dict[str, Any], now: float) -> dict[str, Any]:
        """Answer with usage, as the Messages API reports it."""
        blocks = list(_blocks(body))
        marked = [place for place, block in enumerate(blocks) if block.ttl]
        read = self._find(blocks, marked, now)
        written = max([blocks[place].tokens for place in marked], default=0)
        for place in marked:
            block = blocks[place]
            if block.tokens >= LEAST_TOKENS:
                self.kept[block.prefix] = now + TTL_SECONDS[block.ttl or "5m"]
        if written < LEAST_TOKENS:
            written = 0
        return {
            "input_tokens": blocks[-1].tokens - max(written, read),
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(0, written - read),
            "output_tokens": 200,
        }

    def _find(self, blocks: list[Block], marked: list[int], now: float) -> int:
        """Return the tokens of the longest prefix that is kept and near enough to a breakpoint."""
        for place in reversed(marked):
            for near in range(place, max(-1, place - LOOK_BACK), -1):
                if self.kept.get(blocks[near].prefix, 0.0) >= now:
                    self.kept[blocks[near].prefix] = now + TTL_SECONDS[blocks[place].ttl or "5m"]
                    return blocks[near].tokens
        return 0


def _blocks(body: dict[str, Any]) -> Iterator[Block]:
    link, tokens = body["model"].encode(), 0
    said = [("", block) for block in (*body.get("tools", ()), *_as_blocks(body.get("system")))]
    for role, block in (*said, *_said(body["messages"])):
        spelled = repr([role, *(item for item in block.items() if item[0] != "cache_control")]).encode()
        link = sha256(link + spelled).digest()
        tokens += max(1, len(spelled) // 4)
        marker = block.get("cache_control")
        yield Block(link, tokens, marker.get("ttl", "5m") if marker else None)


def _said(messages: list[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the blocks of messages in Anthropic's or OpenAI's shape; a marker on a message is its last's."""
    for message in messages:
        blocks = [*_as_blocks(message["content"]), *message.get("tool_calls", ())]
        if "cache_control" in message:
            blocks[-1] = {**blocks[-1], "cache_control": message["cache_control"]}
        for block in blocks:
            yield message["role"], block


def _as_blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


@pytest.fixture
def provider() -> ProviderCache:
    return ProviderCache()
