"""The one module that makes a console, so that every command prints alike wherever its output goes."""

import io
import sys

from rich.console import Console

from midfold.cli.terminal import soften


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on standard output, or on standard error, that prints whatever it is given.

    What the encoding lacks is replaced. A reader who stops reading raises `OutputClosed`, to which `main`
    answers; nothing is printed where the stream was closed before the start.
    """
    stream = sys.stderr if stderr else sys.stdout
    soften(stream)
    return _Console(file=io.StringIO() if stream is None else None, stderr=stderr, highlight=False)


class _Console(Console):
    """A console that leaves the answer to a closed pipe to its caller."""

    def on_broken_pipe(self) -> None:
        # Called while the error is handled; the original would leave with status 1.
        raise
