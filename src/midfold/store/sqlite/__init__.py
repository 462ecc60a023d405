"""The store in one SQLite file: a thread that writes, a pool that reads, and rules for sharing the file.

The package has no door of its own: `midfold.store.open_store` opens the store.
"""

__all__ = ()
