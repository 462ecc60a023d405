"""Turns what callers hand over into rows: finds out how it is spelled and hides its credentials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from midfold.errors import SessionNotFound, StoreError, UnknownDialect
from midfold.messages import Message
from midfold.store.base import EndReason, SessionKind
from midfold.store.codec import clean_text, hide_text, pack_value
from midfold.store.rows import MessageRow, make_rows, read_items, spell_items
from midfold.wire import DEFAULT_DIALECT, Evidence, Recognition, recognise

"""How what shows no dialect of its own is spelled."""
MAX_NAME_CHARS = 4_096
"""As much is kept of a title, a source, a reason: of whatever is no message, and so counts for no quota."""
MAX_ID_CHARS = 256
"""Ids are 32 hex digits unless a host chooses its own."""
_MAX_STATE_NAME_CHARS = 256
_CUT_DIGEST_BYTES = 16


def check_id(session_id: str) -> None:
    """Raise `SessionNotFound` for what can be no id: ids are compared letter by letter and never mended."""
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
class Prepared:
    """Rows that can be written, and the dialect that they prove, where they do."""

    rows: tuple[MessageRow, ...]
    dialect: str | None


def prepare(
    messages: object,
    dialect: str | None,
    key: bytes | None,
    *,
    tokens: Sequence[int] | None = None,
    finish_reason: str | None = None,
) -> Prepared:
    """Prepare one message or many, wire items or `Message` values, for a session of this dialect."""
    given = _as_list(messages)
    if not given:
        return Prepared((), None)
    proven = _prove(given, dialect)
    spelling = dialect or (proven.dialect if proven else DEFAULT_DIALECT)
    items = spell_items(given, spelling)
    if len(items) == len(given):
        read = read_items(given, spelling)
    else:
        read = read_items(items, spelling)
        tokens = None
    if tokens is not None and len(tokens) != len(given):
        raise StoreError(f"{len(given)} messages came with {len(tokens)} counts")
    rows = make_rows(read, items, spelling, key, tokens=tokens, finish_reason=finish_reason)
    is_new = dialect is None and proven is not None and proven.evidence is not Evidence.NONE
    return Prepared(tuple(rows), spelling if is_new else None)


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
        """Spell a JSON value that may be stored."""
        return pack_value(value, self.key(conversation))

    def states(self, values: Mapping[str, object], conversation: str) -> dict[str, str | None]:
        """Spell states of a conversation by their names; `None` is one to be forgotten."""
        for name in values:
            if not name or len(name) > _MAX_STATE_NAME_CHARS or clean_text(name) != name:
                raise StoreError(f"the name of a state is text of 1 to {_MAX_STATE_NAME_CHARS} characters")
        return {
            name: None if value is None else self.value(value, conversation) for name, value in values.items()
        }


def _as_list(messages: object) -> list[object]:
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        return list(messages)
    return [messages]


def _prove(given: Sequence[object], dialect: str | None) -> Recognition | None:
    """Say how wire items are spelled, or raise where that cannot be how the session is.

    Messages can be spelled in any way.
    """
    items = [item for item in given if not isinstance(item, Message)]
    try:
        found = recognise(items) if items else None
    except UnknownDialect:
        if dialect is None:
            raise
        return None
    if dialect and found and found.evidence is Evidence.PROOF and found.dialect != dialect:
        raise StoreError(f"the session is spelled as {dialect}, and these messages as {found.dialect}")
    return found
