"""The session store: the verbs that every kind of store has, cut by use.

`Store` is all of them, in groups of at most eight verbs. Code that needs less asks for less: `HeldLease`
takes `Leases`. `Messages` (what sessions hold) and `States` (what engines remember) are groups of their own,
as `Sessions` and `Upkeep` are full without them.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias

from midfold.search import SNIPPET_CHARS
from midfold.store.figures import Figures
from midfold.store.values import (
    Call,
    ContinuedSession,
    Deleted,
    EndReason,
    ImportedMessage,
    Item,
    KnownHistory,
    LEASE_SECONDS,
    Lease,
    Order,
    Problem,
    SearchResults,
    Session,
    SessionKind,
    StoreStatus,
    StoredFold,
    StoredMessage,
)
from midfold.tokens import CanonicalUsage

if TYPE_CHECKING:  # a store that is only read loads no fold
    from midfold.folding import Compression


class Sessions(Protocol):
    """Opening, finding, naming and ending sessions."""

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
        kind: SessionKind = SessionKind.ROOT,
        messages: Sequence[object] = (),
    ) -> Session:
        """Open a session with its first messages, in one transaction. A branch begins with all that its
        parent says."""
        ...

    def import_conversation(
        self,
        said: Sequence[ImportedMessage],
        *,
        dialect: str,
        session_id: str | None = None,
        source: str = "",
        model: str | None = None,
        title: str | None = None,
        system: object = None,
        started_at: float | None = None,
    ) -> Session:
        """Write a whole conversation as a session of its own, each message dated as it was said; all of it,
        or nothing."""
        ...

    def session(self, session_id: str) -> Session:
        """Return what is known about a session, or raise `SessionNotFound`, as every verb does."""
        ...

    def sessions(
        self,
        *,
        source: str | None = None,
        limit: int = 50,
        before: float | None = None,
        prefix: str = "",
        after: str | None = None,
    ) -> list[Session]:
        """List sessions, the newest first: those that started before a time, those whose ids begin so.

        A page ends at `limit`; the next one comes `after` the id of its last session.
        """
        ...

    def system(self, session_id: str) -> object:
        """Return the system prompt that was kept with a session; a continuation has that of its parent."""
        ...

    def end_session(self, session_id: str, reason: str = EndReason.CLOSED) -> None:
        """End a session; it stays readable. Ending it twice changes nothing."""
        ...

    def reopen_session(self, session_id: str) -> None:
        """Go on with a session that was closed; one that a fold ended raises `SessionEnded`."""
        ...

    def set_title(self, session_id: str, title: str) -> None:
        """Name a session."""
        ...


class Messages(Protocol):
    """The messages of sessions, which are only ever appended to."""

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

    def history(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return what was said in a conversation, folded or not, in the order it was said in: all of it, or
        messages `start` to `stop`.

        A branch begins with all that was said before it.
        """
        ...

    def count_history(self, session_id: str) -> int:
        """Count what `history` returns, without reading it."""
        ...

    def find_numbers(self, session_id: str, written: Sequence[tuple[str, int]]) -> list[int | None]:
        """Return under which numbers `history` has messages, each given by its session and its number there;
        `None` for one that it does not have."""
        ...


class Chains(Protocol):
    """Folds: each ends a session and opens its continuation, until it is taken back."""

    def continue_session(
        self,
        session_id: str,
        messages: Sequence[object],
        compression: "Compression[object]",
        *,
        lease: Lease | None = None,
        system: object = None,
        facts: Mapping[str, object] | None = None,
    ) -> str:
        """End a session with a fold and open its continuation, in one transaction; return the new id."""
        ...

    def continue_session_result(
        self,
        session_id: str,
        messages: Sequence[object],
        compression: "Compression[object]",
        *,
        lease: Lease | None = None,
        system: object = None,
        facts: Mapping[str, object] | None = None,
        states: Mapping[str, object] | None = None,
        expected_count: int | None = None,
    ) -> ContinuedSession:
        """Do what `continue_session` does, save states with it, and say which hooks failed before it.

        Raises `SessionGrew` where the session's `message_count` is not the one that is expected, and
        `SessionBusy` where the lease was lost.
        """
        ...

    def undo_continuation(self, session_id: str) -> str:
        """Take back the newest fold of a chain; return the session that goes on with everything in it."""
        ...

    def get_compression_tip(self, session_id: str) -> str:
        """Follow continuations to the newest session."""
        ...

    def chain(self, session_id: str) -> list[Session]:
        """List the sessions of a chain from the first to the tip, without those that were taken back."""
        ...

    def conversations(
        self, *, source: str | None = None, limit: int = 50, after: str | None = None
    ) -> list[Session]:
        """List conversations by their tips, the newest first.

        A page ends at `limit`; the next one comes `after` the id of its last tip.
        """
        ...

    def folds(self, session_id: str | None = None, *, unannounced: bool = False) -> list[StoredFold]:
        """List the folds of a chain, or of all, from the first to the newest; or those not announced yet."""
        ...

    def mark_announced(self, child_id: str) -> None:
        """Note that the fold that opened this session was announced to engine and memory."""
        ...


