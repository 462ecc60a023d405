"""Counts the tokens that a text, a message or a set of tools takes in the window.

Counting is the largest cost of a compression, so a message is counted once, part by part, and its size is
passed on.
"""

import json
from collections.abc import Sequence
from math import ceil
from typing import assert_never

from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.tokens.tokenizers import find_family, load_counter

# Hidden thinking travels encrypted, as base64: four characters hold three bytes, and four or five bytes make
# a token.
_SIGNATURE_CHARS_PER_TOKEN = 6


def estimate_tokens(text: str) -> int:
    """Count `text` with the o200k vocabulary, or approximate that count where no tokenizer is installed."""
    return count_tokens(text)


def count_tokens(text: str, model: str | None = None) -> int:
    """Count `text` as `model` does.

    Exact where the model's vocabulary is packaged; else the o200k count times a factor of its family.
    """
    return TokenCounter(model).count_text(text)


class TokenCounter:
    """Counts for one model; a `Count`, and the same for texts and tools."""

    __slots__ = ("_family", "_model")

    def __init__(self, model: str | None = None) -> None:
        self._model = model or ""
        self._family = find_family(model)

    def __call__(self, message: Message, /) -> int:
        """Count a message with the tokens its provider puts around it; the same message is counted once."""
        facts = message.facts
        if facts.tokens_for != self._model:
            counted = self._family.message_tokens + sum([self._count_part(part) for part in message.parts])
            # First the figure, then whose it is: threads may share a message.
            facts.tokens_for, facts.tokens = None, counted
            facts.tokens_for = self._model
        return facts.tokens

    def count_text(self, text: str) -> int:
        """Count words alone, without any framing."""
        if not text:
            return 0
        return ceil(load_counter(self._family.vocabulary)(text) * self._family.factor)

    def count_tools(self, tools: Sequence[object]) -> int:
        """Count the tools offered with a request by their JSON schemas."""
        return self.count_schemas(serialize_tools(tools))

    def count_schemas(self, serialized: str) -> int:
        """Count tools as `serialize_tools` writes them."""
        return self._family.tools_tokens + self.count_text(serialized) if serialized else 0

    def _count_part(self, part: Part) -> int:
        match part:
            case Text(text) | Opaque(_, text):
                return self.count_text(text)
            case ToolResult(_, text, _, media):
                return self.count_text(text) + sum([self._count_media(item) for item in media])
            case ToolCall(_, name, arguments):
                return self._family.call_tokens + self.count_text(name) + self.count_text(arguments)
            case Reasoning(text, signature):
                return max(self.count_text(text), len(signature) // _SIGNATURE_CHARS_PER_TOKEN)
            case Media():
                return self._count_media(part)
            case Removed():
                return 0
            case _:
                assert_never(part)

    def _count_media(self, media: Media) -> int:
        if media.mime.startswith("text/"):
            return self.count_text(media.source)
        from midfold.tokens.images import count_media

        return count_media(media, self._model)


def serialize_tools(tools: Sequence[object]) -> str:
    """Write tools as they are counted; nothing where there are none."""
    if not tools:
        return ""
    try:
        return json.dumps(tools, ensure_ascii=False, separators=(",", ":"), default=str)
    except RecursionError:
        return _write_nested(tools)


def _write_nested(value: object) -> str:
    """Write the names and values of a structure that is nested too deeply for an encoder, in no order."""
    words: list[str] = []
    waiting = [value]
    while waiting:
        match waiting.pop():
            case dict() as fields:
                waiting += [*fields, *fields.values()]
            case list() as values:
                waiting += values
            case word:
                words.append(str(word))
    return " ".join(words)
