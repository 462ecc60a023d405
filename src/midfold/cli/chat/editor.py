"""Where prompts come from: a line editor on a terminal, or lines of a pipe."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol, TextIO, TypeAlias

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


_Attributes: TypeAlias = list[int | list[bytes | int]]
"""Of a terminal, as the system reports them."""

if sys.platform != "win32":
    import termios

    _SHOWN = termios.ECHO | termios.ECHONL | termios.ICANON


@contextmanager
def kept_keys() -> Iterator[None]:
    """Keep the terminal from showing keys, which would tear what is drawn, and from taking Ctrl-D for an end.

    Ctrl-C works as before, but keys that were typed before it are kept. Ctrl-Z leaves the terminal to the
    shell as it was, and takes it back with `fg`.
    """
    if sys.platform == "win32":
        yield
        return
    try:
        before = termios.tcgetattr(sys.stdin.fileno())
    except (termios.error, OSError, ValueError, AttributeError):  # no terminal: nothing is shown
        yield
        return
    quiet = [*before[:3], before[3] & ~_SHOWN | termios.NOFLSH, *before[4:]]
    previous = signal.signal(signal.SIGTSTP, lambda *_: _suspend(before, quiet))
    _set_terminal(quiet)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, previous)
        _set_terminal(before)


def _suspend(before: _Attributes, quiet: _Attributes) -> None:
    """Stop here until the shell lets the process go on."""
    handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
    _set_terminal(before)
    os.kill(os.getpid(), signal.SIGTSTP)
    signal.signal(signal.SIGTSTP, handler)
    _set_terminal(quiet)


def _set_terminal(attributes: _Attributes) -> None:
    with suppress(termios.error, OSError, ValueError):  # the terminal may be gone by now
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, attributes)
