"""`midfold chat`: the agent at a terminal, in a pipe, and as JSON for programs."""

from midfold.cli.chat.command import command

__all__ = ["command"]
