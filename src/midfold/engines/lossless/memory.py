"""The memory of a lossless conversation: its summaries and its messages, in the store or beside it.

A node is saved under its own name before the index that lists it, so that a crash leaves at most a node that
nobody asks for. Without a store all of it lives as long as the engine.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from midfold.engines.base import EngineStore
from midfold.engines.lossless.nodes import SummaryGraph, SummaryNode
from midfold.errors import StoreError
from midfold.folding import Span, join_spans
from midfold.messages import Message
from midfold.wire import detect, parse

_INDEX = "lcm.index"
_NODE = "lcm.node."
_MOST_BODIES = 64
"""The bodies of summaries that are held in memory beside a store."""


class HistoryRecord(Protocol):
    """A message as a store keeps it."""

    @property
    def item(self) -> object: ...

    @property
    def created_at(self) -> float: ...


@runtime_checkable
class HistoryStore(Protocol):
    """A store that has everything that was said in a conversation, folded or not."""

    def history(
        self, session_id: str, start: int = 0, stop: int | None = None
    ) -> Sequence[HistoryRecord]: ...


@dataclass(frozen=True, slots=True)
class NumberedMessage:
    """A message of the whole conversation under its number."""

    number: int
    message: Message
    created_at: float | None = None


@dataclass(slots=True)
class LosslessMemory:
    """What an engine can look up: summaries by id, messages by number."""

    store: EngineStore | None = None
    session_id: str = ""
    graph: SummaryGraph = field(default_factory=SummaryGraph)
    _originals: dict[int, Message] = field(default_factory=dict)
    _unsaved: dict[str, SummaryNode] = field(default_factory=dict)

    def open_session(self, session_id: str, *, is_continued: bool) -> None:
        """Go on with the summaries of a session; one that continues another has them already."""
        self.session_id = session_id
        if is_continued:
            self._save()
            return
        self.graph, found = SummaryGraph(), None
        self._unsaved.clear()
        if self.store is not None:
            with suppress(StoreError):  # the store knows no session in which nothing was said
                found = self.store.load_state(session_id, _INDEX)
        nodes = [_from_json(each) for each in found] if isinstance(found, list) else []
        self.graph.add(node for node in nodes if node is not None)

    def copy(self) -> "LosslessMemory":
        """Return a memory that grows by itself from here, over the same store."""
        graph = SummaryGraph(dict(self.graph.nodes), dict(self.graph.parents))
        return replace(self, graph=graph, _originals=dict(self._originals), _unsaved=dict(self._unsaved))

    def forget(self) -> None:
        """Begin another conversation."""
        self.session_id = ""
        self.graph = SummaryGraph()
        self._originals.clear()

    def remember(self, nodes: Iterable[SummaryNode], gone: Mapping[int, Message]) -> None:
        """Keep new summaries, and where there is no store the messages that they stand for."""
        made = {node.id: node for node in nodes}
        self.graph.add(made.values())
        if self._history_store:
            self._unsaved |= made
            self._save()
        else:
            self._originals.update(gone)

    def _save(self) -> None:
        """Save the summaries that are not yet saved, then the index that lists them.

        A session that is written only now is tried again once its continuation is open.
        """
        if self.store is None or not self._unsaved:
            return
        with suppress(StoreError):
            for node in self._unsaved.values():
                self.store.save_state(self.session_id, f"{_NODE}{node.id}", node.body)
            listed = [_to_json(node) for node in self.graph.nodes.values()]
            self.store.save_state(self.session_id, _INDEX, listed)
            self._unsaved.clear()
            self._drop_bodies()

    def body(self, node: SummaryNode) -> str:
        """Return the words of a summary."""
        if node.body or self.store is None or not self.session_id:
            return node.body
        found = self.store.load_state(self.session_id, f"{_NODE}{node.id}")
        return found if isinstance(found, str) else ""

    def originals(self, spans: Sequence[Span], shown: Sequence[Message] = ()) -> list[NumberedMessage]:
        """Return messages by their numbers, in order; those that nobody kept are left out.

        `shown` is the conversation of a host without a store, where nothing was folded yet.
        """
        if store := self._history_store:
            parts = [(span.start, store.history(self.session_id, span.start, span.stop)) for span in spans]
            return [each for start, records in parts for each in _read(records, start)]
        kept = self._originals or dict(enumerate(shown))
        return [NumberedMessage(number, kept[number]) for span in spans for number in span if number in kept]

    def last_number(self, shown: Sequence[Message]) -> int:
        """Return a number above that of every message."""
        if self._history_store:
            return 1 << 40
        return max([len(shown), *(number + 1 for number in self._originals)])

    def count_messages(self) -> int:
        """Count the messages that are behind summaries."""
        spans = join_spans(span for node in self.graph.nodes.values() for span in node.spans)
        return sum(map(len, spans))

    @property
    def _history_store(self) -> HistoryStore | None:
        """The store, where it has the messages of this conversation."""
        store: object = self.store
        return store if isinstance(store, HistoryStore) and self.session_id else None

    def _drop_bodies(self) -> None:
        """Leave the words of older summaries to the store."""
        held = [node for node in self.graph.nodes.values() if node.body]
        for node in held[:-_MOST_BODIES]:
            self.graph.nodes[node.id] = replace(node, body="")


def _read(records: Sequence[HistoryRecord], start: int) -> list[NumberedMessage]:
    items = [record.item for record in records]
    messages = parse(items, detect(items)) if items else []
    return [
        NumberedMessage(number, message, record.created_at)
        for number, (message, record) in enumerate(zip(messages, records, strict=True), start)
    ]


def _to_json(node: SummaryNode) -> dict[str, object]:
    return {
        "id": node.id,
        "depth": node.depth,
        "spans": [[span.start, span.stop] for span in node.spans],
        "children": list(node.children),
        "source_tokens": node.source_tokens,
        "tokens": node.tokens,
    }


def _from_json(value: object) -> SummaryNode | None:
    """Read a node of the index; `None` for what cannot be read."""
    if not isinstance(value, dict):
        return None
    try:
        return SummaryNode(
            id=str(value["id"]),
            depth=int(value["depth"]),
            spans=tuple(Span(int(start), int(stop)) for start, stop in value["spans"]),
            children=tuple(map(str, value["children"])),
            body="",
            source_tokens=int(value["source_tokens"]),
            tokens=int(value["tokens"]),
        )
    except (KeyError, TypeError, ValueError):
        return None
