"""The bytes of a reply: a whole one, or a stream as it arrives.

An error may arrive where a reply should be, in a body or an event of an answer whose status is 200.
"""

import json
from collections.abc import Iterator

from midfold.late_dataclasses import replace
from midfold.wire.apis.api import (
    Api,
    CallChunk,
    Chunk,
    Completion,
    Finish,
    ReasoningChunk,
    TextChunk,
    text_of,
)
from midfold.wire.dialect import Item, Unreadable, as_item, plain
from midfold.wire.sse import SseEvent, SseReader, is_done

# What the names of errors stand for, by Anthropic and OpenAI.
_STATUS_BY_NAME = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_UNKNOWN_STATUS = 500
_LOWEST_ERROR_STATUS, _HIGHEST_STATUS = 400, 599
# What may stand before the first byte that counts: a byte order mark, and blanks.
_BLANK = b"\xef\xbb\xbf \t\r\n"


class ReplyError(Exception):
    """The provider reports a failure where a reply should be; `body` is its report."""

    def __init__(self, error: Item, body: Item) -> None:
        super().__init__("an error inside a reply")
        self.error = error
        self.body = body


def read_reply(api: Api, data: bytes, *, output_cap: int | None = None) -> Completion:
    """Read a plain reply to a request with this output cap.

    Raises `Unreadable` where it is none, and `ReplyError` where the provider says that it failed.
    """
    return api.read(_read_object(data), output_cap)


class StreamReader:
    """Reads a reply that comes in server-sent events, or all the same as a whole.

    Some servers do not stream, and report errors as JSON. What they call it is not to be relied on, but no
    event begins with a brace.
    """

    def __init__(self, api: Api, *, output_cap: int | None = None) -> None:
        self.is_over = False
        """whether the last event has come, so that nothing more need be read"""
        self._api = api
        self._output_cap = output_cap
        self._events = SseReader()
        self._collector = api.collector()
        self._has_begun = False
        self._whole: bytearray | None = None
        self._reply: Completion | None = None

    def feed(self, chunk: bytes) -> Iterator[Chunk]:
        """Take the next bytes and yield what they add. Raises as `read_reply`, and `StreamTooLong`."""
        if not self._has_begun:
            start = chunk.lstrip(_BLANK)
            self._has_begun = bool(start)
            self._whole = bytearray() if start.startswith(b"{") else None
        if self._whole is not None:
            self._whole += chunk
            return
        for event in self._events.feed(chunk):
            yield from self._take(event)

    def finish(self) -> Iterator[Chunk]:
        """End the stream and yield what its last bytes add; raises `Unreadable` where it was cut."""
        if self._whole is not None:
            self._reply = read_reply(self._api, bytes(self._whole), output_cap=self._output_cap)
            yield from _deltas_of(self._reply)
            return
        for event in self._events.close():
            if event.complete or not self._collector.is_finished:
                yield from self._take(event)
        if not self.is_over and not self._collector.is_finished:
            raise Unreadable("the stream ends before the reply does")

    def completion(self) -> Completion:
        """Return the whole reply."""
        return self._reply or self._api.read(self._collector.body(), self._output_cap)

    def partial(self) -> Completion | None:
        """Return what came before the stream broke off; `None` where it makes no sense."""
        try:
            return replace(self.completion(), finish=Finish.CUT)
        except Unreadable:
            return None

    def _take(self, event: SseEvent) -> Iterator[Chunk]:
        if self.is_over or not event.has_data:
            return
        if is_done(event):
            self.is_over = True
            return
        item = _read_object(event.data)
        yield from self._collector.take(item)
        self.is_over = text_of(item.get("type")) in self._api.end_events


def _deltas_of(completion: Completion) -> Iterator[Chunk]:
    """Give a whole reply as the stream that was asked for."""
    if completion.reasoning:
        yield ReasoningChunk(completion.reasoning)
    if completion.text:
        yield TextChunk(completion.text)
    for index, call in enumerate(completion.calls):
        yield CallChunk(index, call.id, call.name, call.arguments)


def _read_object(data: bytes | str) -> Item:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        raise Unreadable("it is not JSON, or cut off") from None
    item = as_item(found)
    error = find_error(item)
    if error is not None:
        raise ReplyError(error, item)
    return item


def find_error(body: Item) -> Item | None:
    """Return the error in a reply or a stream event, or `None`."""
    for holder in (body, plain(body.get("response")), _first_choice(body)):
        if isinstance(holder, dict) and holder.get("error"):
            error = plain(holder["error"])
            return error if isinstance(error, dict) else {"message": str(error)}
    if body.get("type") in ("error", "response.failed") or body.get("status") == "failed":
        return body
    report = plain(body.get("base_resp"))  # MiniMax
    return report if isinstance(report, dict) and report.get("status_code") else None


def stated_status(error: Item) -> int:
    """Return the HTTP status that an error stands for: its own number, or that of its name, else 500."""
    for key in ("code", "status", "http_code"):
        number = error.get(key)
        if isinstance(number, str) and number.isdigit() and len(number) == 3:
            number = int(number)
        if type(number) is int and _LOWEST_ERROR_STATUS <= number <= _HIGHEST_STATUS:
            return number
    names = (error.get(key) for key in ("type", "code"))
    known = (_STATUS_BY_NAME[name] for name in names if isinstance(name, str) and name in _STATUS_BY_NAME)
    return next(known, _UNKNOWN_STATUS)


def _first_choice(body: Item) -> object:
    choices = body.get("choices")
    return plain(choices[0]) if isinstance(choices, list) and choices else None
