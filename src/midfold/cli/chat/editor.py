"""Where prompts come from: a line editor on a terminal, or lines of a pipe."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TextIO

from rich.text import Text

from midfold.cli.terminal import printable
from midfold.errors import ExtraMissing

if TYPE_CHECKING:
    from pathlib import Path

    from midfold.cli.chat.slash.base import Suggestion

Complete = Callable[[str], "Sequence[Suggestion]"]
"""Returns the completions of the line so far."""
_MORE = "\\"
"""At the end of a line: the next one belongs to it."""


class Editor(Protocol):
    """Asks a person, or reads from a pipe."""

    @property
    def can_ask(self) -> bool:
        """Whether a person is there to answer a question."""
        ...

    def read(self, status: Text) -> str:
        """Return the next prompt, and show meanwhile how things stand.

        Raises `EOFError` after the last one, and `KeyboardInterrupt` for Ctrl-C.
        """
        ...

    def ask(self, question: str) -> str:
        """Return the answer to a question, on one line."""
        ...


class LineReader:
    """Reads prompts from a pipe, one a line; a backslash at the end of a line joins the next one to it."""

    can_ask = False

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines

    def read(self, _status: Text) -> str:
        parts: list[str] = []
        while line := self._lines.readline():
            text = line.rstrip("\r\n")
            if not text.endswith(_MORE):
                return "\n".join([*parts, text])
            parts.append(text.removesuffix(_MORE))
        if not parts:
            raise EOFError
        return "\n".join(parts)

    def ask(self, question: str) -> str:
        raise EOFError(printable(question))


def open_editor(history: "Path", complete: Complete) -> Editor:
    """Return the editor that suits standard input; on a terminal raises `ExtraMissing`."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        return LineReader(sys.stdin)
    try:
        from midfold.cli.chat.prompt_editor import PromptEditor
    except ImportError as error:
        raise ExtraMissing("chats on a terminal", "chat") from error
    return PromptEditor(history, complete)


if sys.platform != "win32":
    import termios


@contextmanager
def kept_keys() -> Iterator[None]:
    """Keep the terminal from showing keys, which would tear what is drawn, and from taking Ctrl-D for an end.

    Ctrl-C works as before.
    """
    if sys.platform == "win32":
        yield
        return
    try:
        before = termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, OSError, ValueError, AttributeError):  # no terminal: nothing is shown
        yield
        return
    quiet = [*before[:3], before[3] & ~(termios.ECHO | termios.ECHONL | termios.ICANON), *before[4:]]
    termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal may be gone by now
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)
