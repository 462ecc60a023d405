"""Chat completions, by OpenAI and the many servers that speak like it."""

from collections.abc import Iterator, Sequence
from typing import Any

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
    first_object,
    make_completion,
    text_of,
)
from midfold.wire.dialect import Item, as_item, json_text, list_field, plain
from midfold.wire.dialects import Request

_JOINED_ROLES = ("user", "assistant")
_CAP_FIELDS = ("max_completion_tokens", "max_tokens")
_FINISHES = {
    "stop": Finish.STOP,
    "eos": Finish.STOP,
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "tool_calls": Finish.CALLS,
    "function_call": Finish.CALLS,
    "content_filter": Finish.REFUSED,
    "model_context_window_exceeded": Finish.OVERFLOW,
}


def build(request: Request, quirks: Quirks) -> Item:
    body = base_body(request, "messages", "tools", "stream", *_CAP_FIELDS)
    system = [{"role": "system", "content": request.system}] if request.system else []
    messages = [*system, *request.messages]
    body["messages"] = join_neighbours(messages) if quirks.alternates else messages
    if request.tools:
        body["tools"] = list(request.tools)
    if request.max_output is not None:
        own = (field for field in _CAP_FIELDS if field in (request.raw or {}))
        body[next(own, quirks.output_cap_field)] = request.max_output
    if request.stream:
        body["stream"] = True
        if quirks.asks_for_stream_usage:
            body.setdefault("stream_options", {"include_usage": True})
    else:
        body.pop("stream_options", None)
    return body


def join_neighbours(messages: Sequence[object]) -> list[object]:
    """Join user after user, and assistant after assistant, for chat templates that refuse them.

    A summary followed by the newest request is two user messages. They are kept apart everywhere but here, on
    the way out, and stay separate parts of the joined message. The input is kept.
    """
    joined: list[object] = []
    for raw in messages:
        item = plain(raw)
        previous = plain(joined[-1]) if joined else None
        if isinstance(item, dict) and isinstance(previous, dict) and _can_join(previous, item):
            joined[-1] = {**item, **previous, "content": [*_blocks(previous), *_blocks(item)]}
        else:
            joined.append(raw)
    return joined


def _can_join(previous: Item, item: Item) -> bool:
    """An assistant that called tools is followed by their results, so only words are ever joined."""
    return previous.get("role") == item.get("role") in _JOINED_ROLES and not previous.get("tool_calls")


def _blocks(item: Item) -> list[object]:
    content = plain(item.get("content"))
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def read(body: Item, _output_cap: int | None) -> Completion:
    choice = first_object(body.get("choices"), "choices")
    reason = text_of(choice.get("finish_reason"))
    finish = _FINISHES.get(reason, Finish.OTHER)
    message = {"role": "assistant", **as_item(choice.get("message"))}
    if text_of(message.get("refusal")):
        finish = Finish.REFUSED
    return make_completion("openai_chat", body, [message], finish, reason)


class ChatCollector:
    """Joins deltas: texts key by key, tool calls by their index."""

    def __init__(self) -> None:
        self.is_finished = False
        self._beside: Item = {}
        self._texts: dict[str, list[str]] = {}
        self._others: dict[str, list[object]] = {}
        self._calls: list[_CallPieces] = []
        self._finish_reason = ""

    def take(self, event: Item) -> Sequence[Chunk]:
        self._beside |= {key: value for key, value in event.items() if key != "choices" and value is not None}
        choices = event.get("choices")
        if not isinstance(choices, list) or not choices:
            return []
        # A client may ask for several answers, which come interleaved; the first is the one that is read.
        choice = as_item(choices[0])
        if choice.get("index") not in (None, 0):
            return []
        if choice.get("usage") is not None:
            self._beside.setdefault("usage", choice["usage"])
        if reason := text_of(choice.get("finish_reason")):
            self._finish_reason = reason
            self.is_finished = True
        delta = choice.get("delta")
        return list(self._take_delta(delta)) if isinstance(delta, dict) else []

    def _take_delta(self, delta: Item) -> Iterator[Chunk]:
        for key, value in delta.items():
            if key == "tool_calls":
                for piece in list_field(delta, key):
                    yield self._take_call(as_item(piece))
            elif isinstance(value, str) and key != "role":
                self._texts.setdefault(key, []).append(value)
            elif isinstance(value, list):
                self._others.setdefault(key, []).extend(value)
        if thought := text_of(delta.get("reasoning_content")) or text_of(delta.get("reasoning")):
            yield ReasoningChunk(thought)
        for key in ("content", "refusal"):
            if words := text_of(delta.get(key)):
                yield TextChunk(words)

    def _take_call(self, piece: Item) -> Chunk:
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        call = self._call_of(piece)
        arguments = function.get("arguments")
        arguments_text = "" if arguments is None else json_text(arguments)
        call.arguments.append(arguments_text)
        call.id = call.id or text_of(piece.get("id"))
        name = text_of(function.get("name")) if not call.name else ""
        call.name = call.name or name
        return CallChunk(call.number, text_of(piece.get("id")), name, arguments_text)

    def _call_of(self, piece: Item) -> "_CallPieces":
        """Find the call that a piece belongs to: servers leave out the index, or count every call as 0."""
        index, call_id = piece.get("index"), text_of(piece.get("id"))
        same_index = (call for call in reversed(self._calls) if index is None or call.index == index)
        known = next(same_index, None)
        if known and (not call_id or call_id == known.id):
            return known
        started = _CallPieces(len(self._calls), index)
        self._calls.append(started)
        return started

    def body(self) -> Item:
        texts = {key: "".join(pieces) for key, pieces in self._texts.items()}
        message: Item = {"role": "assistant", "content": None, **texts, **self._others}
        if self._calls:
            message["tool_calls"] = [call.to_item() for call in self._calls]
        choice = {"index": 0, "message": message, "finish_reason": self._finish_reason or None}
        return {**self._beside, "choices": [choice]}


class _CallPieces:
    """A tool call of which more may come."""

    def __init__(self, number: int, index: object) -> None:
        self.number = number
        self.index = index
        """where the server says it stands, right or wrong"""
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def to_item(self) -> dict[str, Any]:
        function = {"name": self.name, "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


API = Api("openai_chat", "/chat/completions", bearer, build, read, ChatCollector)
