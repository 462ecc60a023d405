"""Words that callers hand over beside messages: ids, kinds, titles, states.

They are checked, and credentials in them are hidden.
"""

from collections.abc import Mapping
from hashlib import blake2b

from midfold.errors import SessionNotFound, StoreError
from midfold.late_dataclasses import dataclass
from midfold.store.codec import clean_text, hide_text, pack_value
from midfold.store.values import EndReason, SessionKind

MAX_NAME_CHARS = 4_096
"""As much is kept of a title, a source, a reason: of whatever is no message, and so counts for no quota."""
MAX_ID_CHARS = 256
"""Ids are 32 hex digits unless a host chooses its own."""
_MAX_STATE_NAME_CHARS = 256
_CUT_DIGEST_BYTES = 16


def check_id(session_id: str) -> None:
    """Raise `SessionNotFound` for what can be no id: ids are compared letter by letter and never repaired."""
    if not session_id or len(session_id) > MAX_ID_CHARS or clean_text(session_id) != session_id:
        raise SessionNotFound(session_id)


def check_new_id(session_id: str) -> None:
    """Raise `StoreError` for what no session can be called."""
    if len(session_id) > MAX_ID_CHARS or clean_text(session_id) != session_id:
        raise StoreError(f"the id of a session is text of at most {MAX_ID_CHARS} characters, without NUL")


def check_end_reason(reason: str) -> None:
    """Raise `StoreError` for a word that is said of a session together with the one that follows it."""
    if reason in (EndReason.COMPRESSION, EndReason.UNDONE):
        raise StoreError(f"a session ends with {reason!r} by a fold, or by taking one back")


def check_kind(kind: SessionKind, parent_id: str | None) -> None:
    """Raise `StoreError` where a session of this kind cannot be opened under that parent."""
    if kind is SessionKind.CONTINUATION:
        raise StoreError("a continuation comes from continue_session")
    if (parent_id is None) is not (kind is SessionKind.ROOT):
        raise StoreError("a branch and a sub-agent have a parent, and a root has none")


@dataclass(frozen=True, slots=True)
class Redactor:
    """Hides credentials from the store, or does not where `is_on` is false."""

    secret: bytes
    tenant: str
    is_on: bool

    def key(self, conversation: str) -> bytes | None:
        """Return the key of a conversation's placeholders: a credential looks the same in all of it, and
        nowhere else."""
        return self.secret_of(conversation) if self.is_on else None

    def secret_of(self, conversation: str) -> bytes:
        """Return the same key where nothing is hidden, too: summaries are fenced with it."""
        name = f"{self.tenant}\0{conversation}".encode("utf-8", "surrogatepass")
        return blake2b(name, key=self.secret, digest_size=32).digest()

    def text(self, text: str, conversation: str) -> str:
        """Return a text that may be stored; one that is too long for a name is cut.

        Behind the cut stands a digest, so that two that differ only there stay two.
        """
        hidden = hide_text(text, self.key(conversation))
        if len(hidden) <= MAX_NAME_CHARS:
            return hidden
        digest = blake2b(hidden.encode(), digest_size=_CUT_DIGEST_BYTES).hexdigest()
        return f"{hidden[: MAX_NAME_CHARS - len(digest) - 1]}…{digest}"

    def value(self, value: object, conversation: str) -> str:
        """Encode a JSON value that may be stored."""
        return pack_value(value, self.key(conversation))

    def states(self, values: Mapping[str, object], conversation: str) -> dict[str, str | None]:
        """Encode states of a conversation by their names; `None` is one to be forgotten."""
        for name in values:
            if not name or len(name) > _MAX_STATE_NAME_CHARS or clean_text(name) != name:
                raise StoreError(f"the name of a state is text of 1 to {_MAX_STATE_NAME_CHARS} characters")
        return {
            name: None if value is None else self.value(value, conversation) for name, value in values.items()
        }
