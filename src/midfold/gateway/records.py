"""Records of conversations: every message as the client sent it, and the usage of each call.

Messages are recorded beside the request, not before it: a client sends its history again, so that nothing is
lost with a gateway that dies in between. What it says after the newest reply, and the answer to it, are kept
as a state of the conversation until it goes on, as only then it is certain how: clients put reminders behind
their history that they send once, and people change their last words. The first request is written at once:
without it nothing would tell the next gateway that a conversation goes on.
"""

import logging
import secrets
from collections.abc import Sequence

from midfold.errors import SessionEnded, SessionGrew, SessionNotFound
from midfold.gateway.session import CLIENT_STATE, GatewaySession
from midfold.gateway.turns import ClientTurn, PreparedRequest
from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import SYSTEM_ROLES, Message, own_digest
from midfold.providers import Observation
from midfold.store import KnownHistory, Store
from midfold.tokens import CanonicalUsage, TokenCounter
from midfold.usage import CHAT, make_call
from midfold.wire import parse, render

log = logging.getLogger("midfold.gateway")

SOURCE = "gateway"
REPLY_STATE = "newest"
"""The name by which the store keeps the newest request and its answer until the client goes on."""
_TRIES = 3
_MOST_REPEATED = 16


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a request: the answer as the client has it, and the rounds before its last one."""

    observation: Observation = field(default_factory=Observation)
    earlier: tuple[Observation, ...] = ()

    @property
    def first(self) -> Observation:
        """The round that was given what was prepared, and nothing else."""
        return self.earlier[0] if self.earlier else self.observation


@dataclass(frozen=True, slots=True)
class Records:
    """Writes to the store. Every method commits in the calling thread, and raises `StoreError`."""

    store: Store

    def record(self, turn: ClientTurn, session: GatewaySession) -> None:
        """Add what is new of a history to its conversation; what is known already is not written again."""
        for _ in range(_TRIES):
            try:
                return self._record_all(turn, session)
            except (SessionGrew, SessionEnded, SessionNotFound) as error:
                # Another gateway went on with it, or it was deleted: look again what is known.
                if isinstance(error, SessionNotFound):
                    session.is_stored = False
        return None

    def _record_all(self, turn: ClientTurn, session: GatewaySession) -> None:
        self._record(turn, session)
        if session.is_stored and session.moved != session.saved_moved:
            self._save_client(session)

    def _record(self, turn: ClientTurn, session: GatewaySession) -> None:
        settled = turn.history.settled_length
        session.tail = turn.messages[settled:]
        if not session.is_stored:
            return self._create(turn, session)
        if not settled:
            return self._repeat(turn, session)
        chain = turn.history.chain
        known = self.store.find_history(chain, session_id=session.id) if any(chain) else None
        if known is None:
            if not self.store.session(session.id).message_count:
                return self._append(session.id, turn.messages[:settled])
            known = KnownHistory(session.id, 0, is_end=False)
        own = self.store.session(known.session_id)
        if own.conversation_id != session.conversation_id:
            if not known.is_end or self.store.session(session.id).message_count:
                return None
            # Another gateway was asked in between, and has what this one only began.
            session.conversation_id = own.conversation_id
        if not known.is_end:
            return self._fork(turn, session, known)
        session.id = known.session_id
        # A fold that shortened newer messages was stored with them.
        session.tail = turn.messages[max(known.length, settled) :]
        return self._append(own.id, turn.messages[known.length : settled])

    def _repeat(self, turn: ClientTurn, session: GatewaySession) -> None:
        """Leave a first request as it was written; only what it says beyond that is not stored yet."""
        known = self.store.find_history(turn.history.chain, session_id=session.id)
        if known is not None and self.store.session(known.session_id).message_count == known.length:
            session.tail = turn.messages[known.length :]

    def _append(self, session_id: str, new: Sequence[Message]) -> None:
        if not new:
            return
        own = self.store.session(session_id)
        if own.ended_at is not None:
            self.store.reopen_session(session_id)
        self.store.append(session_id, new, expected_count=own.message_count)

    def _fork(self, turn: ClientTurn, session: GatewaySession, known: KnownHistory) -> None:
        """Go on in a conversation of its own where the client took back what was stored already.

        Its folds are found by what they are about, so that none is lost.
        """
        if known.length >= turn.history.settled_length:
            return  # an earlier request once more
        old_id = session.id
        is_replaced = bool(session.moved) and self._is_repeated(old_id, turn, session)
        session.branch_of = "" if is_replaced else old_id
        session.is_stored = False  # until it is, requests beside this one find nothing by its id
        session.id = session.conversation_id = secrets.token_hex(16)
        self._create(turn, session)
        if is_replaced:
            self._replace(old_id, session.id)

    def _is_repeated(self, session_id: str, turn: ClientTurn, session: GatewaySession) -> bool:
        """Whether a conversation holds only what is said again: a first request with what moved since."""
        if self.store.count_history(session_id) > _MOST_REPEATED or self.store.folds(session_id):
            return False
        said = {own_digest(message) for message in turn.messages}
        words = tuple(message.text for message in turn.messages if message.role == "user" and message.text)
        shapes = [shape for block in session.moved for shape in block.shapes]
        items = [record.item for record in self.store.history(session_id)]
        return all(
            own_digest(message) in said
            or any(shape.fits(message) for shape in shapes)
            or (message.role == "user" and message.text.startswith(words))
            for message in parse(items, turn.request.dialect)
        )

    def _replace(self, old_id: str, new_id: str) -> None:
        """Delete a conversation whose messages are in another one, which takes over what its calls cost."""
        for call in self.store.calls(old_id):
            # A call is recorded once by its id. Were we killed here, it would be counted twice, and not lost.
            self.store.record_call(new_id, replace(call, id=f"{call.id}:{new_id[:8]}"))
        self.store.delete(old_id)

    def _create(self, turn: ClientTurn, session: GatewaySession) -> None:
        written = turn.history.settled_length or _count_said(turn.messages)
        session.tail = turn.messages[written:]
        self.store.create_session(
            session_id=session.id,
            source=SOURCE,
            model=turn.model or None,
            dialect=turn.request.dialect,
            system=turn.request.system,
            messages=turn.messages[:written],
        )
        session.is_stored = True
        self._save_client(session)

    def _save_client(self, session: GatewaySession) -> None:
        session.saved_moved = session.moved
        moved = [block.to_json() for block in session.moved]
        facts = {"hint": session.hint, "branch_of": session.branch_of, "riders": moved}
        known = {name: value for name, value in facts.items() if value}
        if known:
            self.store.save_state(session.id, CLIENT_STATE, known)

    def flush(self, session: GatewaySession) -> None:
        """Write what the client said last, and its answer, once it is unlikely to go on."""
        said = [*session.tail, *session.reply]
        if session.is_stored and said:
            self._append(session.id, said)
            session.tail, session.reply = [], ()
            self.store.save_state(session.id, REPLY_STATE, None)

    def record_call(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        prepared: PreparedRequest,
        outcome: Outcome,
        *,
        provider: str,
        seconds: float,
    ) -> None:
        """Record what each round used, estimated where an answer does not say, and keep the reply."""
        rounds = [*outcome.earlier, outcome.observation]
        for number, each in enumerate(rounds, 1):
            facts: dict[str, object] = {"seconds": round(seconds, 3)} if number == len(rounds) else {}
            if prepared.saved_tokens:
                facts["removed_tokens"] = prepared.saved_tokens
            if len(rounds) > 1:
                facts["recall_round"] = number
            self._record_usage(turn, session, prepared, each, f"{provider}/{turn.model}", facts)
        completion, dialect = outcome.observation.completion, turn.request.dialect
        if completion is not None:
            session.reply = completion.messages
            kept = {
                "request": render(session.tail, dialect),
                "reply": render(completion.messages, dialect),
                "finish": completion.finish_reason if outcome.observation.complete else "incomplete",
            }
            self.store.save_state(session.id, REPLY_STATE, kept)

    def _record_usage(
        self,
        turn: ClientTurn,
        session: GatewaySession,
        prepared: PreparedRequest,
        observation: Observation,
        model: str,
        facts: dict[str, object],
    ) -> None:
        completion = observation.completion
        if completion is None and observation.usage is None:
            return
        raw: object = completion.raw_usage if completion is not None else None
        if observation.usage is None:
            count = TokenCounter(turn.model or None)
            written = sum(map(count, completion.messages)) if completion is not None else 0
            raw = CanonicalUsage(prepared.tokens, written)
            facts["is_estimated"] = True
        call = make_call(raw, model, purpose=CHAT, dialect=turn.request.dialect, facts=facts)
        self.store.record_call(session.id, call)


def _count_said(messages: Sequence[Message]) -> int:
    """Count the messages of a first request without the system messages at its end, which may move."""
    said = (index for index in range(len(messages), 0, -1) if messages[index - 1].role not in SYSTEM_ROLES)
    return next(said, len(messages))
