"""For a store that is in trouble: what it holds, and how to save that from a damaged file."""

from midfold.store.sqlite.rescue.facts import find_in_bodies, read_facts
from midfold.store.sqlite.rescue.quarantine import find_kept, parts_of, replace_damaged

__all__ = ["find_in_bodies", "find_kept", "parts_of", "read_facts", "replace_damaged"]
