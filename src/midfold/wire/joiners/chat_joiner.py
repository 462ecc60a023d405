"""Joins the answers of chat completions: their words follow one another, and one choice ends them all."""

from midfold.late_dataclasses import dataclass, field
from midfold.wire.dialect import Item
from midfold.wire.joiners.joiner import read_event, sum_reports, write_event
from midfold.wire.sse import SseEvent, is_done

_CALLED = ("tool_calls", "function_call")
_STOPPED = "stop"
_BETWEEN = "\n\n"
"""Separator between the texts of two answers, as there are no blocks."""


@dataclass(slots=True)
class _Call:
    """A call of which more pieces may come."""

    index: object
    id: object
    shown: int | None
    """its number for the client; `None` where it is hidden"""


@dataclass(slots=True)
class _Ending:
    """The end of an answer; it is held until it is known that no other follows."""

    choice: tuple[bytes, Item] | None = None
    others: list[tuple[bytes, Item | None]] = field(default_factory=list)
    """a report of usage without a choice, and the end of the stream"""


class ChatJoiner:
    """Hides the pieces of calls of hidden tools."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self._first: Item = {}
        self._earlier: list[Item] = []
        self._report: Item = {}
        self._round = 0
        self._calls: list[_Call] = []
        self._shown = 0
        self._has_hidden = False
        self._has_words = False
        self._needs_break = False
        self._ending = _Ending()
        self._bodies: list[Item] = []

    def take(self, event: SseEvent) -> bytes:
        if event.has_data and is_done(event):
            self._ending.others.append((event.raw, None))
            return b""
        item = read_event(event)
        if item is None or "error" in item:
            return event.raw
        if isinstance(usage := item.get("usage"), dict):
            self._report = usage
        choices = item.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            if isinstance(usage, dict):
                self._ending.others.append((event.raw, item))
                return b""
            return event.raw if not self._round else b""
        return self._take_choice(event, item, choice)

    def _take_choice(self, event: SseEvent, item: Item, choice: Item) -> bytes:
        self._first = self._first or {key: item[key] for key in ("id", "created") if key in item}
        delta = choice.get("delta")
        given = delta if isinstance(delta, dict) else {}
        shown = self._show(given)
        if choice.get("finish_reason"):
            return self._split(event, item, choice, shown)
        if shown == given and not self._round:
            return event.raw
        if not shown:
            return b""
        return self._write(item, {**choice, "delta": shown})

    def _split(self, event: SseEvent, item: Item, choice: Item, shown: Item) -> bytes:
        """Pass on the words that come with an ending, and hold the ending."""
        words = {key: value for key, value in shown.items() if value}
        ending = {**item, "choices": [{**choice, "delta": {}}]}
        self._ending.choice = (write_event(ending) if words else event.raw, ending)
        if not words:
            return b""
        return self._write({**item, "usage": None}, {**choice, "delta": words, "finish_reason": None})

    def _write(self, item: Item, choice: Item) -> bytes:
        return write_event({**item, **self._first, "choices": [choice]})

    def _show(self, delta: Item) -> Item:
        """Return what the client gets of a delta."""
        shown = dict(delta)
        if self._round:
            shown.pop("role", None)
        if isinstance(pieces := delta.get("tool_calls"), list):
            visible = [found for piece in pieces if (found := self._show_piece(piece)) is not None]
            shown.pop("tool_calls")
            shown |= {"tool_calls": visible} if visible else {}
        if words := delta.get("content"):
            if self._needs_break and isinstance(words, str):
                shown["content"], self._needs_break = _BETWEEN + words, False
            self._has_words = True
        is_bare = self._round or shown != delta
        return {key: value for key, value in shown.items() if value} if is_bare else shown

    def _show_piece(self, piece: object) -> object | None:
        if not isinstance(piece, dict):
            return piece
        call = self._call_of(piece)
        if call.shown is None:
            return None
        return piece if piece.get("index") in (None, call.shown) else {**piece, "index": call.shown}

    def _call_of(self, piece: Item) -> _Call:
        """Find the call of a piece: servers leave out the index, or count every call as 0."""
        index, call_id = piece.get("index"), piece.get("id")
        same = (call for call in reversed(self._calls) if index is None or call.index == index)
        known = next(same, None)
        if known is not None and (not call_id or call_id == known.id):
            return known
        is_hidden = _name_of(piece) in self._hidden
        started = _Call(index, call_id, None if is_hidden else self._shown)
        self._has_hidden |= is_hidden
        self._shown += not is_hidden
        self._calls.append(started)
        return started

    def take_whole(self, body: Item) -> None:
        self._bodies.append(body)
        calls = _calls_in(body)
        self._has_hidden |= any(_name_of(call) in self._hidden for call in calls)
        self._shown += sum(_name_of(call) not in self._hidden for call in calls)

    def go_on(self) -> None:
        self._earlier.append(self._report)
        self._round += 1
        self._report, self._calls, self._ending = {}, [], _Ending()
        self._needs_break = self._has_words

    def finish(self) -> bytes:
        ending = self._ending
        held = ([ending.choice] if ending.choice else []) + ending.others
        if not self._earlier and not self._has_hidden:
            return b"".join(raw for raw, _ in held)
        return b"".join(raw if item is None else self._close(item) for raw, item in held)

    def _close(self, item: Item) -> bytes:
        closed = {**item, **self._first}
        if isinstance(item.get("usage"), dict):
            closed["usage"] = sum_reports([*self._earlier, self._report])
        closed["choices"] = [self._end_choice(choice) for choice in item.get("choices") or []]
        return write_event(closed)

    def _end_choice(self, choice: Item) -> Item:
        """A model that wanted nothing but hidden tools has stopped, as far as the client can see."""
        is_over = choice.get("finish_reason") in _CALLED and not self._shown
        return {**choice, "finish_reason": _STOPPED} if is_over else choice

    def whole(self) -> Item | None:
        if len(self._bodies) == 1 and not self._has_hidden:
            return None
        last = self._bodies[-1]
        choice, *others = last.get("choices") or [{}]
        message = dict(choice.get("message") or {})
        words = [text for body in self._bodies if (text := _message_in(body).get("content"))]
        if words and all(isinstance(text, str) for text in words):
            message["content"] = _BETWEEN.join(words)
        calls = [call for call in _calls_in(last) if _name_of(call) not in self._hidden]
        message.pop("tool_calls", None)
        message |= {"tool_calls": calls} if calls else {}
        joined = {**last, "id": self._bodies[0].get("id")}
        joined["choices"] = [self._end_choice({**choice, "message": message}), *others]
        reports = [usage for body in self._bodies if isinstance(usage := body.get("usage"), dict)]
        return joined | ({"usage": sum_reports(reports)} if reports else {})


def _message_in(body: Item) -> Item:
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def _calls_in(body: Item) -> list[object]:
    calls = _message_in(body).get("tool_calls")
    return calls if isinstance(calls, list) else []


def _name_of(call: object) -> object:
    function = call.get("function") if isinstance(call, dict) else None
    return function.get("name") if isinstance(function, dict) else None
