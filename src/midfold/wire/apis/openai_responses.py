"""OpenAI Responses."""

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
    bearer,
    index_in,
    make_completion,
    text_of,
)
from midfold.wire.dialect import Item, Unreadable, as_item
from midfold.wire.dialects import Request
from midfold.wire.usage import normalize_usage

_INCOMPLETE = {"max_output_tokens": Finish.LENGTH, "content_filter": Finish.REFUSED}
_TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
_REASONING_DELTAS = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_CALL_DELTAS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")
_ENDS = frozenset({"response.completed", "response.incomplete"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}


def build(request: Request, _quirks: Quirks) -> Item:
    body = base_body(request, "input", "instructions", "tools", "stream", "max_output_tokens")
    body["input"] = list(request.messages)
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = list(request.tools)
    if request.max_output is not None:
        body["max_output_tokens"] = request.max_output
    if request.stream:
        body["stream"] = True
    return body


def read(body: Item, output_cap: int | None) -> Completion:
    output = body.get("output")
    if not isinstance(output, list):
        raise Unreadable("the reply has no output")
    details = body.get("incomplete_details")
    reason = text_of(details.get("reason")) if isinstance(details, dict) else ""
    finish = Finish.STOP if body.get("status", "completed") == "completed" else Finish.OTHER
    finish = Finish.REFUSED if any(map(_refuses, output)) else _INCOMPLETE.get(reason, finish)
    if finish is Finish.STOP and _is_cut_unsaid(body, output_cap):
        finish = Finish.LENGTH
    return make_completion("openai_responses", body, output, finish, reason)


def _is_cut_unsaid(body: Item, output_cap: int | None) -> bool:
    """Find a cut by its length where a server has no word for it: llama.cpp calls every reply completed."""
    if output_cap is None or "incomplete_details" in body:
        return False
    return normalize_usage(body, "openai_responses").output_tokens >= output_cap


def _refuses(item: object) -> bool:
    content = item.get("content") if isinstance(item, dict) else None
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts)


class ResponseCollector:
    """Keeps each output item as it is when done, and the response that the last event repeats whole."""

    def __init__(self) -> None:
        self.is_finished = False
        self._response: Item = {}
        self._items: dict[int, _OutputItem] = {}
        self._call_count = 0

    def take(self, event: Item) -> Sequence[Chunk]:
        kind = text_of(event.get("type"))
        if isinstance(event.get("response"), dict):
            self._response = event["response"]
        match kind:
            case "response.output_item.added":
                return self._add(event)
            case "response.output_item.done":
                self._item_of(event).finish(as_item(event.get("item")))
            case _ if kind in _TEXT_DELTAS:
                return [TextChunk(self._item_of(event).grow(event))]
            case _ if kind in _REASONING_DELTAS:
                return [ReasoningChunk(self._item_of(event).grow(event))]
            case _ if kind in _CALL_DELTAS:
                item = self._item_of(event)
                return [CallChunk(item.call_index, arguments=item.grow(event))]
            case _ if kind in _ENDS:
                self.is_finished = True
        return []

    def _add(self, event: Item) -> Sequence[Chunk]:
        raw = as_item(event.get("item"))
        item = _OutputItem(raw, self._call_count)
        self._items[index_in(event, "output_index")] = item
        self._call_count += item.is_call
        if not item.is_call:
            return []
        return [CallChunk(item.call_index, text_of(raw.get("call_id")), text_of(raw.get("name")))]

    def _item_of(self, event: Item) -> "_OutputItem":
        """Find the item that an event is about; a server that announces none gets a message."""
        started = {"type": "message", "role": "assistant", "content": []}
        return self._items.setdefault(index_in(event, "output_index"), _OutputItem(started, 0))

    def body(self) -> Item:
        if self.is_finished and self._response.get("output"):
            return self._response
        return {**self._response, "output": [item.to_item() for item in self._items.values()]}


class _OutputItem:
    """An output item of which more may come."""

    def __init__(self, raw: Item, call_index: int) -> None:
        self.raw = raw
        self.call_index = call_index
        self.is_call = text_of(raw.get("type")) in _CALLS
        self._is_done = False
        self._pieces: list[str] = []

    def grow(self, event: Item) -> str:
        words = text_of(event.get("delta"))
        self._pieces.append(words)
        return words

    def finish(self, raw: Item) -> None:
        self.raw = raw
        self._is_done = True

    def to_item(self) -> Item:
        words = "".join(self._pieces)
        if self._is_done or not words:
            return self.raw
        kind = text_of(self.raw.get("type"))
        if kind in _CALLS:
            return {**self.raw, _CALLS[kind]: words}
        if kind == "reasoning":
            return {**self.raw, "summary": [{"type": "summary_text", "text": words}]}
        return {**self.raw, "content": [{"type": "output_text", "text": words}]}


API = Api("openai_responses", "/responses", bearer, build, read, ResponseCollector, end_events=_ENDS)
