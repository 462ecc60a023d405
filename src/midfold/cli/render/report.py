"""A report of many lines: where its beginning scrolls out of sight, the headline comes again at the end."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from midfold.cli.render.wrapping import print_wrapped

_PROMPT_ROWS = 1


def print_report(lines: Sequence[Text], console: Console, *, headline: Sequence[Text]) -> None:
    """Print lines, and below them the headline again where a terminal is too low for all of them."""
    for line in lines:
        print_wrapped(line, console)
    if console.is_terminal and len(lines) + _PROMPT_ROWS > console.height:
        console.print()
        for line in headline:
            print_wrapped(line, console)
