"""`midfold inspect`, as a person runs it."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from midfold.cli.main import main
from midfold.testing import Dirt, transcript

OWN = Path(__file__).parents[1] / "transcripts"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line in this process; returns its status, output and errors."""

    def runner(*arguments):
        monkeypatch.setattr(sys, "argv", ["midfold", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "120")
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return left.value.code, captured.out, captured.err

    return runner


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"model": "gpt-5-mini", "messages": transcript(turns=6)}))
    return path


def test_tables_and_a_bar_are_printed(run, session):
    status, out, err = run("inspect", session)
    assert (status, err) == (0, "")
    for words in (
        "session.json",
        "OpenAI chat",
        "tool results",
        "read_file",
        "largest messages",
        "█",
        "% of",
    ):
        assert words in out


def test_json_adds_up(run, session):
    status, out, _ = run("inspect", session, "--json", "--top", "2")
    told = json.loads(out)
    assert status == 0
    assert sum(share["tokens"] for share in told["speakers"]) == told["tokens"]
    assert sum(share["tokens"] for share in told["kinds"]) == told["tokens"]
    assert len(told["largest"]) == 2
    assert told["usage_percent"] == round(100 * told["tokens"] / told["context_length"], 1)
    assert (told["dialect"], told["faults"], told["notes"]) == ("openai_chat", [], [])


def test_a_given_window_is_used(run, session):
    assert (
        json.loads(run("inspect", session, "--json", "--context-length", 1000)[1])["context_length"] == 1000
    )


def test_an_unknown_model_has_no_window(run, session):
    told = json.loads(run("inspect", session, "--json", "--model", "nobody/knows")[1])
    assert told["context_length"] is None
    assert "window unknown" in run("inspect", session, "--model", "nobody/knows")[1]


def test_faults_are_listed_and_strict_makes_them_count(run, tmp_path):
    path = tmp_path / "dirty.json"
    path.write_text(json.dumps(transcript(turns=4, dirt=frozenset({Dirt.UNANSWERED_CALL}), last="go on")))
    status, out, _ = run("inspect", path)
    assert status == 0
    assert "OC14" in out
    assert run("inspect", path, "--strict")[0] == 2


def test_control_characters_of_a_transcript_do_not_reach_the_terminal(run, tmp_path):
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "\x1b]0;owned\x07\u202eevil", "arguments": "{}"},
    }
    path = tmp_path / "hostile.json"
    path.write_text(
        json.dumps({"model": "\x1b[31mred", "messages": [{"role": "assistant", "tool_calls": [call]}]})
    )
    _, out, _ = run("inspect", path)
    assert "evil" in out
    assert not any(mark in out for mark in ("\x1b", "\x07", "\u202e"))


def test_standard_input_is_read(run, session, monkeypatch):
    with session.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert run("inspect", "-")[0] == 0


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json*")), ids=lambda path: path.name)
def test_our_own_transcripts_can_be_inspected(run, path):
    status, out, err = run("inspect", path)
    assert (status, err) == (0, "")
    assert "tokens" in out


BAD = {
    "missing": (None, "No such file"),
    "empty": (b"", "it is empty"),
    "not JSON": (b"{", "it is not JSON"),
    "cut gzip": (gzip.compress(b"[1]")[:-5], "cut short"),
    "empty list": (b"[]", "empty"),
    "odd field": (b'[{"role": "user", "content": 3}]', "message 0: content is a number"),
    "odd element": (b'[{"role": "user", "content": "x"}, 5]', "message 1"),
    "deep": (b"[" * 50_000, "nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_status_two(run, tmp_path, name):
    data, words = BAD[name]
    path = tmp_path / "bad.json"
    if data is not None:
        path.write_bytes(data)
    status, out, err = run("inspect", path)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("midfold: ")
    assert words in err
    if data is not None:
        assert path.read_bytes() == data


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["inspect"], ["inspect", "x", "--row", "-1"], ["--nope"]]
)
def test_bad_usage_is_status_two(run, arguments):
    status, _, err = run(*arguments)
    assert status == 2
    assert "Error: " in err


def test_help_teaches(run):
    status, out, _ = run("inspect", "--help")
    assert status == 0
    for words in ("Examples:", "--context-length", "session file of Claude Code"):
        assert words in out


def test_an_interrupt_is_not_a_traceback(run, session, monkeypatch):
    def interrupt(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("midfold.cli.inspect.load_transcript", interrupt)
    status, _, err = run("inspect", session)
    assert (status, err.strip()) == (130, "midfold: interrupted")


def test_what_nobody_expected_is_still_one_line(run, session, monkeypatch):
    monkeypatch.setattr("midfold.cli.inspect.load_transcript", lambda *_a, **_o: 1 / 0)
    status, _, err = run("inspect", session)
    assert (status, err.count("\n")) == (70, 1)
    assert "ZeroDivisionError" in err
