"""Long lines on terminals and in pipes."""

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from midfold.cli.render.wrapping import print_wrapped

WORDS = "2 lines of side chains skipped, and 11 lines of other kinds"


def shown(width, *, is_terminal):
    console = Console(file=StringIO(), width=width, force_terminal=is_terminal, color_system=None)
    print_wrapped(Text(WORDS), console, first="id  ", indent="    ")
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("width", [30, 40, 80])
def test_rows_break_between_words_and_line_up(width):
    first, *rest = shown(width, is_terminal=True)
    assert first.startswith("id  2 lines")
    assert all(row.startswith("    ") and not row.startswith("     ") for row in rest)
    assert " ".join([first[4:], *(row[4:] for row in rest)]) == WORDS
    assert max(map(len, [first, *rest])) <= width


def test_a_pipe_gets_one_row():
    assert shown(30, is_terminal=False) == [f"id  {WORDS}"]


def test_an_empty_line_is_printed():
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system=None)
    print_wrapped(Text(), console)
    assert console.file.getvalue() == "\n"
