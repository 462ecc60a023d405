"""Which conversation a request belongs to: by the client's own name for it, and by the history it sends.

A client gives one name to several histories: a conversation, its sub-agents, questions on the side. So a name
only keeps apart what would look alike; the longest known part of the history decides. A history that goes on
otherwise than it did is a branch, and a conversation of its own.
"""

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from heapq import nlargest

from midfold.gateway.moved_messages import learn_moved, read_blocks, set_aside
from midfold.gateway.session import CLIENT_STATE, GatewaySession
from midfold.gateway.turns import OWN_HEADER, ClientHistory, ClientTurn
from midfold.store import KnownHistory, Store

_SWEEP_SECONDS = 60.0
_MOST_CANDIDATES = 32


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

    @property
    def sessions(self) -> list[GatewaySession]:
        """The conversations in memory."""
        return list(self._by_conversation.values())

    def claim(self, turn: ClientTurn) -> tuple[GatewaySession, ClientTurn]:
        """Return the conversation of a request, which counts as its newest from now on, and its history.

        Of a hundred equal requests at once the first one makes the conversation and the others find it.
        Raises `StoreError` where the store cannot be asked.
        """
        with self._lock:
            expired = self._sweep()
            session = self._recognise(turn) or self._look_up(turn)
            turn = set_aside(turn, session.moved)
            self._keep(session, turn.history)
        for each in expired:
            self._on_expired(each)
        return session, turn

    def find(self, turn: ClientTurn) -> tuple[GatewaySession | None, ClientTurn]:
        """Return the conversation that a request is part of, without counting it as one of it."""
        with self._lock:
            session = self._recognise(turn)
            return session, set_aside(turn, session.moved) if session is not None else turn

    def _recognise(self, turn: ClientTurn) -> GatewaySession | None:
        """Find it in memory, also where the client has moved messages that are no part of its history."""
        session = self._find(turn.history)
        if session is not None or not turn.history.settled_length:
            return session
        for session in self._newest_of(turn.history.hint):
            history = set_aside(turn, session.moved)
            if session.moved and self._find(history.history) is session:
                return session
            last = session.known
            moved = learn_moved(last.messages, last.settled, history.messages)
            if moved is not None:
                session.moved = (*session.moved, *moved)
                return session
        return None

    def _newest_of(self, hint: str) -> list[GatewaySession]:
        named = (session for session in self._by_conversation.values() if session.hint == hint)
        return nlargest(_MOST_CANDIDATES, named, key=lambda session: session.used_at)

    def _find(self, history: ClientHistory) -> GatewaySession | None:
        """Find it in memory: where it ended, or where it is asked the same again."""
        for digest in reversed(history.chain):
            session = self._by_end.get((history.hint, digest))
            if session is not None:
                newest = (session.settled, session.ends[-1], history.end)
                return session if digest in newest else None
        return None

    def _look_up(self, turn: ClientTurn) -> GatewaySession:
        """Find it in the store, or begin one."""
        history = turn.history
        known = self._store.find_history(history.chain) if history.end else None
        if known is not None and not known.is_end:
            known = self._find_without_riders(turn, known) or known
        if known is not None and known.is_end and (session := self._adopt(known, history)) is not None:
            return session
        session = GatewaySession(secrets.token_hex(16), history.hint, history.dialect)
        session.branch_of = known.session_id if known is not None and known.length > 1 else ""
        return session

    def _find_without_riders(self, turn: ClientTurn, known: KnownHistory) -> KnownHistory | None:
        """Find the same conversation by its history alone, where it is known what its client moves."""
        state = self._load_client(known.session_id)
        history = set_aside(turn, read_blocks(state.get("riders"))).history
        if history.chain == turn.history.chain:
            return None
        return self._store.find_history(history.chain, session_id=known.session_id)

    def _adopt(self, known: KnownHistory, history: ClientHistory) -> GatewaySession | None:
        stored = self._store.session(known.session_id)
        conversation = stored.conversation_id
        if (session := self._by_conversation.get(conversation)) is not None:
            return session if _may_be_same(history.hint, session.hint, conversation) else None
        state = self._load_client(known.session_id)
        hint = state.get("hint")
        if not _may_be_same(history.hint, hint if isinstance(hint, str) else "", conversation):
            return None
        session = GatewaySession(
            known.session_id, history.hint, stored.dialect or history.dialect, conversation_id=conversation
        )
        session.moved = session.saved_moved = read_blocks(state.get("riders"))
        return session

    def _load_client(self, session_id: str) -> Mapping[str, object]:
        state = self._store.load_state(session_id, CLIENT_STATE)
        return state if isinstance(state, dict) else {}

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
