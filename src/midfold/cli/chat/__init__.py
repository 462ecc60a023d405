"""The agent at a terminal, in a pipe, and as JSON for programs; loaded when a chat is held."""

__all__ = ()
