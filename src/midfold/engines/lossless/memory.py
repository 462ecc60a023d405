"""The memory of a lossless conversation: its summaries and its messages, in the store or beside it.

Without a store all of it lives as long as the engine.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock

from midfold.engines.base import EngineStore
from midfold.engines.lossless.history import (
    HistoryStore,
    NumberedMessage,
    SearchedMessage,
    SearchedStore,
    read_numbered,
)
from midfold.engines.lossless.node_batches import NodeBatches
from midfold.engines.lossless.nodes import SummaryGraph, SummaryNode
from midfold.errors import StoreError
from midfold.faults import faultpoint
from midfold.folding import Span, join_spans
from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Message
from midfold.search import Origin

_READ_AT_ONCE = 1_000
_MOST_BODIES = 64
"""The bodies of summaries that are held in memory beside a store."""


@dataclass(slots=True)
class LosslessMemory:
    """Lookups of an engine: summaries by id, messages by number or by text."""

    store: EngineStore | None = None
    session_id: str = ""
    graph: SummaryGraph = field(default_factory=SummaryGraph)
    _originals: dict[int, Message] = field(default_factory=dict)
    _unsaved: dict[str, SummaryNode] = field(default_factory=dict)
    _saved: dict[str, int] = field(default_factory=dict)
    """the batch of each summary that the store has"""
    _next_batch: int = 0
    _lock: Lock = field(default_factory=Lock)
    """one for all copies, since they add to the same batches"""

    def open_session(self, session_id: str, *, is_continued: bool) -> None:
        """Go on with the summaries of a session; one that continues another has them already."""
        self.session_id = session_id
        if is_continued:
            self._save()
            return
        self.graph, self._next_batch = SummaryGraph(), 0
        self._unsaved.clear()
        self._saved.clear()
        if self.store is not None:
            with suppress(StoreError):  # the store knows no session in which nothing was said
                self._load_new(NodeBatches(self.store, session_id))

    def copy(self) -> "LosslessMemory":
        """Return a memory that grows by itself from here, over the same store."""
        return replace(
            self,
            graph=self.graph.copy(),
            _originals=dict(self._originals),
            _unsaved=dict(self._unsaved),
            _saved=dict(self._saved),
        )

    def forget(self) -> None:
        """Begin another conversation."""
        self.session_id, self._next_batch = "", 0
        self.graph = SummaryGraph()
        for known in (self._originals, self._unsaved, self._saved):
            known.clear()

    def remember(self, nodes: Iterable[SummaryNode], gone: Mapping[int, Message]) -> None:
        """Keep new summaries, and where there is no store the messages that they stand for."""
        made = {node.id: node for node in nodes}
        if self._history_store:
            # An undone compression that is made again makes the same summaries again.
            self._unsaved |= {name: node for name, node in made.items() if not self._is_saved(node)}
            self.graph.add(made.values())
            self._save()
        else:
            self.graph.add(made.values())
            self._originals.update(gone)

    def take_in(self, shown: Iterable[SummaryNode]) -> None:
        """Take in summaries that stand in the context and were never heard of: another engine made them."""
        self.graph.add(node for node in shown if node.id not in self.graph.nodes)

    def body(self, node: SummaryNode) -> str:
        """Return the words of a summary."""
        number = self._saved.get(node.id)
        if node.body or number is None or self.store is None:
            return node.body
        found = NodeBatches(self.store, self.session_id).load(number) or []
        return next((each.body for each in found if each.id == node.id), "")

    def read_bodies(self) -> Iterator[tuple[SummaryNode, str]]:
        """Yield all summaries with their words; what was saved together is read together."""
        number, batch = -1, dict[str, str]()
        for node in sorted(self.graph.nodes.values(), key=lambda node: self._saved.get(node.id, -1)):
            saved = self._saved.get(node.id, -1)
            if not node.body and saved != number and self.store is not None:
                found = NodeBatches(self.store, self.session_id).load(saved) or []
                number, batch = saved, {each.id: each.body for each in found}
            yield node, node.body or batch.get(node.id, "")

    def originals(self, spans: Sequence[Span], shown: Sequence[Message] = ()) -> list[NumberedMessage]:
        """Return messages by their numbers, in order; those that nobody kept are left out.

        `shown` is the conversation of a host without a store, where nothing was folded yet.
        """
        if store := self._history_store:
            return read_numbered(store, self.session_id, spans)
        kept = self._originals or dict(enumerate(shown))
        return [NumberedMessage(number, kept[number]) for span in spans for number in span if number in kept]

    def read_through(self, shown: Sequence[Message] = ()) -> Iterator[list[NumberedMessage]]:
        """Yield all messages in order, some at a time, however long the conversation is."""
        if self._history_store is None:
            yield self.originals([Span(0, self.last_number(shown))], shown)
            return
        start = 0
        while block := self.originals([Span(start, start + _READ_AT_ONCE)]):
            yield block
            start += _READ_AT_ONCE

    def search(
        self, query: str, *, role: str | None, since: float | None, until: float | None, most: int
    ) -> list[SearchedMessage] | None:
        """Search with the index of the store, the best first; `None` where there is none."""
        store: object = self._history_store
        if not isinstance(store, SearchedStore):
            return None
        found = store.search(
            query, session_id=self.session_id, role=role, since=since, until=until, limit=most
        )
        hits = [hit for hit in found.hits if hit.origin is not Origin.SUMMARY]
        numbers = store.find_numbers(self.session_id, [(hit.session_id, hit.seq) for hit in hits])
        return [
            SearchedMessage(number, hit.role, hit.snippet, hit.created_at)
            for number, hit in zip(numbers, hits, strict=True)
            if number is not None
        ]

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

    def _is_saved(self, node: SummaryNode) -> bool:
        known = self.graph.nodes.get(node.id)
        return node.id in self._saved and known is not None and known.tokens == node.tokens

    def _save(self) -> None:
        """Save the summaries that are not yet saved, all of them or none.

        A session that is written only now is tried again once its continuation is open.
        """
        if self.store is None or not self._unsaved:
            return
        with suppress(StoreError), self._lock:
            batches = NodeBatches(self.store, self.session_id)
            self._load_new(batches)  # a copy of this engine may have saved some
            faultpoint("lcm.save.before")
            while not batches.add(self._next_batch, self._unsaved.values()):
                self._load_new(batches)
            faultpoint("lcm.save.after")
            self._saved |= dict.fromkeys(self._unsaved, self._next_batch)
            self._next_batch += 1
            self._unsaved.clear()
            self._drop_bodies()

    def _load_new(self, batches: NodeBatches) -> None:
        for nodes in batches.load_from(self._next_batch):
            self.graph.add(node for node in nodes if node.id not in self._unsaved)
            self._saved |= {node.id: self._next_batch for node in nodes}
            self._next_batch += 1
            if self._next_batch % _MOST_BODIES == 0:
                self._drop_bodies()
        self._drop_bodies()

    def _drop_bodies(self) -> None:
        """Leave the words of older summaries to the store."""
        held = [node for node in self.graph.nodes.values() if node.body and node.id in self._saved]
        for node in held[:-_MOST_BODIES]:
            self.graph.nodes[node.id] = replace(node, body="")
