"""Brings a conversation that came from elsewhere into a store, unless it is there already."""

from collections.abc import Iterable
from dataclasses import dataclass

from midfold.errors import SessionNotFound
from midfold.messages import chain_digests
from midfold.store.base import Store
from midfold.store.codec import pack_item
from midfold.store.transfer.incoming import Incoming
from midfold.store.values import Session
from midfold.wire import parse

# What exports are redacted with.
_NO_KEY = b""


@dataclass(frozen=True, slots=True)
class Imported:
    """The session that a file became, or the one that already says all of it."""

    session: Session
    messages: int
    is_new: bool


def import_session(
    store: Store, incoming: Incoming, *, again: bool = False, session_id: str | None = None
) -> Imported:
    """Write a conversation as a session of its own, dated as the file says; all of it, or nothing.

    The ids of a file are not taken over, as whoever wrote it could choose them; `session_id` is for those who
    know better. A conversation that the store knows from its first message to its last is not written twice
    unless `again`.
    """
    known = None if again else _find_known(store, incoming)
    if known is not None:
        return Imported(store.session(known), len(incoming.said), is_new=False)
    session = store.import_conversation(
        incoming.said,
        dialect=incoming.dialect,
        session_id=session_id,
        source=incoming.source,
        model=incoming.model,
        title=incoming.title,
        system=incoming.system,
        started_at=incoming.started_at,
    )
    return Imported(session, len(incoming.said), is_new=True)


def _find_known(store: Store, incoming: Incoming) -> str | None:
    items = [said.item for said in incoming.said]
    known = store.find_history(chain_digests(parse(items, incoming.dialect)))
    if known is not None and known.length == len(items):
        return known.session_id
    return _find_exported(store, incoming.conversation_id, items)


def _find_exported(store: Store, conversation_id: str | None, items: list[object]) -> str | None:
    """Find the conversation that a file of ours was made from: where that had credentials, the file has
    placeholders, and only the file of what is stored looks the same."""
    if conversation_id is None:
        return None
    try:
        history = store.history(conversation_id)
    except SessionNotFound:
        return None
    said = [record.item for record in history]
    if len(said) < len(items) or _spell(said[: len(items)]) != _spell(items):
        return None
    return store.get_compression_tip(conversation_id)


def _spell(items: Iterable[object]) -> list[str]:
    return [pack_item(item, _NO_KEY).body for item in items]
