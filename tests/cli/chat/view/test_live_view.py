"""An agent on a terminal, as a sequence of events."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from midfold.agent.events import (
    CompressionStarted,
    Done,
    ReasoningDelta,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Why,
)
from midfold.cli.chat.view.live import LiveView


@pytest.fixture
def out():
    return io.StringIO()


@pytest.fixture
def view(out):
    """A view of a terminal that cannot move its cursor, so that only what stays is written."""
    return LiveView(Console(file=out, width=60), clock=lambda: 0.0)


def test_words_tools_and_remarks_are_set_apart(view, out):
    with view.working("waiting"):
        view.show(TextDelta("I look"))
        view.show(TextDelta(" into it."))
        view.show(ToolStarted("c1", "read_file", "read_file a.py", {}))
        view.show(ToolFinished("c1", "read_file", "read_file a.py", "text", is_error=False, seconds=0.1))
        view.show(TextDelta("It is **fine**."))
        view.show(Done("It is **fine**.", 2))
    assert out.getvalue() == "I look into it.\n\n→ read_file a.py  0.1 s, 4 bytes\n\nIt is fine.\n\n"


def test_thinking_does_not_stay(view, out):
    with view.working("waiting"):
        view.show(ReasoningDelta("hm, the lamp"))
        view.show(TextDelta("Done."))
    assert out.getvalue() == "Done.\n\n"


def test_escape_sequences_are_stripped_even_when_they_come_in_pieces(view, out):
    with view.working("waiting"):
        for piece in ("a\x1b", "]0;ti", "tle\x07", "b\x1b[3", "1mc"):
            view.show(TextDelta(piece))
    assert out.getvalue() == "abc\n\n"


def test_lines_between_turns_need_no_gap(view, out):
    view.say(Text("hello"))
    with view.working("waiting"):
        view.show(TextDelta("Words."))
    assert out.getvalue() == "hello\nWords.\n\n"


def live_view(out):
    console = Console(file=out, width=60, force_terminal=True, color_system=None, _environ={"TERM": "xterm"})
    return LiveView(console, clock=lambda: 0.0)


def shown_below(view):
    return ["".join(segment.text for segment in line) for line in view._open_lines()]


def test_what_is_under_way_is_shown_below(out):
    view = live_view(out)
    with view.working("waiting for the model"):
        assert shown_below(view) == ["⠋ waiting for the model 0 s"]
        view.show(ReasoningDelta("the lamp may be\nbroken"))
        assert shown_below(view) == ["the lamp may be broken", "⠋ thinking 0 s"]
        view.show(ToolStarted("c1", "terminal", "terminal make", {}))
        view.show(ToolStarted("c2", "read_file", "read_file a.py", {}))
        assert shown_below(view) == ["→ terminal make  0 s", "→ read_file a.py  0 s", "⠋ using tools 0 s"]
        view.show(CompressionStarted(Why.THRESHOLD, 6_400))
        assert "⠋ compressing 6,400 tokens" in shown_below(view)[-1]
        view.note_stopping()
        assert "⠋ stopping" in shown_below(view)[-1]


def test_nothing_is_drawn_while_somebody_else_has_the_screen(out):
    view = live_view(out)
    with view.working("waiting"), view.paused():
        assert shown_below(view) == []
