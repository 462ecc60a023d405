"""`midfold sessions`, as a person runs it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import midfold
from midfold.config import find_home, load_settings
from midfold.config.home import open_own_outputs, open_own_store
from midfold.store import SessionKind
from midfold.testing import transcript

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "tests" / "transcripts" / "codex-rollout.jsonl"
SECRET = "ghp" + "_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5"
DAY = 86_400


def test_an_empty_store_says_how_to_fill_it(run):
    status, out, err = run("sessions", "list")
    assert (status, err) == (0, "")
    assert "sessions import" in out


def test_conversations_are_listed_newest_first_by_title_or_first_words(run, put):
    put("how deep is the harbour?", days=3)
    put("hello", title="Ferries", source="chat", model="gpt-5-mini")
    status, out, _ = run("sessions", "list")
    heading, first, second = out.splitlines()
    assert status == 0
    assert "Ferries" in first
    assert "gpt-5-mini" in first
    assert "how deep is the harbour?" in second
    assert "3 d ago" in second
    assert heading.split() == ["conversation", "id", "started", "messages", "folds", "source", "model"]


def test_a_conversation_is_one_line_however_often_it_was_folded(run, folded):
    _, tip = folded
    [_, line] = run("sessions", "list")[1].splitlines()
    assert tip[:8] in line
    assert re.search(r"parking meters .* 1\b", line)
    told = json.loads(run("sessions", "list", "--json")[1])
    assert [(each["tip"]["id"], each["sessions"]) for each in told] == [(tip, 2)]


def test_more_than_the_limit_is_said(run, put):
    for number in range(3):
        put(f"number {number}")
    out = run("sessions", "list", "--limit", 2)[1]
    assert "number 2" in out
    assert "number 0" not in out
    assert "there are more" in out


def test_a_narrow_terminal_shows_what_it_is_about_first(run, put):
    put("how deep is the harbour of Skarn?", source="chat", model="gpt-5-mini")
    lines = run("sessions", "list", columns=60)[1].splitlines()
    assert max(map(len, lines)) <= 60
    assert "how deep is" in lines[1]


@pytest.mark.parametrize("name", ["latest", "whole", "beginning"])
def test_a_session_is_found_by_its_id_a_part_of_it_and_as_the_latest(run, put, name):
    put("older")
    session = put("newer")
    spelled = {"latest": "latest", "whole": session, "beginning": session[:6]}[name]
    assert run("sessions", "tip", spelled)[1] == session + "\n"


def test_latest_is_the_tip_of_the_newest_conversation_and_no_subagent(run, folded, store):
    session, tip = folded
    store.create_session(kind=SessionKind.SUBAGENT, parent_id=tip)
    assert run("sessions", "tip", "latest")[1].strip() == tip
    assert run("sessions", "tip", session)[1].strip() == tip


def test_a_beginning_that_fits_many_is_refused_with_their_ids(run, store):
    for last in "ab":
        store.create_session(session_id=f"abcdef0{last}")
    status, out, err = run("sessions", "show", "abc")
    assert (status, out) == (2, "")
    assert "abcdef0a" in err
    assert "abcdef0b" in err


@pytest.mark.parametrize("name", ["nothing", "", "latest", "%", "\x1b[31m"])
def test_an_unknown_session_is_one_clear_line(run, name):
    status, out, err = run("sessions", "show", name)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "\x1b" not in err


def test_show_tells_who_said_what(run):
    run("sessions", "import", EXAMPLE)
    status, out, _ = run("sessions", "show", "latest", "--last", 3)
    assert status == 0
    assert "41 earlier messages" in out
    assert "#43  assistant" in out
    assert "gpt-5.4-codex" in out
    everything = run("sessions", "show", "latest", "--all", "--full")[1]
    assert "→ exec_command" in everything
    assert "earlier messages" not in everything


def test_long_messages_are_cut_and_full_shows_them(run, put):
    put("\n".join(f"line {number}" for number in range(40)), title="Lines")
    cut = run("sessions", "show", "latest")[1]
    assert "line 11" in cut
    assert "line 12" not in cut
    assert "28 lines more" in cut
    assert "line 39" in run("sessions", "show", "latest", "--full")[1]


def test_show_finds_the_place_that_a_search_named(run, folded):
    session, _ = folded
    told = json.loads(run("sessions", "show", session, "--around", 10, "--json")[1])
    assert [message["seq"] for message in told["messages"]] == list(range(7, 14))
    status, _, err = run("sessions", "show", session, "--around", 5000)
    assert status == 2
    assert "no message 5000" in err


def test_history_has_more_than_the_tip_says(run, folded):
    _, tip = folded
    tip_says = json.loads(run("sessions", "show", tip, "--all", "--json")[1])
    history = json.loads(run("sessions", "show", tip, "--all", "--history", "--json")[1])
    assert tip_says["total"] < history["total"]
    assert tip_says["folds"] == 1
    assert "it continues in" in run("sessions", "show", folded[0])[1]


def test_a_chain_is_listed_and_a_fold_taken_back(run, folded):
    session, tip = folded
    out = run("sessions", "chain", session)[1]
    assert [line.split()[:2] for line in out.partition("\n\n")[0].splitlines()[1:]] == [
        [session[:8], "root"],
        [tip[:8], "continuation"],
    ]
    assert "compression" in out
    undone = run("sessions", "undo", tip)[1].strip()
    assert run("sessions", "tip", session)[1].strip() == undone not in (session, tip)
    assert len(json.loads(run("sessions", "chain", session, "--json")[1])) == 2
    status, _, err = run("sessions", "undo", session)
    assert status == 2
    assert "no fold" in err


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ({"why": "overflow"}, "the request did not fit into the window: "),
        ({"why": "command", "focus": "coins"}, "somebody asked for it, with the focus 'coins': "),
        ({}, "the reason was not recorded: "),
    ],
)
def test_a_chain_says_why_each_fold_was_made_and_what_it_took(why, words, run, store):
    items = transcript(turns=30, last="go on")
    result = midfold.compress(items, max_tokens=4_000, strategy="fold")
    session = store.create_session(title="parking meters").id
    store.append(session, items)
    tip = store.continue_session(session, result.messages, result, facts=why)
    [span] = result.folded
    told = run("sessions", "chain", session)[1].splitlines()[-1]
    assert told == (
        f"{tip[:8]}  {words}{result.tokens_before:,} → {result.tokens_after:,} tokens, "
        f"messages {span.start}–{span.stop - 1} folded by the digest"
    )
    root, child = json.loads(run("sessions", "chain", session, "--json")[1])
    assert root["fold"] is None
    assert child["fold"]["summarizer"] == "digest"


def test_a_conversation_can_be_named(run, folded):
    session, _ = folded
    assert "Meters and coins" in run("sessions", "title", session, "Meters", "and", "coins")[1]
    assert "Meters and coins" in run("sessions", "list")[1]


def test_search_shows_where_and_what(run, put):
    session = put("the harbour of Skarn is deep", "eleven metres at low tide", title="Harbours")
    status, out, _ = run("sessions", "search", "low", "tide")
    assert status == 0
    assert f"{session[:8]} #1" in out
    assert "eleven metres at low tide" in out
    assert "Harbours" in out
    assert out.endswith("1 message\n")


def test_what_matches_is_coloured_on_a_terminal(run, put, monkeypatch):
    put("the harbour of Skarn is deep")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    out = run("sessions", "search", "skarn")[1]
    assert re.search(r"\x1b\[[0-9;]+mSkarn\x1b\[0m", out)


def test_search_is_narrowed_by_session_role_and_time(run, put):
    old = put("harbour one", "harbour two", days=10)
    new = put("harbour three")
    seen = lambda *options: [  # noqa: E731
        (hit["session_id"], hit["seq"])
        for hit in json.loads(
            run("sessions", "search", "harbour", "--json", *(options or ("--order", "newest")))[1]
        )["hits"]
    ]
    assert seen() == [(new, 0), (old, 1), (old, 0)]
    assert sorted(seen("--session", old[:8])) == [(old, 0), (old, 1)]
    assert seen("--role", "assistant") == [(old, 1)]
    assert seen("--since", "7d") == [(new, 0)]
    assert sorted(seen("--until", "7d")) == [(old, 0), (old, 1)]
    assert seen("--since", "2100-01-01") == []
    assert seen("--limit", "1", "--order", "newest") == [(new, 0)]
    assert len(seen("--order", "relevance")) == 3


def test_letters_find_what_no_word_is(run, put):
    session = put("see 0x7ffe-beef--cafe!")
    out = run("sessions", "search", "e-beef--ca", "--letters", "--session", session)[1]
    assert out.endswith("1 message\n")
    assert run("sessions", "search", "x", "--letters")[0] == 2


@pytest.mark.parametrize("query", ['"', "AND OR", "'; DROP TABLE messages", "\x1b[31m", "*", "NEAR(", "%"])
def test_a_hostile_query_is_data(run, put, query):
    put("hello")
    status, out, err = run("sessions", "search", "--", query)
    assert (status, err) == (0, "")
    assert "\x1b" not in out


@pytest.mark.parametrize("when", ["soon", "7x", "", "-3d", "99999999999d", "2026-13-45"])
def test_a_time_that_is_none_is_bad_usage(run, when):
    status, _, err = run("sessions", "search", "x", "--since", when)
    assert status == 2
    assert err.count("\n") == 1


def test_another_file_can_be_the_store(run, monkeypatch, tmp_path):
    monkeypatch.setenv("MIDFOLD_STORE__URL", f"sqlite:///{tmp_path}/elsewhere.db")
    run("sessions", "import", EXAMPLE)
    assert (tmp_path / "elsewhere.db").stat().st_mode & 0o777 == 0o600
    assert len(json.loads(run("sessions", "list", "--json")[1])) == 1


@pytest.mark.parametrize("umask", [0, 0o077])
def test_everything_that_is_kept_is_its_owners_alone(run, umask):
    before = os.umask(umask)
    try:
        run("sessions", "import", EXAMPLE)
        with open_own_store(load_settings()) as store:
            open_own_outputs(store).session("s").write("call", "x" * 100)
    finally:
        os.umask(before)
    kept = [find_home(), *find_home().rglob("*")]
    assert len(kept) >= 5
    assert {path.stat().st_mode & 0o777 for path in kept if path.is_dir()} == {0o700}
    assert {path.stat().st_mode & 0o777 for path in kept if path.is_file()} == {0o600}


@pytest.mark.parametrize("redact", ["true", "false"])
def test_nothing_on_the_screen_is_a_credential(run, put, monkeypatch, redact):
    monkeypatch.setenv("MIDFOLD_STORE__REDACT", redact)
    session = put(f"use {SECRET} please", f"token={SECRET}", title=f"with {SECRET}", system=f"say {SECRET}")
    for command in (
        ("list",),
        ("list", "--json"),
        ("show", session, "--full"),
        ("show", session, "--json"),
        ("search", "please"),
        ("search", "please", "--json"),
        ("chain", session, "--json"),
        ("title", session, f"title {SECRET}"),
        ("export", session),
        ("delete", session, "--yes", "--json"),
    ):
        status, out, err = run("sessions", *command)
        assert status == 0, command
        assert SECRET not in out + err, command


def test_nothing_on_the_screen_steers_the_terminal(run, put):
    evil = "a\x1b]0;title\x07b\x1b[2Jc\u202ed\x9b31m"
    session = put(f"{evil} words", evil, title=evil, model=evil, source=evil)
    for command in (
        ("list",),
        ("list", "--json"),
        ("show", session, "--full"),
        ("search", "words"),
        ("search", "words", "--json"),
        ("chain", session),
        ("export", session),
    ):
        out = run("sessions", *command)[1]
        assert not set("\x1b\x07\x9b\u202e") & set(out), command


@pytest.mark.slow
def test_files_of_a_store_are_opened_by_sqlite_alone(tmp_path):
    """Closing any other descriptor of these files drops SQLite's locks for the whole process."""
    script = """
import os, sys
opened = []
def note(event, args):
    if event == "open" and not (args[2] or 0) & os.O_PATH:  # such a handle takes no locks away
        opened.append(str(args[0]))
sys.addaudithook(note)
from midfold.cli.main import cli
for line in sys.argv[1].splitlines():
    cli.main(line.split(), prog_name="midfold", standalone_mode=False)
bad = [path for path in opened if path.endswith((".db", "-wal", "-shm"))]
assert bad == [], bad
"""
    lines = [
        f"sessions import {EXAMPLE}",
        "sessions list",
        "sessions search export",
        "sessions show latest",
        f"sessions export latest -o {tmp_path}/out.json",
        "doctor",
        "doctor --fix",
        "sessions prune --keep-bytes 1 --all --yes",
    ]
    done = subprocess.run(
        [sys.executable, "-c", script, "\n".join(lines)],
        env={**os.environ, "MIDFOLD_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_results_in_user_messages_are_output_of_a_tool(run, store):
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "lamp.txt"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "the lamp is green"}
    session = store.create_session(dialect="anthropic").id
    messages = [
        {"role": "user", "content": "which colour has the lamp?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "The lamp is green."},
    ]
    store.append(session, messages)
    found = {
        role: [
            hit["seq"]
            for hit in json.loads(run("sessions", "search", "lamp", "--role", role, "--json")[1])["hits"]
        ]
        for role in ("user", "assistant", "tool")
    }
    assert (found["user"], found["tool"], sorted(found["assistant"])) == ([0], [2], [1, 3])
    assert f"{session[:8]} #2  tool" in run("sessions", "search", "green", "--role", "tool")[1]
