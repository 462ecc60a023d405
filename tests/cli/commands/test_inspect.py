"""`midfold inspect`, as a person runs it."""

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from midfold.testing import Defect, transcript

ROOT = Path(__file__).parents[3]
OWN = ROOT / "tests" / "transcripts"
EXAMPLE = ROOT / "examples" / "transcripts" / "parking-meter.json"
SNAPSHOTS = ROOT / "tests" / "snapshots" / "cli"


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


def test_a_summary_is_shown_with_the_sections_around_it(run, tmp_path):
    folded = tmp_path / "folded.json"
    run("compress", EXAMPLE, "--max-tokens", 6_000, "-o", folded)
    _, out, _ = run("inspect", folded)
    sections = [line.split()[1] for line in out.partition("section")[2].partition("\n\n")[0].splitlines()[1:]]
    assert sections == ["tool", "system", "head", "summary", "tail"]
    shares = json.loads(run("inspect", folded, "--json")[1])
    assert sum(share["tokens"] for share in shares["sections"]) == shares["tokens"]


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
    path.write_text(
        json.dumps(transcript(turns=4, defects=frozenset({Defect.UNANSWERED_CALL}), last="go on"))
    )
    status, out, _ = run("inspect", path)
    assert status == 0
    assert "OC14" in out
    assert run("inspect", path, "--strict")[0] == 2


CALL_WITHOUT_TYPE = {"id": "abcDEF123", "function": {"name": "list_files", "arguments": {"path": "."}}}


def test_faults_name_those_whose_rules_are_broken(run, tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"model": "gpt-5-mini", "messages": answered(CALL_WITHOUT_TYPE)}))
    assert "1 fault by OpenAI's rules:\n  OC7 in message 1" in run("inspect", path)[1]


@pytest.mark.parametrize("model", ["mistral-large-latest", "qwen3:32b"])
def test_a_transcript_is_held_to_the_rules_of_whoever_serves_its_model(run, tmp_path, model):
    path = tmp_path / "session.json"
    path.write_text(json.dumps({"model": model, "messages": answered(CALL_WITHOUT_TYPE)}))
    told = json.loads(run("inspect", path, "--json")[1])
    assert told["faults"] == []
    assert told["profile"] in ("mistral", "ollama")


def answered(call):
    return [
        {"role": "user", "content": "Which files are there?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "a.py"},
        {"role": "assistant", "content": "One."},
    ]


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_request_that_continues_a_stored_one_may_answer_its_calls(run, tmp_path, key):
    output = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}
    path = tmp_path / "body.json"
    path.write_text(json.dumps({"model": "gpt-5", key: "stored_1", "input": [output]}))
    assert json.loads(run("inspect", path, "--json", "--strict")[1])["faults"] == []


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize(
    "path", [EXAMPLE, OWN / "claude-code-session.jsonl", OWN / "dirty-openai-chat.json"], ids=lambda p: p.stem
)
def test_the_report_looks_as_recorded(run, path, columns):
    _, out, _ = run("inspect", path, columns=columns)
    text = "".join(line.rstrip() + "\n" for line in out.splitlines())
    snapshot = SNAPSHOTS / f"inspect-{path.stem}-{columns}.txt"
    if os.environ.get("MIDFOLD_UPDATE_SNAPSHOTS"):
        snapshot.parent.mkdir(parents=True, exist_ok=True)
        snapshot.write_text(text, "utf-8")
    assert text == snapshot.read_text("utf-8")


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80])
def test_a_figure_is_shown_whole_or_not_at_all(run, columns):
    def figures(out):
        return set(re.findall(r"[\d,.]+%?(?=\s|$)", out[out.index("who") :]))

    out = run("inspect", EXAMPLE, columns=columns)[1]
    assert figures(out) <= figures(run("inspect", EXAMPLE, columns=200)[1])
    assert max(map(len, out[out.index("who") :].splitlines())) <= columns