class Leases(Protocol):
    """The right to fold a session: one holder at a time, and nobody commits under a lease that was lost."""

    def acquire_lease(self, session_id: str, holder: str, seconds: float = LEASE_SECONDS) -> Lease:
        """Take the right to fold a session, or raise `SessionBusy`; the epoch rises each time."""
        ...

    def renew_lease(self, lease: Lease, seconds: float = LEASE_SECONDS) -> Lease:
        """Keep it; raises `SessionBusy` when somebody took it over."""
        ...

    def release_lease(self, lease: Lease) -> None:
        """Give it back; one that somebody took over is left alone."""
        ...


class Search(Protocol):
    """Finding messages by what they say, and conversations by the history that a client sends again."""

    def search(
        self,
        query: str,
        *,
        session_id: str | None = None,
        role: str | None = None,
        tool: str | None = None,
        since: float | None = None,
        until: float | None = None,
        order: Order = Order.RELEVANCE,
        limit: int = 20,
        snippet_chars: Sequence[int] = (SNIPPET_CHARS,),
    ) -> SearchResults:
        """Find messages by words, questions, phrases and prefixes; no query is an error.

        By relevance, plain words and questions find what answers them best, whichever words it has; newest
        first, what has every word. Each message is found once, a summary as such, and never by a search for
        it. `session_id` keeps to its conversation, and for a branch to what was said before it.
        `snippet_chars` is how much is shown of the first hit, the second, and so on; the last counts for all
        that follow.
        """
        ...

    def find_substring(self, session_id: str, text: str, limit: int = 20) -> SearchResults:
        """Find a text letter by letter in what one session says, newest first."""
        ...

    def find_history(self, chain: Sequence[bytes], *, session_id: str | None = None) -> KnownHistory | None:
        """Find the session that a history belongs to, by its chained digests, oldest first.

        What the conversation of `session_id` knows of it comes before what any other knows.
        """
        ...

    def find_fold(self, chain: Sequence[bytes], *, session_id: str | None = None) -> StoredFold | None:
        """Find the fold that reaches furthest into a history, by its chained digests.

        The folds of the conversation of `session_id` come before those of any other.
        """
        ...


class Usage(Protocol):
    """The usage and cost of model calls."""

    def record_call(self, session_id: str, call: Call) -> None:
        """Record what a call used, at once; the same call twice is counted once."""
        ...

    def calls(
        self,
        session_id: str | None = None,
        *,
        whole_chain: bool = False,
        since: float | None = None,
        until: float | None = None,
    ) -> list[Call]:
        """List recorded calls, oldest first: of a session, of its whole chain, or of all."""
        ...

    def usage(self, session_id: str | None = None, *, whole_chain: bool = False) -> CanonicalUsage:
        """Add up what calls used."""
        ...


class States(Protocol):
    """The memory of engines: with a conversation, and of summaries that were paid for and not used yet."""

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value with the conversation of a session until that is deleted; `None` forgets it.

        A branch starts with what was kept of its parent.
        """
        ...

    def add_state(self, session_id: str, name: str, value: object) -> bool:
        """Keep a JSON value unless one was saved by that name; return whether it was kept.

        Of several processes that add under one name, one succeeds.
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

    def remember_summary(self, span_digest: bytes, model: str, prompt: str, summary: object) -> None:
        """Keep a summary that was paid for until its fold is in place, a day at most."""
        ...

    def recall_summary(self, span_digest: bytes, model: str, prompt: str) -> object | None:
        """Return a summary that was paid for and not used."""
        ...


class Upkeep(Protocol):
    """Deleting, checking and closing a store."""

    @property
    def status(self) -> StoreStatus:
        """Say how the store is doing."""
        ...

    def for_tenant(self, tenant: str) -> "Store":
        """Return the same store as another tenant sees it; `close` closes it for all of them."""
        ...

    def delete(self, session_id: str, *, branches: bool = False) -> Deleted:
        """Delete a conversation: every session of its chain, their index and their sub-agents.

        Where it has branches, that is a `StoreError` unless these are to go, too.
        """
        ...

    def prune(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, dry_run: bool = False
    ) -> Deleted:
        """Delete conversations untouched since `older_than`, then the oldest down to `keep_bytes`."""
        ...

    def check(self, *, deep: bool = True) -> list[Problem]:
        """Look for damage, in what all tenants keep; `deep` reads every message."""
        ...

    def rebuild_index(self) -> int:
        """Make the search index anew from the messages; return how many there are."""
        ...

    def forget_loss(self) -> None:
        """Put away the warning of `status` that something is missing."""
        ...

    def close(self) -> None:
        """Finish what is waiting and let go; for every tenant."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_error: object) -> None: ...


class Store(Sessions, Messages, Chains, Leases, Search, Usage, Figures, States, Upkeep, Protocol):
    """Sessions that only ever grow. Every method returns when the work is durable, and may be called from any
    thread; what belongs to another tenant does not exist."""


SessionStore: TypeAlias = Store
"""The name that earlier versions had for it."""
