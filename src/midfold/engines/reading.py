"""Reads a growing conversation once: what was read and counted before is found again, whoever holds it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import is_

from midfold.compression.ledger import Memory
from midfold.messages import Message, MessageCache, MessageDigest, digest_messages
from midfold.messages.cache import NO_HASH
from midfold.tokens import TokenCounter
from midfold.tokens.counting import spell_tools
from midfold.wire import Request, detect, parse

_GUESS = "openai_chat"
"""What plain words of user and assistant count as."""


@dataclass(slots=True)
class Reader:
    """Remembers the last list of messages with their sizes and digests, and what they say.

    A message is taken from the last list where the very same object stands at the same index and says the
    same; so a caller that changes a message in place is noticed, and one that streams may go on writing into
    its newest. Any other one is looked up in the `cache` by what it says.
    """

    count: TokenCounter
    memory: Memory = field(default_factory=Memory)
    cache: MessageCache = field(default_factory=lambda: MessageCache(parse))
    dialect: str = _GUESS
    messages: list[Message] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    digests: list[MessageDigest] = field(default_factory=list)
    tokens: int = 0
    _remembered: int = 0
    """how many messages the memory has read"""
    _last: "_LastItems" = field(default_factory=lambda: _LastItems())
    _spelled_tools: str = ""
    _tools_tokens: int = 0

    def read(self, items: Sequence[object]) -> list[Message]:
        """Read `items`; the cost grows with what is new, not with the length of the conversation."""
        same = self._last.count_same(items, lambda item: self.cache.hash(item, self.dialect))
        if same < len(items) and not self._is_settled(items, same):
            self.dialect = detect(items)
            same = 0
        if same < len(items):
            read = self.cache.read_items(items[same:], self.dialect)
            self._take(same, read.messages)
            self._last.replace(same, items[same:], read.hashes)
        elif same < len(self.messages):
            self._take(same, [])
            self._last.replace(same, [], [])
        return self.messages

    def _take(self, same: int, new: Sequence[Message]) -> None:
        """Go on from message `same` with other ones; what both have in common is not forgotten."""
        old = self.messages[same:]
        alike = 0
        for one, other in zip(old, new, strict=False):
            if one.parts is not other.parts:
                break
            alike += 1
        self._forget_from(same + alike)
        self.tokens -= sum(self.sizes[same:])
        sizes = [self.count(message) for message in new]
        self.messages[same:], self.sizes[same:] = new, sizes
        self.tokens += sum(sizes)
        del self.digests[same:]
        self.digests += digest_messages(new, self.digests)
        self._remember()

    def _forget_from(self, index: int) -> None:
        self.memory.forget(self.messages[index : self._remembered])
        self._remembered = min(self._remembered, index)

    def _remember(self) -> None:
        """Read what messages say; the newest may still change, and is never folded while it is that."""
        ready = max(len(self.messages) - 1, self._remembered)
        self.memory.remember(self.messages[self._remembered : ready])
        self._remembered = ready

    def _is_settled(self, items: Sequence[object], same: int) -> bool:
        """Whether new items leave the dialect as it is; plain words count as chat until told otherwise."""
        if not same and not (self.messages and self.cache.knows(items[0], self.dialect)):
            return False
        return self.dialect != _GUESS or detect(items[same:]) == _GUESS

    def count_beside(self, system: object, tools: Sequence[object] | None) -> int:
        """Count what travels beside the messages; tool schemas are counted anew only when they change.

        Hosts change the schema of a tool in place, so that only what it says tells whether it did.
        """
        spelled = spell_tools(list(tools or ()))
        if spelled != self._spelled_tools:
            self._spelled_tools = spelled
            self._tools_tokens = self.count.count_schemas(spelled)
        words = Request(self.dialect, [], system).system_text
        return self._tools_tokens + self.count.count_text(words)


class _LastItems:
    """The items of the last list, to notice which of them are still there, and as they were.

    Every turn asks this of every message, so the usual case, in which nothing changed, is settled in bulk: an
    item that is shown again has its values compared by identity from then on. The first time its hash tells.
    """

    def __init__(self) -> None:
        self._items: list[object] = []
        self._hashes: list[bytes] = []
        self._shapes: list[_Shape] = []

    def count_same(self, items: Sequence[object], hash_item: Callable[[object], bytes]) -> int:
        """Count the items at the start that are the same objects, and say the same."""
        known = _count_alike(self._items, items)
        shapes = self._shapes[:known]
        if not _are_unchanged(shapes):
            known = next(index for index, shape in enumerate(shapes) if not _are_unchanged([shape]))
        for index in range(len(shapes), known):
            if hash_item(items[index]) != self._hashes[index]:
                return index
            self._shapes.append(_Shape(items[index]))
        return known

    def replace(self, start: int, items: Sequence[object], hashes: Sequence[bytes]) -> None:
        """Go on from index `start` with other items."""
        self._items[start:] = items
        self._hashes[start:] = hashes
        # What has no hash is told by its values from the start.
        self._shapes[start:] = map(_Shape, items) if NO_HASH in hashes else ()


def _count_alike(old: Sequence[object], new: Sequence[object]) -> int:
    """Count the objects that two lists have in common at their start."""
    most = min(len(old), len(new))
    if all(map(is_, old[:most], new)):
        return most
    return next(index for index in range(most) if old[index] is not new[index])


class _Shape:
    """The containers of one item, and what stood in them when it was read."""

    __slots__ = ("dicts", "elements", "lists", "values")

    def __init__(self, item: object) -> None:
        self.dicts: list[dict[object, object]] = []
        self.lists: list[list[object]] = []
        waiting = [item]
        while waiting:
            container = waiting.pop()
            if isinstance(container, dict):
                self.dicts.append(container)
                waiting += [value for value in container.values() if isinstance(value, dict | list)]
            elif isinstance(container, list):
                self.lists.append(container)
                waiting += [value for value in container if isinstance(value, dict | list)]
        self.values = list(_values_of(self.dicts))
        self.elements = list(chain.from_iterable(self.lists))


def _values_of(dicts: Iterable[dict[object, object]]) -> Iterator[object]:
    return chain.from_iterable(map(dict.values, dicts))


def _are_unchanged(shapes: Sequence[_Shape]) -> bool:
    dicts = [each for shape in shapes for each in shape.dicts]
    lists = [each for shape in shapes for each in shape.lists]
    values = chain.from_iterable([shape.values for shape in shapes])
    elements = chain.from_iterable([shape.elements for shape in shapes])
    sizes = sum([len(shape.values) for shape in shapes]), sum([len(shape.elements) for shape in shapes])
    return (
        sizes == (sum(map(len, dicts)), sum(map(len, lists)))
        and all(map(is_, _values_of(dicts), values))
        and all(map(is_, chain.from_iterable(lists), elements))
    )
