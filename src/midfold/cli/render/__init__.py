"""Output for people: tables, bars and sentences. Each module is loaded by the commands that print it."""

__all__ = ()
