"""What a store of dictionaries keeps."""

import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from midfold.messages import link
from midfold.store import Call, Session, StoredFold, StoredMessage
from midfold.store.codec import read_value
from midfold.store.rows import SAID, MessageRow


@dataclass(frozen=True, slots=True)
class Written:
    """A message: `seq` is its number in the session it was written in, `number` that in the whole store."""

    session_id: str
    seq: int
    number: int
    row: MessageRow
    chain: bytes | None
    """the digest of all that was said up to it; what a fold made has none"""
    created_at: float

    @property
    def record(self) -> StoredMessage:
        """The message as callers see it."""
        row = self.row
        return StoredMessage(
            session_id=self.session_id,
            seq=self.seq,
            origin=row.origin,
            role=row.role,
            item=read_value(row.body),
            tools=tuple(row.tools.split()),
            tokens=row.tokens,
            finish_reason=row.finish_reason,
            is_redacted=row.is_redacted,
            created_at=self.created_at,
        )


@dataclass(slots=True)
class Entry:
    """A session: what is known about it, and what it says."""

    session: Session
    origin: str
    """the conversation that its own branched from, by which credentials are hidden"""
    system: str | None = None
    view: list[Written] = field(default_factory=list)
    """what it says: what it took over, and behind that its own"""
    opening: int = 0
    """how much of the view was there when it was opened"""
    written: list[Written] = field(default_factory=list)
    """what was written in it, by number"""
    before: tuple[Written, ...] = ()
    """what was said before a branch"""
    last_chain: bytes = b""
    base_digest: bytes = b""
    """the digest of the list that a fold made for it"""

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.session.id

    @property
    def conversation(self) -> str:
        """The id of the first session of its chain."""
        return self.session.conversation_id

    @property
    def message_count(self) -> int:
        """How many messages of its own were appended to it."""
        return len(self.view) - self.opening


@dataclass(frozen=True, slots=True)
class KeptFold:
    """A fold in place, and the digest of the history it was made for."""

    prefix_digest: bytes
    stored: StoredFold


@dataclass(frozen=True, slots=True)
class KeptLease:
    """Who holds a session, `None` for nobody; the epoch rises each time it is taken."""

    holder: str | None
    epoch: int
    renewed_at: float
    expires_at: float

    def runs(self, now: float) -> bool:
        """Whether it has not run out; a clock before its beginning was set back, and says nothing."""
        return self.renewed_at - 5 <= now < self.expires_at


@dataclass(frozen=True, slots=True)
class KeptSummary:
    """A summary that was paid for."""

    body: str
    created_at: float


@dataclass(slots=True)
class Tenant:
    """All that belongs to one tenant."""

    entries: dict[str, Entry] = field(default_factory=dict)
    folds: dict[str, KeptFold] = field(default_factory=dict)
    """by the session that each opened"""
    leases: dict[str, KeptLease] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    """by conversation and name"""
    figures: dict[str, tuple[str, str]] = field(default_factory=dict)
    """the mark and the body, by conversation"""
    summaries: dict[tuple[bytes, str, str], KeptSummary] = field(default_factory=dict)
    """by the digest of what each is about, its model and its prompt"""

    def in_conversation(self, conversation: str) -> list[Entry]:
        """Return the sessions of a conversation, the first one first."""
        return [entry for entry in self.entries.values() if entry.conversation == conversation]

    def all_written(self) -> Iterator[Written]:
        """Yield every message."""
        for entry in self.entries.values():
            yield from entry.written


class Shelf:
    """All tenants, the lock that every verb takes, and the key of the placeholders."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.key = secrets.token_bytes(32)
        self.tenants: dict[str, Tenant] = {}
        self._next_number = 0

    def write(
        self, entry: Entry, rows: Sequence[MessageRow], now: float, *, is_chained: bool = True
    ) -> list[Written]:
        """Write rows in a session without saying that it says them.

        Rows that say in other words what was said are left out of the chain of the history.
        """
        made: list[Written] = []
        for row in rows:
            is_link = is_chained and row.origin == SAID
            if is_link:
                entry.last_chain = link(entry.last_chain, row.digest, row.role)
            chain = entry.last_chain or None if is_link else None
            made.append(Written(entry.id, len(entry.written) + len(made), self._next_number, row, chain, now))
            self._next_number += 1
        entry.written += made
        return made
