"""Which conversation a request belongs to: by the client's own name for it, and by the history it sends.

A client gives one name to several histories: a conversation, its sub-agents, questions on the side. So a name
only keeps apart what would look alike; the longest known part of the history decides. A history that goes on
otherwise than it did is a branch, and a conversation of its own.
"""

import secrets
import threading
import time
from collections.abc import Callable

from midfold.gateway.session import CLIENT_STATE, GatewaySession
from midfold.gateway.turns import OWN_HEADER, ClientHistory
from midfold.store import KnownHistory, Store

_SWEEP_SECONDS = 60.0


class SessionIndex:
    """The conversations in memory, by where they ended; threads may share it.

    Those that nobody used for a while are dropped: `on_expired` is called with each.
    """

    def __init__(
        self,
        store: Store,
        *,
        idle_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        on_expired: Callable[[GatewaySession], None] = lambda _session: None,
    ) -> None:
        self._store = store
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._on_expired = on_expired
        self._lock = threading.Lock()
        self._by_end: dict[tuple[str, bytes], GatewaySession] = {}
        self._by_conversation: dict[str, GatewaySession] = {}
        self._swept_at = clock()

    def __len__(self) -> int:
        return len(self._by_conversation)

    def claim(self, history: ClientHistory) -> GatewaySession:
        """Return the conversation of a history, which counts as its newest from now on.

        Of a hundred equal requests at once the first one makes the conversation and the others find it.
        Raises `StoreError` where the store cannot be asked.
        """
        with self._lock:
            expired = self._sweep()
            session = self._find(history) or self._look_up(history)
            self._keep(session, history)
        for each in expired:
            self._on_expired(each)
        return session

    def find(self, history: ClientHistory) -> GatewaySession | None:
        """Return the conversation that a history is part of, without counting it as a request of it."""
        with self._lock:
            return self._find(history)

    def _find(self, history: ClientHistory) -> GatewaySession | None:
        """Find it in memory: where it ended, or where it is asked the same again."""
        for digest in reversed(history.chain):
            session = self._by_end.get((history.hint, digest))
            if session is not None:
                newest = (session.settled, session.ends[-1], history.end)
                return session if digest in newest else None
        return None

    def _look_up(self, history: ClientHistory) -> GatewaySession:
        """Find it in the store, or begin one."""
        known = self._store.find_history(history.chain) if history.end else None
        if known is not None and known.is_end and (session := self._adopt(known, history)) is not None:
            return session
        session = GatewaySession(secrets.token_hex(16), history.hint, history.dialect)
        session.branch_of = known.session_id if known is not None and known.length > 1 else ""
        return session

    def _adopt(self, known: KnownHistory, history: ClientHistory) -> GatewaySession | None:
        stored = self._store.session(known.session_id)
        conversation = stored.conversation_id
        if (session := self._by_conversation.get(conversation)) is not None:
            return session if _may_be_same(history.hint, session.hint, conversation) else None
        state = self._store.load_state(known.session_id, CLIENT_STATE)
        hint = state.get("hint") if isinstance(state, dict) else None
        if not _may_be_same(history.hint, hint if isinstance(hint, str) else "", conversation):
            return None
        return GatewaySession(
            known.session_id, history.hint, stored.dialect or history.dialect, conversation_id=conversation
        )

    def _keep(self, session: GatewaySession, history: ClientHistory) -> None:
        session.used_at = self._clock()
        self._by_conversation[session.conversation_id] = session
        if not history.end or history.end in list(session.ends)[:-1]:
            return  # an older request once more
        session.settled = history.settled
        for digest in filter(None, (history.settled, history.end)):
            if digest in session.ends:
                session.ends.remove(digest)
            elif len(session.ends) == session.ends.maxlen:
                self._by_end.pop((session.hint, session.ends.popleft()), None)
            session.ends.append(digest)
            self._by_end[history.hint, digest] = session

    def _sweep(self) -> list[GatewaySession]:
        now = self._clock()
        if now - self._swept_at < min(_SWEEP_SECONDS, self._idle_seconds):
            return []
        self._swept_at = now
        idle = [
            session
            for session in self._by_conversation.values()
            if not session.active and now - session.used_at >= self._idle_seconds
        ]
        gone = set(map(id, idle))
        self._by_end = {key: each for key, each in self._by_end.items() if id(each) not in gone}
        # One that became a branch is here by the conversation that it was part of, too.
        kept = ((key, each) for key, each in self._by_conversation.items() if id(each) not in gone)
        self._by_conversation = dict(kept)
        return list({id(each): each for each in idle}.values())


def _may_be_same(hint: str, other: str, conversation: str) -> bool:
    """Whether two names may be of one conversation; no name, or our own id for it, contradicts none."""
    return not hint or not other or hint == other or hint == f"{OWN_HEADER}:{conversation}"
