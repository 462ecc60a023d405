"""Where prompts come from: a pipe, or a terminal with its editor."""

import io
import os
import sys
from contextlib import suppress

import pytest
from rich.text import Text

from midfold.cli.chat.editor import LineReader, open_editor
from midfold.errors import ExtraMissing
from midfold.store import open_store


def read_all(text):
    reader, found = LineReader(io.StringIO(text)), []
    with suppress(EOFError):
        while True:
            found.append(reader.read(Text()))
    return found


@pytest.mark.parametrize(
    ("text", "prompts"),
    [
        ("one\ntwo\n", ["one", "two"]),
        ("one\r\ntwo", ["one", "two"]),
        ("first \\\nsecond\nnext\n", ["first \nsecond", "next"]),
        ("unfinished\\", ["unfinished"]),
        ("", []),
    ],
)
def test_a_line_is_a_prompt_and_a_backslash_joins_the_next(text, prompts):
    assert read_all(text) == prompts


def test_nobody_answers_in_a_pipe():
    with pytest.raises(EOFError):
        LineReader(io.StringIO("yes\n")).ask("run it?")


class Tty(io.StringIO):
    """A stream that looks like a terminal."""

    def isatty(self):
        return True


def test_a_terminal_without_the_extra_is_told_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stdin", Tty())
    monkeypatch.setattr(sys, "stdout", Tty())
    monkeypatch.delitem(sys.modules, "midfold.cli.chat.prompt_editor", raising=False)
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    with pytest.raises(ExtraMissing, match=r"midfold\[chat\]"):
        open_editor(tmp_path / "history", lambda _line: ())


def test_a_pipe_needs_no_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "prompt_toolkit", None)
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n"))
    assert open_editor(tmp_path / "history", lambda _line: ()).read(Text()) == "hello"


def test_prompts_are_never_written_into_the_store(tmp_path):
    """A history that is a link to the store is not used, also where it became one later."""
    from midfold.cli.chat import prompt_editor

    history = tmp_path / "chat_history"
    with open_store(tmp_path / "sessions.db") as store:
        os.link(tmp_path / "sessions.db", history)
        size = history.stat().st_size
        assert not prompt_editor._make_private(history)
        kept = prompt_editor._History(history)
        kept.store_string("hello")
        assert list(kept.load_history_strings()) == []
        assert history.stat().st_size == size
        assert store.check() == []
