"""Messages that were read before, found again by content.

A client that sends its history again sends fresh JSON for what was read, counted and digested a request ago.
A `MessageCache` finds the message of an item by a hash of what the item says, so that only new items cost.
One cache may serve engines, agents and stores together: all of them get the same parts of a message, and with
them what others found out about it.
"""

import marshal
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from threading import Lock

from midfold.errors import DialectError
from midfold.late_dataclasses import dataclass
from midfold.messages.parts import Message

Read = Callable[[Sequence[object], str], list[Message]]
"""Reads wire items of a dialect, each as one message."""

MOST_BYTES = 64 * 1024 * 1024
NO_HASH = b""
"""Stands for the hash of an item that is no plain JSON value, such as an SDK's object."""
_KEY_BYTES = 16
# The last version of the format without references, in which equal values are written alike.
_MARSHAL_VERSION = 2


@dataclass(frozen=True, slots=True)
class ReadItems:
    """Items as messages, and the hash of what each item says."""

    messages: list[Message]
    hashes: list[bytes]


class MessageCache:
    """Reads wire items, each one once; what was not asked for longest goes first. Threads may share it."""

    def __init__(self, read: Read, *, most_bytes: int = MOST_BYTES) -> None:
        self._read = read
        self._most_bytes = most_bytes
        self._bytes = 0
        self._key = os.urandom(_KEY_BYTES)
        self._known: OrderedDict[bytes, tuple[Message, int]] = OrderedDict()
        self._lock = Lock()

    def read(self, items: Sequence[object], dialect: str) -> list[Message]:
        """Read items; each message has the given item as its `raw`.

        Raises what reading raises, with the index of the item that cannot be read.
        """
        return self.read_items(items, dialect).messages

    def read_items(self, items: Sequence[object], dialect: str) -> ReadItems:
        """Read items, and say by which hash each is known."""
        hashed = [self._hash(item, dialect) for item in items]
        hashes = [each.digest for each in hashed]
        found = self._find(hashes)
        new = [index for index, message in enumerate(found) if message is None]
        if new:
            self._read_new(items, dialect, new, hashed, found)
        messages = [
            message if message.raw is item else message.with_raw(item)
            for message, item in zip(found, items, strict=True)
            if message is not None
        ]
        return ReadItems(messages, hashes)

    def admit(self, messages: Sequence[Message], dialect: str) -> None:
        """Take in messages that were read elsewhere, with the items they were read from."""
        hashed = [self._hash(message.raw, dialect) for message in messages]
        with self._lock:
            for each, message in zip(hashed, messages, strict=True):
                self._add(each, message)

    def hash(self, item: object, dialect: str) -> bytes:
        """Hash what an item says; `NO_HASH` where that cannot be done."""
        return self._hash(item, dialect).digest

    def knows(self, item: object, dialect: str) -> bool:
        """Whether an item was read before, as one of this dialect."""
        return self.hash(item, dialect) in self._known

    @property
    def known_bytes(self) -> int:
        """The size of all known items, as they are hashed."""
        return self._bytes

    def _hash(self, item: object, dialect: str) -> "_Hashed":
        try:
            written = marshal.dumps(item, _MARSHAL_VERSION)  # type: ignore[arg-type]
        except ValueError:
            return _UNHASHED
        hashed = blake2b(written, digest_size=16, key=self._key, person=dialect.encode()[:16])
        return _Hashed(hashed.digest(), len(written))

    def _find(self, hashes: Sequence[bytes]) -> list[Message | None]:
        with self._lock:
            found = [self._known.get(each) for each in hashes]
            for each, known in zip(hashes, found, strict=True):
                if known is not None:
                    self._known.move_to_end(each)
        return [None if known is None else known[0] for known in found]

    def _read_new(
        self,
        items: Sequence[object],
        dialect: str,
        new: Sequence[int],
        hashed: Sequence["_Hashed"],
        found: list[Message | None],
    ) -> None:
        """Read the unknown items, and fill them in; an item that comes twice is read once."""
        first: dict[bytes, int] = {}
        for index in new:
            first.setdefault(hashed[index].digest or str(index).encode(), index)
        wanted = list(first.values())
        read = self._read_some(items, wanted, dialect)
        by_index = dict(zip(wanted, read, strict=True))
        for index in new:
            found[index] = by_index[first[hashed[index].digest or str(index).encode()]]
        with self._lock:
            for index, message in by_index.items():
                self._add(hashed[index], message)

    def _read_some(self, items: Sequence[object], wanted: Sequence[int], dialect: str) -> list[Message]:
        try:
            return self._read([items[index] for index in wanted], dialect)
        except DialectError:
            self._read(items, dialect)  # raises the same with the index of the item in the whole list
            raise

    def _add(self, hashed: "_Hashed", message: Message) -> None:
        if hashed.digest == NO_HASH or hashed.size > self._most_bytes or hashed.digest in self._known:
            return
        # The caller's own object may change, and is large; what it said is in the parts.
        self._known[hashed.digest] = (message.with_raw(None), hashed.size)
        self._bytes += hashed.size
        while self._bytes > self._most_bytes:
            _, (_, dropped) = self._known.popitem(last=False)
            self._bytes -= dropped


@dataclass(frozen=True, slots=True)
class _Hashed:
    digest: bytes
    size: int


_UNHASHED = _Hashed(NO_HASH, 0)
