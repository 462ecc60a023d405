"""Reads a growing conversation once: messages that were read and counted before are found again."""

from collections.abc import Callable, Container, Sequence
from gc import get_referents
from operator import is_

from midfold.errors import UnknownDialect
from midfold.late_dataclasses import dataclass, field
from midfold.messages import NO_HASH, Message, MessageCache, MessageDigest, digest_messages
from midfold.summaries.ledger import LedgerCache
from midfold.tokens import TokenCounter, serialize_tools
from midfold.wire import DEFAULT_DIALECT, Request, describe, detect, parse

# Reading takes a third of a millisecond a message.
_MOST_READ_AHEAD = 200


@dataclass(slots=True)
class Reader:
    """Remembers the last list of messages with their sizes and digests, and what they say.

    A message is taken from the last list where the very same object stands at the same index and says the
    same; so a caller that changes a message in place is noticed, and one that streams may go on writing into
    its newest. Any other one is looked up in the `cache` by what it says.
    """

    count: TokenCounter
    """as the model counts; without one, as the dialect does"""
    memory: LedgerCache = field(default_factory=LedgerCache)
    cache: MessageCache = field(default_factory=lambda: MessageCache(parse))
    dialect: str = DEFAULT_DIALECT
    messages: list[Message] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    digests: list[MessageDigest] = field(default_factory=list)
    tokens: int = 0
    is_model_known: bool = False
    _remembered: int = 0
    """the number of messages that the memory has read or left to the fold"""
    _last: "_LastItems" = field(default_factory=lambda: _LastItems())
    _serialized_tools: str = ""
    _tools_tokens: int = 0

    def read(self, items: Sequence[object]) -> list[Message]:
        """Read `items`; the cost grows with what is new, not with the length of the conversation."""
        if not isinstance(items, Sequence) or isinstance(items, str | bytes):
            raise UnknownDialect(f"expected a list of messages, found {describe(items)}")
        same = self._last.count_same(items, lambda item: self.cache.hash(item, self.dialect))
        if same < len(items) and not self._is_settled(items, same):
            self._use_dialect(detect(items))
            same = 0
        if same < len(items):
            read = self.cache.read_items(items[same:], self.dialect)
            self._continue_from(same, read.messages)
            self._last.replace(same, items[same:], read.hashes)
        elif same < len(self.messages):
            self._continue_from(same, [])
            self._last.replace(same, [], [])
        return self.messages

    def _use_dialect(self, dialect: str) -> None:
        """Read another dialect, and count as its models do where none is known."""
        is_other = dialect != self.dialect
        self.dialect = dialect
        if is_other and not self.is_model_known:
            self.count = TokenCounter(Request(dialect, []).counted_as)
            self._serialized_tools, self._tools_tokens = "", 0

    def _continue_from(self, same: int, new: Sequence[Message]) -> None:
        """Go on from message `same` with other ones; what both have in common is not forgotten."""
        start = min(same, self._remembered)
        read = self.messages[start : self._remembered]
        stay = {id(message.parts) for message in new}
        self.memory.forget([message for message in read if id(message.parts) not in stay])
        self.tokens -= sum(self.sizes[same:])
        sizes = [self.count(message) for message in new]
        self.messages[same:], self.sizes[same:] = new, sizes
        self.tokens += sum(sizes)
        del self.digests[same:]
        self.digests += digest_messages(new, self.digests)
        self._remember(start, {id(message.parts) for message in read})

    def _remember(self, start: int, known: Container[int]) -> None:
        """Read what the messages from `start` on say, but for those whose parts are known by their ids.

        The newest may still change, and is never folded while it is that. A history that comes as a whole, as
        that of a resumed session, is left to the fold: reading it would hold up the first turn.
        """
        coming = self.messages[start:]
        if coming and id(coming[-1].parts) not in known:
            del coming[-1]
        new = [message for message in coming if id(message.parts) not in known]
        if len(new) <= _MOST_READ_AHEAD:
            self.memory.remember(new)
        self._remembered = start + len(coming)

    def _is_settled(self, items: Sequence[object], same: int) -> bool:
        """Whether new items leave the dialect as it is; plain words alone count as chat."""
        if not same and not (self.messages and self.cache.knows(items[0], self.dialect)):
            return False
        return self.dialect != DEFAULT_DIALECT or detect(items[same:]) == DEFAULT_DIALECT

    def count_system_and_tools(self, system: object, tools: Sequence[object] | None) -> int:
        """Count what travels beside the messages; tool schemas are counted anew only when they change.

        Hosts change the schema of a tool in place, so its content is compared, not its identity.
        """
        serialized = serialize_tools(list(tools or ()))
        if serialized != self._serialized_tools:
            self._serialized_tools = serialized
            self._tools_tokens = self.count.count_schemas(serialized)
        words = Request(self.dialect, [], system).system_text
        return self._tools_tokens + self.count.count_text(words)


