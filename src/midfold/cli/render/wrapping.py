"""Long lines on a terminal: broken between words, never inside one that fits."""

from rich.console import Console
from rich.text import Text

_LEAST_CELLS = 20


def print_wrapped(line: Text, console: Console, *, first: Text | str = "", indent: str = "") -> None:
    """Print a line after `first`, and below it the rows that follow after `indent`; a pipe gets one row."""
    start = first if isinstance(first, Text) else Text(first)
    if not console.is_terminal:
        console.print(start + line, soft_wrap=True)
        return
    for number, row in enumerate(line.wrap(console, max(_LEAST_CELLS, console.width - len(indent)))):
        row.rstrip()
        console.print((start if number == 0 else Text(indent)) + row, soft_wrap=True)
