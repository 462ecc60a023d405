"""`midfold sessions delete` and `prune`, as a person runs them."""

import io
import json
import sys

import pytest

from midfold.config.home import open_own_outputs
from midfold.store import ImportedMessage, SessionKind

DAY = 86_400


def test_deleting_asks_and_names_what_goes(run, put, monkeypatch):
    session = put("hello", "good morning", title="Greetings")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    status, _, err = run("sessions", "delete", session)
    assert status == 1
    assert "'Greetings', 2 messages in 1 session" in err
    assert "nothing was deleted" in err
    assert run("sessions", "delete", session, "--yes")[1] == "deleted 1 session with 2 messages\n"
    assert run("sessions", "show", session)[0] == 2


def test_branches_are_named_and_go_only_when_asked(run, folded, store):
    session, tip = folded
    branch = store.create_session(kind=SessionKind.BRANCH, parent_id=tip).id
    twig = store.create_session(kind=SessionKind.BRANCH, parent_id=branch).id
    status, _, err = run("sessions", "delete", session, "--yes")
    assert status == 2
    assert branch[:8] in err
    assert twig[:8] in err
    told = json.loads(run("sessions", "delete", session, "--yes", "--branches", "--json")[1])
    assert set(told["sessions"]) == {session, tip, branch, twig}


def test_what_a_conversation_put_aside_goes_with_it_and_nothing_else(run, put, store):
    doomed, kept = put("hello"), put("goodbye")
    outputs = open_own_outputs(store)
    for session in (doomed, kept):
        outputs.session(session).write("call", "x" * 1_000, tool="terminal")
    run("sessions", "delete", doomed, "--yes")
    assert outputs.session(doomed).outputs() == []
    assert len(outputs.session(kept).outputs()) == 1


def test_pruning_by_age_takes_spilled_output_along(run, put, store):
    old, new = put("old", days=40), put("new")
    outputs = open_own_outputs(store)
    outputs.session(old).write("call", "x" * 1_000)
    dry = run("sessions", "prune", "--older-than", "30d", "--dry-run")[1]
    assert dry == "would delete 1 session with 1 message\n"
    assert outputs.session(old).outputs()
    told = json.loads(run("sessions", "prune", "--older-than", "30d", "--yes", "--json")[1])
    assert told == {"sessions": [old], "messages": 1}
    assert outputs.session(old).outputs() == []
    assert run("sessions", "tip", new)[0] == 0


def test_pruning_by_size_starts_with_the_oldest(run, put):
    put("x" * 5_000, days=2)
    new = put("y" * 5_000)
    assert "1 session" in run("sessions", "prune", "--keep-bytes", "6KB", "--yes")[1]
    assert run("sessions", "tip", "latest")[1].strip() == new


def test_pruning_without_a_word_needs_a_setting(run, put, monkeypatch):
    put("old", days=40)
    put("new")
    assert run("sessions", "prune")[0] == 2
    monkeypatch.setenv("MIDFOLD_STORE__KEEP_DAYS", "30")
    assert "1 session" in run("sessions", "prune", "--yes")[1]


@pytest.mark.parametrize("how", [(), ("--older-than", "30d"), ("--keep-bytes", "0")])
def test_pruning_leaves_something_unless_all_of_it_is_meant(run, put, monkeypatch, how):
    put("old", days=40)
    monkeypatch.setenv("MIDFOLD_STORE__KEEP_DAYS", "30")
    status, out, err = run("sessions", "prune", "--yes", *how)
    assert (status, out) == (2, "")
    assert "all 1 session" in err
    assert "--all" in err
    assert "1 session" in run("sessions", "prune", "--yes", "--all", *how)[1]


def test_pruning_names_what_goes_and_asks(run, put, monkeypatch):
    old = put("lamps of the harbour", days=40)
    put("new")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    status, out, err = run("sessions", "prune", "--older-than", "30d")
    assert (status, out) == (1, "")
    assert f"{old[:8]}  " in err
    assert "lamps of the harbour" in err
    assert "Delete 1 session with 1 message?" in err
    assert "nothing was deleted" in err
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert run("sessions", "prune", "--older-than", "30d")[:2] == (0, "deleted 1 session with 1 message\n")
    assert run("sessions", "tip", old)[0] == 2


def test_many_conversations_that_go_are_counted(run, put):
    for number in range(11):
        put(f"talk {number}", days=40)
    put("new")
    err = run("sessions", "prune", "--older-than", "30d", "--dry-run")[2]
    assert "and 3 conversations more" in err


def test_where_nobody_can_be_asked_pruning_deletes_nothing(run, put, monkeypatch):
    old = put("old", days=40)
    put("new")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    status, _, err = run("sessions", "prune", "--older-than", "30d")
    assert status == 2
    assert "--yes deletes without asking" in err
    assert run("sessions", "tip", old)[0] == 0


def test_to_import_a_conversation_is_to_touch_it(run, store):
    old = 1_000_000_000.0
    with_dates = [ImportedMessage({"role": "user", "content": "hello"}, at=old)]
    store.import_conversation(with_dates, dialect="openai_chat", started_at=old)
    assert "0 sessions" in run("sessions", "prune", "--older-than", "30d", "--dry-run")[1]


def test_to_import_a_conversation_once_more_is_to_touch_it(run, put, tmp_path):
    session, _ = put("old", days=40), put("new")
    file = tmp_path / "old.json"
    run("sessions", "export", session, "-o", file)
    assert "1 session" in run("sessions", "prune", "--older-than", "30d", "--dry-run")[1]
    assert run("sessions", "import", file)[0] == 0
    assert "0 sessions" in run("sessions", "prune", "--older-than", "30d", "--dry-run")[1]


@pytest.mark.parametrize("size", ["much", "-1", "1XB", ""])
def test_a_size_that_is_none_is_bad_usage(run, size):
    assert run("sessions", "prune", "--keep-bytes", size)[0] == 2


def test_where_nobody_can_be_asked_the_way_around_is_said(run, put, monkeypatch):
    session = put("hello")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    status, _, err = run("sessions", "delete", session)
    assert status == 2
    assert "--yes deletes without asking" in err
    assert run("sessions", "tip", session)[0] == 0
