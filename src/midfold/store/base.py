"""What a session store is: the values it gives, and the verbs that every kind of store has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Protocol, TypeAlias

from midfold.compression.fold import Fold
from midfold.compression.results import Compression
from midfold.errors import MessagesDamaged
from midfold.tokens.usage import CanonicalUsage

Item: TypeAlias = object
"""A wire item, as a provider spells it."""

OWN = ""
"""The tenant of whoever keeps only their own sessions."""


class Kind(StrEnum):
    """How a session came to be."""

    ROOT = "root"
    CONTINUATION = "continuation"
    BRANCH = "branch"
    SUBAGENT = "subagent"


class EndReason(StrEnum):
    """Why a session takes no more messages. Hosts may write words of their own."""

    COMPRESSION = "compression"
    UNDONE = "undone"
    CLOSED = "closed"
    EXPIRED = "expired"


class Condition(StrEnum):
    """Whether what was stored is what was read."""

    SOUND = "sound"
    DAMAGED = "damaged"
    """it cannot be read, or is not what was stored; `midfold doctor --fix` saves all else"""
    LOST = "lost"
    """a rescue put a mark in the place of what was damaged"""


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a chain. `conversation_id` is the id of the chain's first one and never changes."""

    id: str
    conversation_id: str
    kind: Kind
    parent_id: str | None
    source: str
    model: str | None
    title: str | None
    dialect: str | None
    started_at: float
    ended_at: float | None
    end_reason: str | None
    is_undone: bool
    message_count: int
    """messages of its own; what it took over from its parent is not counted"""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is kept, with what is known about it.

    `session_id` and `seq` are where it was written, which is an earlier session for what a fold kept.
    """

    session_id: str
    seq: int
    origin: str
    """`said`, or what a fold made: `summary`, `copy` or `stub`"""
    role: str
    item: Item
    tools: tuple[str, ...]
    tokens: int | None
    finish_reason: str | None
    is_redacted: bool
    created_at: float
    condition: Condition = Condition.SOUND
    """where it is not sound, `item` is a mark in its place that says so"""

    @property
    def is_damaged(self) -> bool:
        """Whether `item` is a mark in the place of a message that cannot be read."""
        return self.condition is not Condition.SOUND


def check_sound(session_id: str, records: Sequence[StoredMessage]) -> None:
    """Raise `MessagesDamaged` where a message is damaged; what a rescue put a mark for is not any more."""
    damaged = [index for index, each in enumerate(records) if each.condition is Condition.DAMAGED]
    if damaged:
        raise MessagesDamaged(session_id, damaged)


@dataclass(frozen=True, slots=True)
class StoredFold:
    """A fold that is in place: what it was made for, what came of it, and its facts for people."""

    session_id: str
    child_id: str
    fold: Fold
    facts: Mapping[str, object]
    created_at: float
    is_announced: bool
    condition: Condition = Condition.SOUND
    """where it is damaged, `fold` is empty"""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to fold a session, until it expires or somebody takes it over; then its epoch is old."""

    session_id: str
    holder: str
    epoch: int
    expires_at: float


@dataclass(frozen=True, slots=True)
class Known:
    """Where a history that a client sent was seen before."""

    session_id: str
    """the tip of the chain it belongs to"""
    length: int
    """how many of the messages are known"""
    is_end: bool = True
    """whether nothing was said after them; a history that goes on from earlier is a branch"""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as it was reported. `cost` is `None` where it is not known.

    `id` makes recording safe to repeat: the same call is counted once.
    """

    usage: CanonicalUsage
    model: str
    purpose: str = "chat"
    id: str | None = None
    cost: Decimal | None = None
    cost_kind: str = "unknown"
    """reported, computed, partial or unknown"""
    raw: object = None
    facts: Mapping[str, object] = field(default_factory=dict)
    """what else is worth knowing: tokens a fold removed, re-reads, seconds"""
    created_at: float | None = None
    session_id: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A stored message that was searched for. `marks` are the ranges of `snippet` that match."""

    session_id: str
    conversation_id: str
    seq: int
    role: str
    tools: tuple[str, ...]
    created_at: float
    snippet: str
    marks: tuple[tuple[int, int], ...]
    title: str | None = None
    is_damaged: bool = False
    """the message is not what was stored; `snippet` says so"""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gave; incomplete when it was cut off at its time limit."""

    hits: tuple[Hit, ...]
    is_incomplete: bool = False


class Order(StrEnum):
    """What comes first in the results of a search."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion took away; the files of these sessions are for their sinks to remove."""

    session_ids: tuple[str, ...]
    messages: int


