"""Messages in SQLite: appending and reading them."""

from collections.abc import Sequence

from midfold.store.base import Item, StoredMessage
from midfold.store.preparing import prepare
from midfold.store.sqlite import writing
from midfold.store.sqlite.verbs.base import Verbs


class MessageVerbs(Verbs):
    """See `midfold.store.base`."""

    def append(
        self,
        session_id: str,
        messages: Sequence[object] | object,
        *,
        tokens: Sequence[int] | None = None,
        finish_reason: str | None = None,
        expected_count: int | None = None,
    ) -> int:
        """Add messages, all or none; return the number of the first. `SessionGrew`, `MessagesDamaged`."""
        if not self._recalled.get(session_id):
            self._read(writing.check_end, session_id)
        place = self._recall(session_id)
        prepared = prepare(
            messages,
            place.dialect,
            self._hiding.key(place.conversation),
            tokens=tokens,
            finish_reason=finish_reason,
        )
        now = self._clock()
        return self._write(writing.append, session_id, prepared, self._quota, now, expected_count)

    def messages(self, session_id: str) -> list[Item]:
        """Return what the session says, as it would be sent; raises `MessagesDamaged`."""
        return writing.read_items(self._database, self._tenant, session_id)

    def records(self, session_id: str, start: int = 0, stop: int | None = None) -> list[StoredMessage]:
        """Return what the session says with all that is known about each message, and marks for damage."""
        return writing.read_view(self._database, self._tenant, session_id, start, stop)

    def history(self, session_id: str) -> list[StoredMessage]:
        """Return everything that was said in a conversation, folded or not, with marks for damage."""
        return writing.read_history(self._database, self._tenant, session_id)

    def count_history(self, session_id: str) -> int:
        """Count what was said in a conversation, folded or not, without reading it."""
        return writing.count_history(self._database, self._tenant, session_id)