class _LastItems:
    """The items of the last list, to notice which of them are still there, and as they were.

    An item that is shown again has its values compared by identity from then on, since every turn asks this
    of every message; the first time its hash decides.
    """

    def __init__(self) -> None:
        self._items: list[object] = []
        self._hashes: list[bytes] = []
        self._values = _Values()

    def count_same(self, items: Sequence[object], hash_item: Callable[[object], bytes]) -> int:
        """Count the items at the start that are the same objects, and say the same."""
        alike = _count_alike(self._items, items)
        known = self._values.count_unchanged(min(alike, len(self._values)))
        if known < min(alike, len(self._values)):
            return known
        for index in range(known, alike):
            if hash_item(items[index]) != self._hashes[index]:
                return index
            self._values.add(items[index])
        return alike

    def replace(self, start: int, items: Sequence[object], hashes: Sequence[bytes]) -> None:
        """Go on from index `start` with other items."""
        self._items[start:] = items
        self._hashes[start:] = hashes
        self._values.cut(start)
        if NO_HASH in hashes:  # then only its values decide, from the start
            for item in items:
                self._values.add(item)


def _count_alike(old: Sequence[object], new: Sequence[object]) -> int:
    """Count the objects that two lists have in common at their start."""
    most = min(len(old), len(new))
    if all(map(is_, old[:most], new)):
        return most
    return next(index for index in range(most) if old[index] is not new[index])


class _Values:
    """The containers of some items, and the values that stood in them.

    The interpreter lists what some containers refer to in one call, and compares two lists by identity first.
    So nothing runs in a loop of ours, and no object is made, where nothing changed.
    """

    def __init__(self) -> None:
        self._containers: list[object] = []
        self._values: list[object] = []
        self._ends = [(0, 0)]
        """the number of containers and of values, after each item"""

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, item: object) -> None:
        """Take down what stands in one more item."""
        first = len(self._containers)
        waiting = [item]
        while waiting:
            container = waiting.pop()
            if isinstance(container, dict | list):
                self._containers.append(container)
                values = container.values() if isinstance(container, dict) else container
                waiting += [value for value in values if isinstance(value, dict | list)]
        self._values += get_referents(*self._containers[first:])
        self._ends.append((len(self._containers), len(self._values)))

    def cut(self, count: int) -> None:
        """Forget all but the first `count` items."""
        if count < len(self):
            containers, values = self._ends[count]
            del self._containers[containers:], self._values[values:], self._ends[count + 1 :]

    def count_unchanged(self, count: int) -> int:
        """Count the items, of the first `count`, that hold the same values as they did."""
        if self._is_unchanged(0, count):
            return count
        return next(index for index in range(count) if not self._is_unchanged(index, index + 1))

    def _is_unchanged(self, start: int, stop: int) -> bool:
        containers, values = self._containers, self._values
        if stop - start < len(self):
            firsts, lasts = self._ends[start], self._ends[stop]
            containers, values = containers[firsts[0] : lasts[0]], values[firsts[1] : lasts[1]]
        return get_referents(*containers) == values
