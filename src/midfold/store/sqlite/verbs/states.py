"""What engines remember, in SQLite."""

from midfold.errors import SessionNotFound
from midfold.store.sqlite import folds, states
from midfold.store.sqlite.verbs.base import Verbs


class StateVerbs(Verbs):
    """See `midfold.store.base`."""

    def save_state(self, session_id: str, name: str, value: object) -> None:
        """Keep a JSON value with the conversation of a session; `None` forgets it."""
        bodies = self._hiding.states({name: value}, self._recall(session_id).conversation)
        self._write(states.save_of_session, session_id, bodies, self._clock())

    def load_state(self, session_id: str, name: str) -> object | None:
        """Return what was saved by that name with the conversation of a session."""
        return self._read(states.load, session_id, name)

    def conversation_key(self, session_id: str) -> bytes:
        """Return the key of the placeholders and fences of a conversation.

        One that is not stored yet has the id of its first session.
        """
        try:
            conversation = self._recall(session_id).conversation
        except SessionNotFound:
            conversation = session_id
        return self._hiding.secret_of(conversation)

    def remember_summary(self, span_digest: bytes, model: str, prompt: str, summary: object) -> None:
        """Keep a summary that was paid for until its fold is in place."""
        body = self._hiding.value(summary, "")
        identity = (span_digest, self._hiding.text(model, ""), self._hiding.text(prompt, ""))
        self._write(folds.remember_summary, identity, body, self._clock())

    def recall_summary(self, span_digest: bytes, model: str, prompt: str) -> object | None:
        """Return a summary that was paid for and not used."""
        identity = (span_digest, self._hiding.text(model, ""), self._hiding.text(prompt, ""))
        return self._read(folds.recall_summary, identity)
