"""For a store that is in trouble: what it holds, and how to save that from a damaged file."""

from midfold.store.rescue.facts import StoreFacts, find_in_bodies, read_facts, read_store_id
from midfold.store.rescue.quarantine import find_kept, parts_of, replace_damaged
from midfold.store.rescue.salvage import LostMessages, Salvaged

__all__ = [
    "LostMessages",
    "Salvaged",
    "StoreFacts",
    "find_in_bodies",
    "find_kept",
    "parts_of",
    "read_facts",
    "read_store_id",
    "replace_damaged",
]
