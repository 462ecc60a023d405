"""Anthropic Messages."""

import json
from collections.abc import Sequence

from midfold.wire.apis.api import (
    Api,
    CallChunk,
    Chunk,
    Completion,
    Finish,
    Quirks,
    ReasoningChunk,
    TextChunk,
    base_body,
    index_in,
    make_completion,
    text_of,
)
from midfold.wire.dialect import Item, Unreadable, as_item
from midfold.wire.dialects import Request

VERSION = "2023-06-01"

# The API demands a cap; this is the largest that every one of its models takes.
_DEFAULT_CAP_TOKENS = 4_096
_FINISHES = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "max_tokens": Finish.LENGTH,
    "tool_use": Finish.CALLS,
    "refusal": Finish.REFUSED,
    "model_context_window_exceeded": Finish.OVERFLOW,
}
# Where each kind of delta has its words, and in which field of the block they end up.
_GROWING = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "input"),
}


def headers(key: str) -> dict[str, str]:
    return {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})


def build(request: Request, _quirks: Quirks) -> Item:
    body = base_body(request, "messages", "system", "tools", "stream", "max_tokens")
    body["messages"] = list(request.messages)
    body["max_tokens"] = _DEFAULT_CAP_TOKENS if request.max_output is None else request.max_output
    if request.system:
        body["system"] = request.system
    if request.tools:
        body["tools"] = list(request.tools)
    if request.stream:
        body["stream"] = True
    return body


def read(body: Item, _output_cap: int | None) -> Completion:
    content = body.get("content")
    if not isinstance(content, list):
        raise Unreadable("the reply has no content")
    reason = text_of(body.get("stop_reason"))
    item = {"role": "assistant", "content": content}
    return make_completion("anthropic", body, [item], _FINISHES.get(reason, Finish.OTHER), reason)


class MessageCollector:
    """Joins the deltas of each content block."""

    def __init__(self) -> None:
        self.is_finished = False
        self._message: Item = {"content": []}
        self._usage: Item = {}
        self._blocks: dict[int, _Block] = {}
        self._call_count = 0

    def take(self, event: Item) -> Sequence[Chunk]:
        match event.get("type"):
            case "message_start":
                self._message = as_item(event.get("message"))
                self._report(self._message)
            case "content_block_start":
                return self._start(event)
            case "content_block_delta":
                return self._grow(event)
            case "message_delta":
                self._report(event)
                self._message = {**self._message, **as_item(event.get("delta"))}
                self.is_finished = bool(self._message.get("stop_reason"))
            case "message_stop":
                self.is_finished = True
        return []

    def _report(self, holder: Item) -> None:
        """Take in figures of usage; they are cumulative, and the last event repeats only some."""
        usage = holder.get("usage")
        if isinstance(usage, dict):
            self._usage |= {name: figure for name, figure in usage.items() if figure is not None}

    def _start(self, event: Item) -> Sequence[Chunk]:
        raw = as_item(event.get("content_block"))
        is_call = raw.get("type") == "tool_use"
        block = _Block(raw, self._call_count, is_call)
        self._blocks[index_in(event, "index")] = block
        self._call_count += is_call
        if is_call:
            return [CallChunk(block.call_index, text_of(raw.get("id")), text_of(raw.get("name")))]
        return [TextChunk(text)] if (text := text_of(raw.get("text"))) else []

    def _grow(self, event: Item) -> Sequence[Chunk]:
        delta = as_item(event.get("delta"))
        block = self._blocks.get(index_in(event, "index"))
        if block is None:
            raise Unreadable("the stream continues a content block that it did not start")
        kind = text_of(delta.get("type"))
        if kind == "citations_delta":
            block.citations.append(delta.get("citation"))
        if kind not in _GROWING:
            return []
        source, field = _GROWING[kind]
        words = text_of(delta.get(source))
        block.texts.setdefault(field, []).append(words)
        match kind:
            case "text_delta":
                return [TextChunk(words)] if words else []
            case "thinking_delta":
                return [ReasoningChunk(words)] if words else []
            case "input_json_delta" if block.is_call and words:
                return [CallChunk(block.call_index, arguments=words)]
        return []

    def body(self) -> Item:
        return {
            **self._message,
            "content": [block.to_item() for block in self._blocks.values()],
            "usage": self._usage or None,
        }


class _Block:
    """A content block of which more may come."""

    def __init__(self, raw: Item, call_index: int, is_call: bool) -> None:
        self.raw = raw
        self.call_index = call_index
        self.is_call = is_call
        self.texts: dict[str, list[str]] = {}
        self.citations: list[object] = []

    def to_item(self) -> Item:
        grown: Item = {field: self._grown(field) for field in self.texts if field != "input"}
        if "input" in self.texts:
            grown["input"] = _read_input("".join(self.texts["input"]))
        if self.citations:
            grown["citations"] = self.citations
        return {**self.raw, **grown}

    def _grown(self, field: str) -> str:
        return text_of(self.raw.get(field)) + "".join(self.texts[field])


def _read_input(text: str) -> object:
    """Read the arguments of a call; the text itself where the output cap cut them."""
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text


API = Api(
    "anthropic",
    "/messages",
    headers,
    build,
    read,
    MessageCollector,
    end_events=frozenset({"message_stop"}),
    demands_output_cap=True,
    cache_route="anthropic",
)
