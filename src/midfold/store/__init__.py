"""Sessions that only ever grow: every message kept, every fold undone at will, all of it searchable."""

from midfold.store.base import (
    Call,
    Deleted,
    EndReason,
    Found,
    Hit,
    Kind,
    Known,
    Lease,
    Order,
    Session,
    SessionStore,
    Store,
    StoredFold,
    StoredMessage,
)
from midfold.store.opening import open_store

__all__ = [
    "Call",
    "Deleted",
    "EndReason",
    "Found",
    "Hit",
    "Kind",
    "Known",
    "Lease",
    "Order",
    "Session",
    "SessionStore",
    "Store",
    "StoredFold",
    "StoredMessage",
    "open_store",
]
