"""Reads a growing conversation once: what was read and counted before is found again by identity."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import is_

from midfold.compression.ledger import Memory
from midfold.messages import Message, MessageDigest, digest_messages
from midfold.tokens import TokenCounter
from midfold.tokens.counting import spell_tools
from midfold.wire import Request, detect, parse

_GUESS = "openai_chat"
"""What plain words of user and assistant count as."""


@dataclass(slots=True)
class Reader:
    """Remembers the last list of messages with their sizes and digests, and what they say.

    A message is taken from memory only where the very same object stands at the same place with the very
    same content, so a caller that gives a message other content in place is noticed.
    """

    count: TokenCounter
    memory: Memory = field(default_factory=Memory)
    dialect: str = _GUESS
    messages: list[Message] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    digests: list[MessageDigest] = field(default_factory=list)
    tokens: int = 0
    _raws: list[object] = field(default_factory=list)
    _contents: list[object] = field(default_factory=list)
    _spelled_tools: str = ""
    _tools_tokens: int = 0

    def read(self, items: Sequence[object]) -> list[Message]:
        """Read `items`; the cost grows with what is new, not with the length of the conversation."""
        known = self._count_known(items)
        if known < len(self.messages):
            self.tokens -= sum(self.sizes[known:])
            self.memory.forget(self.messages[known:])
            del self.messages[known:], self.sizes[known:], self.digests[known:]
            del self._raws[known:], self._contents[known:]
        if known < len(items) and not self._is_settled(items, known):
            self.dialect = detect(items)
            known = self._forget() if known else 0
        new = parse(items[known:], self.dialect) if known < len(items) else []
        sizes = [self.count(message) for message in new]
        # The newest message is read anew the next time, and never folded before that.
        self.memory.remember(new[:-1])
        self.messages += new
        self.sizes += sizes
        self.digests += digest_messages(new, self.digests)
        self.tokens += sum(sizes)
        self._raws += items[known:]
        self._contents += _contents_of(items[known:])
        return self.messages

    def _is_settled(self, items: Sequence[object], known: int) -> bool:
        """Whether new items leave the dialect as it is; plain words count as chat until told otherwise."""
        if not known:
            return False
        return self.dialect != _GUESS or detect(items[known:]) == _GUESS

    def _forget(self) -> int:
        self.memory.forget(self.messages)
        self.messages.clear()
        self.sizes.clear()
        self.digests.clear()
        self._raws.clear()
        self._contents.clear()
        self.tokens = 0
        return 0

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

    def _count_known(self, items: Sequence[object]) -> int:
        """Count the items that are as they were; the usual case, where all are, is settled in bulk."""
        most = min(len(self.messages), len(items))
        same_objects = map(is_, self._raws[:most], items)
        same_contents = map(is_, self._contents[:most], _contents_of(items[:most]))
        if all(same_objects) and all(same_contents):
            known = most
        else:
            known = next(
                place
                for place, (raw, content, item) in enumerate(
                    zip(self._raws, self._contents, items, strict=False)
                )
                if raw is not item or _contents_of([item])[0] is not content
            )
        # Hosts that stream go on writing into their newest message, so that one is always read anew.
        return max(known - 1, 0)


def _contents_of(items: Sequence[object]) -> list[object]:
    """Return what a caller would replace when changing a message in place."""
    try:
        # Every turn asks this of every message, so the usual kind is asked without a loop of our own.
        return list(map(dict.get, items, repeat("content")))  # type: ignore[arg-type]
    except TypeError:
        return [item.get("content") if isinstance(item, dict) else item for item in items]