BeforeContinue: TypeAlias = Callable[[str, Sequence[Item]], None]
"""Called with a session and its messages before a fold ends it, to save what must outlive it."""


class SessionStore(Protocol):
    """Sessions that only ever grow. Every method returns when the work is durable, and may be called from any
    thread; what belongs to another tenant does not exist."""

    def create_session(
        self,
        *,
        session_id: str | None = None,
        source: str = "",
        model: str | None = None,
        title: str | None = None,
        dialect: str | None = None,
        system: object = None,
        parent_id: str | None = None,
        kind: Kind = Kind.ROOT,
    ) -> Session:
        """Open a session. A branch begins with all that its parent says."""
        ...

    def append(
        self,
        session_id: str,
        messages: Sequence[object] | object,
        *,
        tokens: Sequence[int] | None = None,
        finish_reason: str | None = None,
        expected_count: int | None = None,
    ) -> int:
        """Add messages, all of them or none, and return the number of the first.

        Raises `SessionGrew` where the session's `message_count` is not the one that is expected. A session
        with damaged messages goes on; one whose newest is damaged raises `MessagesDamaged`.
        """
        ...

    def messages(self, session_id: str) -> list[Item]:
        """Return what the session says, as it would be sent. Raises `MessagesDamaged` where some of it is
        damaged: only `records` has room for a mark."""
        ...

    def records(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return the same with all that is known about each message; never with a hole: what is damaged has
        a record that says so."""
        ...

    def continue_session(
        self,
        session_id: str,
        messages: Sequence[object],
        compression: Compression[object],
        *,
        lease: Lease | None = None,
        system: object = None,
        facts: Mapping[str, object] | None = None,
    ) -> str:
        """End a session with a fold and open its continuation, in one transaction; return the new id."""
        ...

    def undo_continuation(self, session_id: str) -> str:
        """Take back the newest fold of a chain; return the session that goes on with everything in it."""
        ...

    def get_compression_tip(self, session_id: str) -> str:
        """Follow continuations to the newest session."""
        ...

    def chain(self, session_id: str) -> list[Session]:
        """List the sessions of a chain from the first to the tip."""
        ...

    def session(self, session_id: str) -> Session: ...

    def sessions(
        self, *, source: str | None = None, limit: int = 50, before: float | None = None
    ) -> list[Session]: ...

    def end_session(self, session_id: str, reason: str = EndReason.CLOSED) -> None: ...

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: Order = Order.NEWEST,
        limit: int = 20,
    ) -> Found: ...

    def record_call(self, session_id: str, call: Call) -> None: ...

    def calls(
        self, session_id: str | None = None, *, since: float | None = None, until: float | None = None
    ) -> Iterable[Call]: ...

    def usage(self, session_id: str | None = None) -> CanonicalUsage: ...

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value with the conversation of a session until that is deleted; `None` forgets it.

        A branch starts with what was kept of its parent.
        """
        ...

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return what was saved by that name with the conversation of a session."""
        ...

    def conversation_key(self, session_id: str) -> bytes:
        """Return the key of the placeholders and fences of a conversation: always the same, known to nobody.

        One that is not stored yet has the id of its first session.
        """
        ...

    def delete(self, session_id: str, *, branches: bool = False) -> Deleted: ...

    def close(self) -> None: ...
