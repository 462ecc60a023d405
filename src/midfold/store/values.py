"""The values that session stores take and give; `base` has the verbs."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from midfold.errors import MessagesDamaged
from midfold.late_dataclasses import dataclass, field
from midfold.search import Origin
from midfold.tokens import CanonicalUsage

if TYPE_CHECKING:  # a store that is only read loads no fold
    from midfold.folding import Fold

Item: TypeAlias = object
"""A wire item, as a provider writes it."""

LEASE_SECONDS = 45.0
"""A lease lasts this long unless it is renewed."""
OWN = ""
"""The tenant of a user who keeps only their own sessions."""


class SessionKind(StrEnum):
    """The origin of a session."""

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
    kind: SessionKind
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
    fold: "Fold"
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
class KnownHistory:
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
    origin: Origin = Origin.MESSAGE
    """what it is: a message that somebody said, a summary of such, the output of a tool"""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a search; incomplete when it was cut off at its time limit."""

    hits: tuple[Hit, ...]
    is_incomplete: bool = False


class Order(StrEnum):
    """The order of the results of a search."""

    NEWEST = "newest"
    RELEVANCE = "relevance"


@dataclass(frozen=True, slots=True)
class Deleted:
    """The sessions that a deletion removed; their files are for their sinks to remove."""

    session_ids: tuple[str, ...]
    messages: int


IMPORTED = "imported"
"""The state of a conversation that was brought in; when it was saved says when that was, the last time."""
BeforeContinue: TypeAlias = Callable[[str, Sequence[Item]], None]
"""Called with a session and its messages before a fold ends it, to save what must outlive it."""


@dataclass(frozen=True, slots=True)
class ContinuedSession:
    """A session that goes on after a fold, and the hooks that failed before it: harmless, worth saying."""

    session_id: str
    failed_hooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message on its way in, and what a file knows about it."""

    item: object
    at: float | None = None
    tokens: int | None = None
    finish_reason: str | None = None
    is_redacted: bool = False


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """The status of a store, in words for people; `problem` is `None` while all is well."""

    path: str
    """where it keeps what it keeps; `:memory:` where that goes with the process"""
    engine: str
    """what it runs on, with its version, such as `SQLite 3.51.3`"""
    may_write: bool
    problem: str | None
    warning: str | None = None
    """what the person should know, although everything works"""
    store_id: str = ""
    """the store's own id, wherever it is moved; empty where it goes with the process"""


class Area(StrEnum):
    """The part of a store that a problem is about; only the index can be rebuilt without loss."""

    FILE = "file"
    INDEX = "index"
    MESSAGES = "messages"
    LINEAGE = "lineage"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it must be."""

    area: Area
    text: str


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """`sessions` are all sessions of all tenants, each as tenant and id."""

    store_id: str
    """the store's own id, wherever its file is moved"""
    schema: int
    sessions: frozenset[tuple[str, str]]
    messages: int
    lost: int
    """messages that a rescue replaced by marks"""
    stale_leases: int
    """leases that ran out without being given back"""


@dataclass(frozen=True, slots=True)
class LostMessages:
    """Messages of a session that could not be read, by their numbers in it."""

    conversation: str
    session: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The sessions and messages that a rescue saved, and those it did not."""

    conversations: int
    messages: int
    lost: tuple[LostMessages, ...] = ()
    lost_folds: int = 0
    lost_calls: int = 0
    unfolded: tuple[str, ...] = ()
    """sessions of which nobody knows any more what a fold kept: they say all that came before"""
    unnamed: tuple[str, ...] = ()
    """sessions that were made for messages whose own session could not be read"""
    has_read_nothing: bool = False

    @property
    def lost_messages(self) -> int:
        """The number of messages that were replaced by a mark."""
        return sum(len(each.positions) for each in self.lost)

    @property
    def is_whole(self) -> bool:
        """Whether nothing at all was lost."""
        return not (
            self.lost
            or self.lost_folds
            or self.lost_calls
            or self.unfolded
            or self.unnamed
            or self.has_read_nothing
        )


@dataclass(frozen=True, slots=True)
class Replaced:
    """Where the damaged file is, and what could be saved from it."""

    kept_as: Path
    salvaged: Salvaged


@dataclass(frozen=True, slots=True)
class EngineVersion:
    """The version of what a store runs on; several processes may write from `safe_version` on."""

    version: str
    safe_version: str
    is_safe: bool
