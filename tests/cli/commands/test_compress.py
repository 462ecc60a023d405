"""`midfold compress`, as a person or a script runs it."""

import gzip
import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from midfold.testing import transcript
from midfold.transcripts import load_transcript
from midfold.wire import DIALECTS
from midfold.wire.validate import validate

OWN = Path(__file__).parents[2] / "transcripts"
KEYS = {
    "changed",
    "reason",
    "dialect",
    "messages_before",
    "messages_after",
    "tokens_before",
    "tokens_after",
    "saved_tokens",
    "budget_tokens",
    "over_budget",
    "folded",
    "pruned",
    "summarizer",
    "summary_tokens",
    "model_tokens",
    "retention",
    "warning",
    "elapsed_ms",
}


@pytest.fixture
def session(tmp_path):
    path = tmp_path / "session.json"
    body = {
        "model": "gpt-5-mini",
        "x_vendor": 1,
        "messages": transcript(turns=30, result_chars=1_500, last="Go on."),
    }
    path.write_text(json.dumps(body))
    return path


def test_a_file_that_is_read_only_is_not_replaced(run, session, tmp_path):
    out = tmp_path / "out.json"
    out.write_text("as it was")
    out.chmod(0o444)
    status, _printed, report = run("compress", session, "--max-tokens", 4_000, "-o", out)
    assert status == 2
    assert "it is read-only" in report
    assert out.read_text() == "as it was"


def test_what_is_no_number_is_written_as_null(run, session, tmp_path):
    body = json.loads(session.read_text())
    session.write_text(json.dumps({**body, "x_nan": [float("nan")], "x_far": float("inf")}))
    out = tmp_path / "out.json"
    run("compress", session, "--max-tokens", 4_000, "-o", out)
    written = json.loads(out.read_text(), parse_constant=pytest.fail)
    assert (written["x_nan"], written["x_far"]) == ([None], None)


def test_an_object_gives_the_same_object_with_other_messages(run, session, tmp_path):
    out = tmp_path / "out.json"
    status, printed, report = run("compress", session, "--max-tokens", 4_000, "-o", out)
    body = json.loads(out.read_text())
    assert (status, printed) == (0, "")
    assert (body["model"], body["x_vendor"]) == ("gpt-5-mini", 1)
    assert len(body["messages"]) < 60
    assert "Compressed:" in report


def test_the_json_report_has_the_keys_that_scripts_rely_on(run, session, tmp_path):
    status, printed, errors = run(
        "compress", session, "--max-tokens", 4_000, "-o", tmp_path / "o.json", "--json"
    )
    report = json.loads(printed)
    assert (status, errors, set(report)) == (0, "", KEYS)
    assert report["tokens_after"] <= 4_000
    assert report["saved_tokens"] == report["tokens_before"] - report["tokens_after"]
    assert report["folded"][0]["start"] < report["folded"][0]["stop"]


def test_without_an_output_the_transcript_goes_to_standard_output(session):
    command = [sys.executable, "-m", "midfold", "compress", str(session), "--max-tokens", "4000"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(done.stdout)["model"] == "gpt-5-mini"
    assert b"Compressed:" in done.stderr


def test_a_ceiling_that_cannot_be_met_is_status_one_and_still_written(run, session, tmp_path):
    out = tmp_path / "out.json"
    status, printed, _ = run("compress", session, "--max-tokens", 50, "-o", out, "--json")
    assert status == 1
    assert json.loads(printed)["over_budget"]
    assert json.loads(out.read_text())["messages"][-1]["content"] == "Go on."


def test_nothing_to_do_is_status_zero(run, session, tmp_path):
    out = tmp_path / "out.json"
    status, printed, _ = run("compress", session, "--max-tokens", 10_000_000, "-o", out, "--json")
    assert status == 0
    assert not json.loads(printed)["changed"]
    assert json.loads(out.read_text()) == json.loads(session.read_text())


def test_a_plan_writes_nothing(run, session, tmp_path):
    out = tmp_path / "out.json"
    status, printed, _ = run("compress", session, "--max-tokens", 4_000, "-o", out, "--plan")
    assert status == 0
    assert "+ summary" in printed
    assert "fold" in printed
    assert not out.exists()


def test_output_may_be_packed_and_is_private(run, session, tmp_path):
    out = tmp_path / "out.json.gz"
    run("compress", session, "--max-tokens", 4_000, "-o", out)
    assert json.loads(gzip.decompress(out.read_bytes()))["model"] == "gpt-5-mini"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_a_failed_run_leaves_the_old_file(run, session, tmp_path):
    folder = tmp_path / "gone" / "out.json"
    status, _, errors = run("compress", session, "--max-tokens", 4_000, "-o", folder)
    assert status == 2
    assert errors.count("\n") == 1
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    out = tmp_path / "out.json"
    out.write_text("old")
    assert run("compress", bad, "--max-tokens", 4_000, "-o", out)[0] == 2
    assert out.read_text() == "old"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "options", [[], ["--max-tokens", 5, "--context-length", 5], ["--max-tokens", 0], ["--style", "x"]]
)
def test_bad_options_are_status_two(run, session, options):
    status, printed, errors = run("compress", session, *options)
    assert (status, printed) == (2, "")
    assert errors


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_every_dialect_comes_out_legal(run, tmp_path, dialect):
    path, out = tmp_path / "in.json", tmp_path / "out.json"
    path.write_text(json.dumps(transcript(dialect, turns=20, result_chars=1_500)))
    assert run("compress", path, "--max-tokens", 3_000, "-o", out)[0] == 0
    assert validate(json.loads(out.read_text()), dialect=dialect) == []


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json*")), ids=lambda path: path.name)
def test_our_own_transcripts_fold_to_a_third(run, tmp_path, path):
    out = tmp_path / "out.json"
    told = json.loads(run("inspect", path, "--json")[1])
    status, printed, _ = run("compress", path, "--max-tokens", told["tokens"] // 3 + 800, "-o", out, "--json")
    report = json.loads(printed)
    assert status == (1 if report["over_budget"] else 0)
    request = load_transcript(out, dialect=told["dialect"]).request
    faults = [
        fault for fault in validate(request.messages, dialect=request.dialect) if fault.severity == "error"
    ]
    assert len(faults) <= len(told["faults"])


@pytest.mark.parametrize(
    "options",
    [["--strategy", "prune"], ["--strategy", "fold"], ["--style", "excerpt"], ["--template", "brief"]],
)
def test_documented_choices_are_taken(run, session, tmp_path, options):
    assert run("compress", session, "--max-tokens", 9_000, "-o", tmp_path / "o.json", *options)[0] in (0, 1)


def test_the_plan_of_an_autonomous_session_shows_its_summary(run):
    assert (
        "+ summary"
        in run("compress", OWN / "autonomous-one-request.json", "--max-tokens", 5_000, "--plan")[1]
    )
