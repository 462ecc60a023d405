"""The protocol of all views of an agent."""

from contextlib import AbstractContextManager
from typing import Protocol

from rich.text import Text

from midfold.agent import Event, Spending, Status


class ChatView(Protocol):
    """Shows what happens. Events may come from another thread than the one that waits."""

    def working(self, label: str) -> AbstractContextManager[None]:
        """Show that something is under way, until the block ends."""
        ...

    def paused(self) -> AbstractContextManager[None]:
        """Leave the screen to the caller until the block ends."""
        ...

    def show(self, event: Event) -> None: ...

    def say(self, *lines: Text) -> None:
        """Show lines that stay."""
        ...

    def set_status(self, status: Status, spending: Spending) -> None: ...

    def note_stopping(self) -> None:
        """Show that what is under way is being stopped; called by a signal handler."""
        ...
