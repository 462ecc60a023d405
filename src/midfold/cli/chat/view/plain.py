"""An agent in a pipe: its words on standard output as they come, everything else on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.text import Text

from midfold.agent import Event, Spending, Status, TextDelta
from midfold.cli.chat.view.lines import event_lines
from midfold.cli.chat.view.text import Cleaner


class PlainView:
    """Writes words to one stream and remarks to another."""

    def __init__(self, words: TextIO, remarks: Console) -> None:
        self._words = words
        self._remarks = remarks
        self._cleaner = Cleaner()
        self._is_inside_line = False

    @contextmanager
    def working(self, _label: str) -> Iterator[None]:
        """Do nothing about it until the block ends: a pipe has nothing to watch."""
        try:
            yield
        finally:
            self._end_line()

    @contextmanager
    def paused(self) -> Iterator[None]:
        self._end_line()
        yield

    def show(self, event: Event) -> None:
        """Write what happened."""
        if isinstance(event, TextDelta):
            self._write(self._cleaner.feed(event.text))
        else:
            self._end_line()
            self.say(*event_lines(event))

    def say(self, *lines: Text) -> None:
        """Write remarks."""
        for line in lines:
            self._remarks.print(line, soft_wrap=True)

    def set_status(self, status: Status, spending: Spending) -> None:
        """Leave it: it is written where a turn ends."""

    def note_stopping(self) -> None:
        """Leave it: what comes of it is written soon enough."""

    def _write(self, text: str) -> None:
        if text:
            self._words.write(text)
            self._words.flush()
            self._is_inside_line = not text.endswith("\n")

    def _end_line(self) -> None:
        self._write(self._cleaner.finish())
        if self._is_inside_line:
            self._write("\n")
