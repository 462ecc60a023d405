"""Notes of a stored conversation: with the messages they stand for, and corrected by their user."""

from collections.abc import Sequence

from midfold.folding import NOTES_CORRECTED, Compression, CompressionState, list_notes
from midfold.late_dataclasses import dataclass
from midfold.messages import Text, ToolResult
from midfold.pipeline import correct_request
from midfold.store import EndReason, HeldLease, Store, StoredFold, StoredMessage, check_sound
from midfold.summaries import Note, NoteChange
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse

FACTS: dict[str, object] = {"why": "notes"}
"""The facts that a correction is stored with."""


@dataclass(frozen=True, slots=True)
class NoteSource:
    """A message that a note stands for, as it is stored. `number` is its place in the whole conversation."""

    number: int
    record: StoredMessage
    speaker: str
    """who said it: user, assistant, or tool with its name where that is known"""


def find_sources(
    history: Sequence[StoredMessage], note: Note, *, dialect: str | None = None
) -> list[NoteSource]:
    """Return the messages that a note stands for, out of all that was said in its conversation."""
    numbers = [number for number in sorted(set(note.sources)) if number < len(history)]
    records = [(number, history[number]) for number in numbers]
    return [NoteSource(number, record, _name_speaker(record, note, dialect)) for number, record in records]


def _name_speaker(record: StoredMessage, note: Note, dialect: str | None) -> str:
    """Say who said it: a user's message may hold results of tools beside the user's words."""
    if record.role == "assistant":
        return record.role
    parts = [part for message in parse([record.item], dialect) for part in message.parts]
    has_results = any(isinstance(part, ToolResult) for part in parts)
    has_words = any(isinstance(part, Text) for part in parts)
    is_result = has_results and not (has_words and note.quotes_user)
    return " ".join(["tool", *dict.fromkeys(record.tools)]) if is_result else record.role


def read_session_notes(store: Store, session_id: str) -> tuple[Note, ...]:
    """List the notes that stand for what was folded of a conversation."""
    tip = store.session(store.get_compression_tip(session_id))
    return list_notes(parse(store.messages(tip.id), tip.dialect))


def correct_session_notes(store: Store, session_id: str, change: NoteChange) -> str:
    """Correct the notes of a conversation that nobody works on; return the session that goes on.

    Raises `NoteNotFound`, `ConfigError` and `StoreError`.
    """
    tip = store.session(store.get_compression_tip(session_id))
    records = store.records(tip.id)
    check_sound(tip.id, records)
    result = correct_items(
        [record.item for record in records],
        tip.dialect or "",
        change,
        model=tip.model or "",
        key=store.conversation_key(tip.id),
    )
    if tip.ended_at is not None:
        store.reopen_session(tip.id)
    with HeldLease(store, tip.id) as held:
        continued = store.continue_session_result(
            tip.id,
            result.messages,
            result,
            lease=held.lease,
            facts=FACTS,
            expected_count=tip.message_count,
        )
    if tip.ended_at is not None:
        store.end_session(continued.session_id, tip.end_reason or EndReason.CLOSED)
    return continued.session_id


def correct_items(
    items: Sequence[object],
    dialect: str,
    change: NoteChange,
    *,
    model: str,
    key: bytes,
    state: CompressionState | None = None,
) -> Compression[object]:
    """Correct the notes in a list of wire items."""
    request = Request(dialect, list(items))
    return correct_request(request, change, count=TokenCounter(model), key=key, state=state)


def is_correction(fold: StoredFold) -> bool:
    """Whether a stored fold is a correction of notes, and no compression."""
    return fold.facts.get("reason") == NOTES_CORRECTED
