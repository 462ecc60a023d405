"""Conversations read for reports: what was said, and what folds had to do with its calls."""

from collections.abc import Mapping, Sequence

from midfold.late_dataclasses import dataclass
from midfold.messages import Message
from midfold.ports import Count
from midfold.store import Call, Store, StoredFold, StoredMessage
from midfold.tokens import TokenCounter
from midfold.usage.savings import CountedCall, MessageKey, Reread, count_calls, find_rereads
from midfold.wire import Request, parse


@dataclass(frozen=True, slots=True)
class ReadConversation:
    """All that was said, as it is stored and as messages."""

    history: tuple[StoredMessage, ...]
    messages: tuple[Message, ...]


def make_counter(model: str | None, dialect: str | None) -> TokenCounter:
    """Count as a model does; where none is known, as the models of a dialect do."""
    return TokenCounter(model or (Request(dialect, []).counted_as if dialect else None))


def read_conversation(store: Store, session_id: str, dialect: str | None) -> ReadConversation:
    """Read what was said in the conversation of a session, folded or not."""
    history = store.history(session_id)
    messages = parse([record.item for record in history], dialect) if history else []
    return ReadConversation(tuple(history), tuple(messages))


def count_in(
    store: Store,
    found: ReadConversation | None,
    calls: Sequence[Call],
    folds: Sequence[StoredFold],
    count: Count,
) -> list[CountedCall]:
    """Count the calls of a conversation; what was read again is known where its messages are."""
    rereads: Mapping[int, Reread] = {}
    if folds and found is not None and found.history:
        rereads = find_rereads(found.history, found.messages, _folded_at(store, folds), calls, count)
    return count_calls(calls, folds, rereads)


def _folded_at(store: Store, folds: Sequence[StoredFold]) -> dict[MessageKey, float]:
    """Say when each message went that was folded or shortened."""
    gone: dict[MessageKey, float] = {}
    for fold in folds:
        view = store.records(fold.session_id)
        for index in (index for index in fold.fold.touched if index < len(view)):
            gone.setdefault((view[index].session_id, view[index].seq), fold.created_at)
    return gone
