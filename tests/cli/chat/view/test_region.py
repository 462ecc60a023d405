"""The changing lines at the bottom of a terminal."""

import io
import re

import pytest
from rich.console import Console
from rich.segment import Segment

from midfold.cli.chat.view.region import Region


class Screen(io.StringIO):
    """A terminal of a few rows that understands what a region sends."""

    def __init__(self):
        super().__init__()
        self.rows = [""]
        self.row = 0
        self.writes = []

    def write(self, text):
        self.writes.append(text)
        for part in re.findall(r"\x1b\[[0-9]*[A-Za-z]|\x1b\[[0-9;]*m|\r|\n|[^\x1b\r\n]+", text):
            self._take(part)
        return len(text)

    def _take(self, part):
        if part == "\n":
            self.row += 1
            self.rows += [""] * (self.row + 1 - len(self.rows))
        elif part.endswith("A"):
            self.row -= int(part[2:-1] or 1)
        elif part == "\x1b[2K":
            self.rows[self.row] = ""
        elif part != "\r" and not part.startswith("\x1b"):
            self.rows[self.row] += part


@pytest.fixture
def screen():
    return Screen()


@pytest.fixture
def region(screen):
    return Region(Console(file=screen, width=20, force_terminal=True, color_system=None, _environ={}))


def lines(*texts):
    return [[Segment(text)] for text in texts]


def test_later_lines_replace_earlier_ones(screen, region):
    region.draw(lines("one", "two"))
    region.draw(lines("three"))
    assert screen.rows == ["three", "", ""]


def test_final_lines_stay_above(screen, region):
    region.draw(lines("working"))
    region.draw(lines("still working"), lines("first result", "second result"))
    region.clear()
    assert screen.rows == ["first result", "second result", "", ""]


def test_nothing_is_written_where_nothing_changed(screen, region):
    region.draw(lines("one", "two"))
    count = len(screen.writes)
    region.draw(lines("one", "two"))
    assert len(screen.writes) == count


def test_a_change_is_one_write_of_what_differs(screen, region):
    region.draw(lines("one", "two", "three"))
    screen.writes.clear()
    region.draw(lines("one", "two", "four"))
    assert len(screen.writes) == 1
    assert "four" in screen.writes[0]
    assert "one" not in screen.writes[0]


def test_a_line_never_wraps(screen, region):
    region.draw(lines("x" * 50))
    region.draw(lines("short"))
    assert screen.rows == ["short", ""]


def test_a_file_gets_final_lines_only():
    out = io.StringIO()
    region = Region(Console(file=out, width=20))
    region.draw(lines("working"), lines("done"))
    region.clear()
    assert out.getvalue() == "done\n"
