"""Joins the answers of the Responses API: output items and events are numbered through.

A reasoning item is refused in a later request unless the item that it led to follows it. So it is held until
one follows that the client sees, and dropped where none does.
"""

from collections.abc import Sequence

from midfold.wire.dialect import Item
from midfold.wire.joiners.joiner import read_event, sum_reports, write_event
from midfold.wire.sse import SseEvent

_BEGINNINGS = ("response.queued", "response.created", "response.in_progress")
_ENDS = ("response.completed", "response.incomplete")
_ADDED = "response.output_item.added"
_REASONING = "reasoning"
_CALLS = ("function_call", "custom_tool_call")


class ResponseJoiner:
    """Hides the items that call hidden tools, and the reasoning that led to nothing else."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self._earlier: list[Item] = []
        """the responses before this one"""
        self._numbers: dict[int, int] = {}
        """the items of this answer that the client sees, by their numbers for it"""
        self._shown = 0
        self._sequence = 0
        self._waiting: list[tuple[SseEvent, Item]] = []
        """events of reasoning of which it is not known what follows"""
        self._waiting_indexes: set[int] = set()
        self._has_hidden_since = False
        self._end: tuple[SseEvent, Item] | None = None
        self._bodies: list[Item] = []

    def take(self, event: SseEvent) -> bytes:
        item = read_event(event)
        kind = item.get("type") if item is not None else None
        if item is None or not isinstance(kind, str):
            return event.raw
        if kind in _ENDS:
            self._end = (event, item)
            return b""
        if kind in _BEGINNINGS:
            return b"" if self._earlier else self._write(event, item)
        index = item.get("output_index")
        if not isinstance(index, int):
            return self._write(event, item)
        before = self._begin(index, item.get("item")) if kind == _ADDED else b""
        if index in self._waiting_indexes:
            self._waiting.append((event, item))
            return before
        return before + self._write(event, item) if index in self._numbers else before

    def _begin(self, index: int, added: object) -> bytes:
        """Note a new item, and return what waited for it."""
        if _hides(added, self._hidden):
            self._has_hidden_since = True
            return b""
        if isinstance(added, dict) and added.get("type") == _REASONING:
            if self._has_hidden_since:
                self._drop_waiting()
            self._waiting_indexes.add(index)
            return b""
        before = self._flush()
        self._number(index)
        return before

    def _number(self, index: int) -> None:
        self._numbers[index] = self._shown
        self._shown += 1

    def _flush(self) -> bytes:
        waiting, indexes = self._waiting, sorted(self._waiting_indexes)
        self._drop_waiting()
        for index in indexes:
            self._number(index)
        return b"".join(self._write(event, item) for event, item in waiting)

    def _drop_waiting(self) -> None:
        self._waiting, self._waiting_indexes, self._has_hidden_since = [], set(), False

    def _write(self, event: SseEvent, item: Item) -> bytes:
        """Write an event with its numbers; one whose numbers are right is passed on as it came."""
        written = dict(item)
        if isinstance(index := item.get("output_index"), int):
            written["output_index"] = self._numbers.get(index, index)
        if "sequence_number" in item:
            written["sequence_number"] = self._sequence
            self._sequence += 1
        if isinstance(response := item.get("response"), dict):
            written["response"] = self._identify(self._without_tools(response))
        return event.raw if written == item else write_event(written, event.event)

    def _identify(self, response: Item) -> Item:
        """The client knows the whole answer by the id that its stream began with."""
        first = self._earlier[0].get("id") if self._earlier else None
        return {**response, "id": first} if first and "id" in response else response

    def _without_tools(self, response: Item) -> Item:
        """A response repeats the tools of its request."""
        tools = response.get("tools")
        if not isinstance(tools, list):
            return response
        kept = [tool for tool in tools if not (isinstance(tool, dict) and tool.get("name") in self._hidden)]
        return {**response, "tools": kept} if len(kept) < len(tools) else response

    def take_whole(self, body: Item) -> None:
        self._bodies.append(body)

    def go_on(self) -> None:
        response = self._end[1].get("response") if self._end else None
        self._earlier.append(response if isinstance(response, dict) else {})
        self._drop_waiting()
        self._numbers, self._end = {}, None

    def finish(self) -> bytes:
        if self._has_hidden_since:
            self._drop_waiting()
        rest = self._flush()
        if self._end is None:
            return rest
        event, item = self._end
        response = item.get("response")
        if isinstance(response, dict):
            item = {**item, "response": self._join([*self._earlier, response])}
        return rest + self._write(event, item)

    def whole(self) -> Item | None:
        joined = self._join(self._bodies)
        return None if joined == self._bodies[0] else joined

    def _join(self, responses: Sequence[Item]) -> Item:
        last = self._without_tools(responses[-1])
        output = [item for response in responses for item in self._visible(response.get("output"))]
        reports = [usage for response in responses if isinstance(usage := response.get("usage"), dict)]
        joined = {**last, "output": output} if isinstance(last.get("output"), list) else last
        return {**joined, "usage": sum_reports(reports)} if len(responses) > 1 and reports else joined

    def _visible(self, output: object) -> list[object]:
        shown: list[object] = []
        waiting: list[object] = []
        has_hidden_since = False
        for item in output if isinstance(output, list) else []:
            if _hides(item, self._hidden):
                has_hidden_since = True
            elif isinstance(item, dict) and item.get("type") == _REASONING:
                waiting = [item] if has_hidden_since else [*waiting, item]
                has_hidden_since = False
            else:
                shown += [*waiting, item]
                waiting, has_hidden_since = [], False
        return shown if has_hidden_since else [*shown, *waiting]


def _hides(item: object, hidden: frozenset[str]) -> bool:
    return isinstance(item, dict) and item.get("type") in _CALLS and item.get("name") in hidden
