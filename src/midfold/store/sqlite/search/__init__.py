"""The executing half of search: queries compiled for the index of SQLite, within a bounded time."""

__all__ = ()
