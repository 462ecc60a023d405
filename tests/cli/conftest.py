"""How the tests of the command line run it, and the conversations they begin with."""

import sys
import time

import pytest

import midfold
from midfold.cli.main import main
from midfold.config import load_settings
from midfold.config.home import open_own_store
from midfold.testing import transcript

DAY = 86_400


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; returns its status, output and errors."""

    def runner(*arguments, columns=120):
        monkeypatch.setattr(sys, "argv", ["midfold", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", str(columns))
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return left.value.code, captured.out, captured.err

    return runner


@pytest.fixture
def store():
    """The store that the command line uses, in the home of the test."""
    with open_own_store(load_settings(), synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def put():
    """Writes a conversation with the clock set back by so many days; returns its id."""

    def putting(*texts, days=0, title=None, **facts):
        clock = lambda: time.time() - days * DAY  # noqa: E731
        with open_own_store(load_settings(), clock=clock, synchronous="NORMAL") as opened:
            session = opened.create_session(title=title, dialect="openai_chat", **facts).id
            roles = ("user", "assistant")
            opened.append(session, [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)])
            return session

    return putting


@pytest.fixture
def folded():
    """A conversation with a fold; returns the ids of its two sessions."""
    items = transcript(turns=30, last="go on")
    result = midfold.compress(items, max_tokens=4_000, strategy="fold")
    with open_own_store(load_settings(), synchronous="NORMAL") as opened:
        session = opened.create_session(title="parking meters").id
        opened.append(session, items)
        return session, opened.continue_session(session, result.messages, result)
