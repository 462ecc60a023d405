"""A conversation that passes through the gateway: its place in the store, its engine, its turnstile.

Everything here can be lost: what a restart needs is in the store, and the client sends its history again.
"""

import threading
from collections import deque
from typing import TYPE_CHECKING

from midfold.concurrency import FairLock
from midfold.engines import FoldingEngine
from midfold.keys import KeyBudget
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Message

if TYPE_CHECKING:
    from midfold.gateway.folds import FoldMemo
    from midfold.gateway.moved_messages import MovedBlock

CLIENT_STATE = "client"
"""The name by which the store keeps what a client calls its conversation."""
_MOST_ENDS = 16


@dataclass(frozen=True, slots=True)
class KnownItems:
    """The items of a conversation's last request, as they were read."""

    messages: list[Message] = field(default_factory=list, repr=False)
    hashes: list[bytes] = field(default_factory=list, repr=False)
    settled: int = 0
    """how many there are up to the newest reply"""


class GatewaySession:
    """One conversation. Its requests are prepared one at a time, so that nothing is paid for twice."""

    def __init__(self, session_id: str, hint: str, dialect: str, *, conversation_id: str = "") -> None:
        self.id = session_id
        """of the tip of its chain"""
        self.conversation_id = conversation_id or session_id
        self.hint = hint
        self.dialect = dialect
        self.is_stored = bool(conversation_id)
        self.branch_of = ""
        """the session that its history goes off from, where it is a branch"""
        self.engine: FoldingEngine | None = None
        self.turnstile = FairLock()
        self.known = KnownItems()
        self.folded: FoldMemo | None = None
        """what its folds made of its last request"""
        self.write_lock = threading.Lock()
        """held while messages and usage are written"""
        self.ends: deque[bytes] = deque(maxlen=_MOST_ENDS)
        """chained digests of the newest replies and requests, oldest first"""
        self.settled = b""
        """the chained digest of its newest reply: what comes after it the client may still take back"""
        self.tail: list[Message] = []
        """what the client said since, and has not confirmed by going on"""
        self.moved: tuple[MovedBlock, ...] = ()
        """what its client was seen to move with each request"""
        self.saved_moved: tuple[MovedBlock, ...] = ()
        """those that the store knows"""
        self.reply: tuple[Message, ...] = ()
        """the answer to that"""
        self.key_budget: KeyBudget | None = None
        """the money of the key that asked last, where that is limited"""
        self.active = 0
        """requests under way"""
        self.used_at = 0.0
        self.warning = ""
        """something the client should know with its next answer"""

    @property
    def stored_id(self) -> str | None:
        """The id by which the store knows it; `None` where it does not yet."""
        return self.id if self.is_stored else None

    def take_warning(self) -> str:
        """Return what the client should know, once."""
        warning, self.warning = self.warning, ""
        return warning
