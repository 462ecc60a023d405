"""Joins the answers of Anthropic Messages: blocks are numbered through, and one message ends them all."""

from midfold.wire.dialect import Item
from midfold.wire.joiners.joiner import read_event, sum_reports, write_event
from midfold.wire.sse import SseEvent

_CALL = "tool_use"
_BLOCK_EVENTS = ("content_block_start", "content_block_delta", "content_block_stop")
_STOPPED = "end_turn"


class MessageJoiner:
    """Hides the blocks that call hidden tools."""

    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden
        self._earlier: list[Item] = []
        """reports of the answers before this one"""
        self._report: Item = {}
        self._blocks: dict[int, int] = {}
        """the blocks of this answer that the client sees, by their numbers for it"""
        self._shown = 0
        self._has_calls = False
        self._has_hidden = False
        self._held: list[tuple[SseEvent, Item]] = []
        self._bodies: list[Item] = []

    def take(self, event: SseEvent) -> bytes:
        item = read_event(event)
        kind = item.get("type") if item is not None else None
        if item is None or kind not in ("message_start", "message_delta", "message_stop", *_BLOCK_EVENTS):
            return event.raw
        match kind:
            case "message_start":
                self._note(item.get("message"))
                return b"" if self._earlier else event.raw
            case "message_delta" | "message_stop":
                self._note(item)
                self._held.append((event, item))
                return b""
            case "content_block_start":
                self._begin(item)
        return self._renumber(event, item)

    def _note(self, holder: object) -> None:
        """Take in figures of usage, which are cumulative."""
        usage = holder.get("usage") if isinstance(holder, dict) else None
        if isinstance(usage, dict):
            self._report |= {name: figure for name, figure in usage.items() if figure is not None}

    def _begin(self, item: Item) -> None:
        index, block = item.get("index"), item.get("content_block")
        if not isinstance(index, int):
            return
        if self._hides(block):
            self._has_hidden = True
            self._blocks.pop(index, None)
            return
        self._has_calls |= isinstance(block, dict) and block.get("type") == _CALL
        self._blocks[index] = self._shown
        self._shown += 1

    def _hides(self, block: object) -> bool:
        return isinstance(block, dict) and block.get("type") == _CALL and block.get("name") in self._hidden

    def _renumber(self, event: SseEvent, item: Item) -> bytes:
        index = item.get("index")
        shown = self._blocks.get(index) if isinstance(index, int) else None
        if shown is None:
            return b""
        return event.raw if shown == index else write_event({**item, "index": shown}, event.event)

    def take_whole(self, body: Item) -> None:
        self._bodies.append(body)
        content = body.get("content")
        blocks = content if isinstance(content, list) else []
        calls = [block for block in blocks if isinstance(block, dict) and block.get("type") == _CALL]
        self._has_hidden |= any(map(self._hides, calls))
        self._has_calls |= any(not self._hides(call) for call in calls)

    def go_on(self) -> None:
        self._earlier.append(self._report)
        self._report, self._held, self._blocks = {}, [], {}

    def finish(self) -> bytes:
        if not self._earlier and not self._has_hidden:
            return b"".join(event.raw for event, _ in self._held)
        return b"".join(write_event(self._close(item), event.event) for event, item in self._held)

    def _close(self, item: Item) -> Item:
        closed = dict(item)
        delta = item.get("delta")
        if isinstance(delta, dict):
            closed["delta"] = {**delta, "stop_reason": self._why_stopped(delta.get("stop_reason"))}
        if isinstance(item.get("usage"), dict):
            closed["usage"] = sum_reports([*self._earlier, self._report])
        return closed

    def _why_stopped(self, reason: object) -> object:
        """A model that wanted nothing but hidden tools has stopped, as far as the client can see."""
        return _STOPPED if reason == _CALL and not self._has_calls else reason

    def whole(self) -> Item | None:
        if len(self._bodies) == 1 and not self._has_hidden:
            return None
        first, last = self._bodies[0], self._bodies[-1]
        joined = {**last, "id": first.get("id"), "stop_reason": self._why_stopped(last.get("stop_reason"))}
        joined["content"] = [
            block
            for body in self._bodies
            if isinstance(content := body.get("content"), list)
            for block in content
            if not self._hides(block)
        ]
        reports = [usage for body in self._bodies if isinstance(usage := body.get("usage"), dict)]
        return joined | ({"usage": sum_reports(reports)} if reports else {})
