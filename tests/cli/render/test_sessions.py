"""What `midfold sessions` answers when it is asked for something that is not there, or cannot be."""

import pytest

from midfold.config import load_settings
from midfold.config.home import open_own_store

NO_TEXT = "caf\udcff"


@pytest.fixture
def session():
    with open_own_store(load_settings(), synchronous="NORMAL") as store:
        found = store.create_session(dialect="openai_chat").id
        store.append(found, {"role": "user", "content": "hello"})
        return found


@pytest.mark.parametrize(
    "command",
    [
        ("list", "--source", NO_TEXT),
        ("show", NO_TEXT),
        ("search", NO_TEXT),
        ("search", "hello", "--role", NO_TEXT),
        ("search", "hello", "--tool", NO_TEXT),
        ("search", "hello", "--session", NO_TEXT),
        ("title", "latest", NO_TEXT),
        ("import", "-", "--title", NO_TEXT),
        ("delete", NO_TEXT, "--yes"),
        ("tip", NO_TEXT),
    ],
)
def test_what_is_no_text_is_one_clear_line(run, session, command):
    status, out, err = run("sessions", *command)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "'caf?' is no text in UTF-8" in err


@pytest.mark.parametrize(
    "command",
    [
        ("list", "--limit", 1 << 70),
        ("show", "latest", "--last", 1 << 70),
        ("prune", "--keep-bytes", "999999999999999TB"),
        ("prune", "--older-than", "999999999w"),
    ],
)
def test_numbers_beyond_all_bounds_are_only_large(run, session, command):
    status, _, err = run("sessions", *command)
    assert (status, err) == (0, "")


def test_without_conversations_the_latest_says_how_to_bring_one_in(run):
    status, out, err = run("sessions", "show", "latest")
    assert (status, out) == (2, "")
    assert err == "midfold: no conversations yet; midfold sessions import FILE imports one\n"


def test_advice_follows_a_sentence(run, session):
    err = run("sessions", "show", "latest", "--around", "99999")[2]
    assert "has no message 99999. Try midfold sessions show --help" in err


def test_the_help_of_a_search_has_a_line_for_each_kind_of_query(run):
    lines = [line.strip() for line in run("sessions", "search", "--help")[1].splitlines()]
    assert any(line.startswith("login AND error ") for line in lines)
    assert any(line.startswith("compress* ") for line in lines)


def test_a_conversation_is_named_by_its_request_however_late_that_comes(run):
    with open_own_store(load_settings(), synchronous="NORMAL") as store:
        session = store.create_session(dialect="openai_chat").id
        tags = [{"role": "user", "content": f"<caveat>{number}</caveat>"} for number in range(9)]
        store.append(session, [*tags, {"role": "user", "content": "mend the parking meter"}])
    assert "mend the parking meter" in run("sessions", "list")[1]
