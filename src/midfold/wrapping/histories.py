"""Histories that callers send again: which conversation each belongs to, and the folds made for it so far."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock

from midfold.engines import ContextCompressor
from midfold.errors import StaleFold
from midfold.folding import CompressionState, Fold, apply
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message, MessageCache, chain_digests
from midfold.wire import Request, parse, render

MOST_KNOWN = 5_000
"""Requests by which a conversation is recognised; a program may serve thousands for months."""


@dataclass(slots=True)
class SentHistory:
    """A conversation of a caller: its engine, and its folds, each of the list that the last one left."""

    engine: ContextCompressor
    folds: list[Fold] = field(default_factory=list)
    newest: bytes = b""
    """the chained digest of the list that was sent last"""
    session_id: str | None = None
    """where its calls are recorded"""
    lock: Lock = field(default_factory=Lock)
    """held while the engine is at work"""

    def fold(self, messages: Sequence[Message], dialect: str) -> list[object]:
        """Apply the folds that belong to these messages; the same messages give the same bytes."""
        folded = list(messages)
        for number, fold in enumerate(self.folds):
            try:
                folded = apply(fold, folded)
            except StaleFold:  # the caller changed what it is about, and what came after it
                del self.folds[number:]
                break
        return render(folded, dialect)


class Histories:
    """Finds the conversation that a request goes on with; threads may share it.

    `open_engine` makes an engine that goes on from a state.
    """

    def __init__(self, open_engine: Callable[[CompressionState, MessageCache], ContextCompressor]) -> None:
        self._open_engine = open_engine
        self._cache = MessageCache(parse)
        self._known: OrderedDict[bytes, SentHistory] = OrderedDict()
        self._lock = Lock()

    def read(self, request: Request) -> list[Message]:
        """Read the messages of a request; those that were read before are not read again."""
        return self._cache.read(request.messages, request.dialect)

    def find(self, messages: Sequence[Message]) -> SentHistory:
        """Return the conversation of a history, a branch of it, or a new one."""
        chain = chain_digests(messages)
        with self._lock:
            history = self._go_on(chain)
            history.newest = chain[-1] if chain else b""
            self._remember(history.newest, history)
        return history

    def _go_on(self, chain: Sequence[bytes]) -> SentHistory:
        key = next((digest for digest in reversed(chain) if digest and digest in self._known), None)
        if key is None:
            return SentHistory(self._open_engine(CompressionState(), self._cache))
        found = self._known[key]
        if found.newest == key:
            return found
        # Another answer to an earlier list: both may go on, each with the folds that they have in common.
        return SentHistory(self._open_engine(found.engine.state, self._cache), list(found.folds))

    def _remember(self, digest: bytes, history: SentHistory) -> None:
        self._known[digest] = history
        self._known.move_to_end(digest)
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)