def run_apart(*arguments, stdout=subprocess.PIPE, **environment):
    """Run the command line in a process of its own, with a terminal of 80 columns."""
    return subprocess.run(
        [sys.executable, "-m", "midfold", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "80", **environment},
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_without_our_marks_gets_plain_ones(encoding):
    done = run_apart("inspect", OWN / "anthropic-chinese.json", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    out = done.stdout.decode(encoding)
    assert "###..." in out
    assert "* tool results" in out
    assert "largest messages" in out


@pytest.mark.parametrize("arguments", [["inspect", EXAMPLE], ["inspect", EXAMPLE, "--json"], ["--help"]])
def test_a_reader_who_has_seen_enough_is_no_failure(arguments):
    command = [sys.executable, "-m", "midfold", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["inspect", EXAMPLE], ["inspect", EXAMPLE, "--json"]])
def test_a_full_disk_is_one_line_and_status_two(arguments):
    with Path("/dev/full").open("wb") as full:
        done = run_apart(*arguments, stdout=full)
    assert (done.returncode, done.stderr) == (2, b"midfold: No space left on device\n")


def test_a_home_that_cannot_be_found_is_one_line_and_status_two(run, session, monkeypatch):
    monkeypatch.setenv("MIDFOLD_HOME", "~nobody-is-called-this/midfold")
    status, _, err = run("inspect", session)
    assert status == 2
    assert err.startswith("midfold: MIDFOLD_HOME is '~nobody-is-called-this/midfold'; expected a folder")
    assert err.count("\n") == 1


def test_closed_standard_input_is_one_line_and_status_two(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert run("inspect", "-") == (2, "", "midfold: standard input: it is closed\n")


def test_closed_standard_output_is_no_failure(run, session, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    assert run("inspect", session)[0] == 0


HOSTILE_KEY = "\x1b[31mred\nline2\u202e"


@pytest.mark.parametrize("content", [[{HOSTILE_KEY: 1}], {HOSTILE_KEY: 1}, [{"k" * 1_000_000: 1}]])
def test_an_error_is_one_short_line_whatever_the_transcript_holds(run, tmp_path, content):
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(content))
    status, out, err = run("inspect", path)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert len(err) < 350
    assert not any(mark in err for mark in ("\x1b", "\u202e"))


def test_an_error_is_one_line_whatever_the_file_is_called(run, tmp_path):
    status, _, err = run("inspect", tmp_path / "a\nb\x1b[31m.json")
    assert (status, err.count("\n")) == (2, 1)
    assert "\x1b" not in err


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
    _, out, err = run("inspect", path)
    assert "evil" in out
    assert not any(mark in out + err for mark in ("\x1b", "\x07", "\u202e"))


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
    "empty hermes session": (
        b'{"session_id": "a", "message_count": 0, "messages": []}',
        "it holds no messages",
    ),
    "empty codex session": (
        b'{"type": "session_meta", "payload": {"id": "a"}}\n{"type": "event_msg", "payload": {}}',
        "it holds no messages",
    ),
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
    "arguments", [["nonsense"], ["compress"], ["inspect", "x", "--row", "-1"], ["--nope"]]
)
def test_bad_usage_is_one_line_and_status_two(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("midfold: ")
    assert err.endswith("--help\n")


def test_without_a_command_the_help_is_shown(run):
    _, out, err = run()
    assert "Commands:" in out + err


def test_help_teaches(run):
    status, out, _ = run("inspect", "--help")
    assert status == 0
    for words in ("Examples:", "--context-length", "session file of Claude Code"):
        assert words in out


class Failing(io.RawIOBase):
    """A stream whose reading ends in an error."""

    def __init__(self, error):
        self.error = error

    def read(self, _size=-1):
        raise self.error


def test_an_interrupt_is_not_a_traceback(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Failing(KeyboardInterrupt())))
    status, _, err = run("inspect", "-")
    assert (status, err.strip()) == (130, "midfold: interrupted")


def test_what_nobody_expected_is_still_one_line(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Failing(ZeroDivisionError("why\nnot"))))
    status, _, err = run("inspect", "-")
    assert (status, err.count("\n")) == (70, 1)
    assert "ZeroDivisionError" in err


def test_the_window_that_a_rollout_states_is_used(run):
    _, out, _ = run("inspect", OWN / "codex-rollout.jsonl", "--json")
    assert json.loads(out)["context_length"] == 272_000
