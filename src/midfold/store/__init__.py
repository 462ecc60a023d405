"""Sessions that only ever grow: every message kept, every fold undone at will, all of it searchable.

`open_store` opens a store, `Store` is what it can do. SQLite is loaded when it is first needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from midfold.store.base import SessionStore, Store
from midfold.store.codec import pack_value
from midfold.store.figures import ActiveConversation, CallSum, ConversationFigures
from midfold.store.held_lease import HeldLease
from midfold.store.passages import search_passages
from midfold.store.urls import open_store, read_path
from midfold.store.values import (
    LEASE_SECONDS,
    OWN,
    Area,
    BeforeContinue,
    Call,
    Condition,
    ContinuedSession,
    Deleted,
    EndReason,
    Hit,
    ImportedMessage,
    Item,
    KnownHistory,
    Lease,
    LostMessages,
    Order,
    Problem,
    Salvaged,
    SearchResults,
    Session,
    SessionKind,
    StoredFold,
    StoredMessage,
    StoreFacts,
    StoreStatus,
    check_sound,
)

if TYPE_CHECKING:
    from midfold.store.fold_json import fold_from_json, fold_to_json
    from midfold.store.sqlite.driver import engine_version
    from midfold.store.sqlite.replacement import finish_replacing
    from midfold.store.sqlite.rescue import (
        find_in_bodies,
        find_kept,
        parts_of,
        read_facts,
        replace_damaged,
    )

__all__ = [
    "LEASE_SECONDS",
    "OWN",
    "ActiveConversation",
    "Area",
    "BeforeContinue",
    "Call",
    "CallSum",
    "Condition",
    "ContinuedSession",
    "ConversationFigures",
    "Deleted",
    "EndReason",
    "HeldLease",
    "Hit",
    "ImportedMessage",
    "Item",
    "KnownHistory",
    "Lease",
    "LostMessages",
    "Order",
    "Problem",
    "Salvaged",
    "SearchResults",
    "Session",
    "SessionKind",
    "SessionStore",
    "Store",
    "StoreFacts",
    "StoreStatus",
    "StoredFold",
    "StoredMessage",
    "check_sound",
    "engine_version",
    "find_in_bodies",
    "find_kept",
    "finish_replacing",
    "fold_from_json",
    "fold_to_json",
    "open_store",
    "pack_value",
    "parts_of",
    "read_facts",
    "read_path",
    "replace_damaged",
    "search_passages",
]

_FOLDS = ("fold_from_json", "fold_to_json")
_SQLITE = {
    "engine_version": "driver",
    "find_in_bodies": "rescue",
    "find_kept": "rescue",
    "finish_replacing": "replacement",
    "parts_of": "rescue",
    "read_facts": "rescue",
    "replace_damaged": "rescue",
}


def __getattr__(name: str) -> object:
    if name in _FOLDS:
        return getattr(import_module("midfold.store.fold_json"), name)
    if name not in _SQLITE:
        raise AttributeError(f"module 'midfold.store' has no attribute {name!r}")
    return getattr(import_module(f"midfold.store.sqlite.{_SQLITE[name]}"), name)
