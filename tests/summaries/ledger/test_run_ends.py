"""How a run ended, where its status is that of something else, and what covers a failure of it."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.invocations import RunEnd
from midfold.summaries.ledger.run_ends import read_verdict


def call(number, tool, output, **arguments):
    said = ToolCall(f"c{number}", tool, json.dumps(arguments))
    return [Message("assistant", (said,)), Message("tool", (ToolResult(f"c{number}", output),))]


def bash(number, command, output="done"):
    return call(number, "bash", output, command=command)


def says(words):
    return [Message("assistant", (Text(words),))]


def ledger_of(*parts):
    messages = [message for part in parts for message in part]
    return collect(messages, range(len(messages)), pair_calls(messages), redact=str)


def heads(*parts):
    entries = compose(ledger_of(*parts), pins=(), factors=WeightFactors(), most_lines=20)
    return [entry.render(entry.units) for entry in entries]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("===== 3 failed, 12 passed in 0.31s =====", False),
        ("===== 12 passed, 1 warning in 0.31s =====", True),
        ("Tests:       2 failed, 40 passed, 42 total", False),
        ("Tests run: 8, Failures: 0, Errors: 0, Skipped: 1", True),
        ("Tests run: 8, Failures: 2, Errors: 0", False),
        ("ok  \tshop/fees\t0.411s\nFAIL\tshop/zones\t0.2s", False),
        ("ok  \tshop/fees\t0.411s", True),
        ("14 examples, 0 failures", True),
        ("Ran 7 tests in 0.01s\n\nOK", True),
        ("  31 passing (2s)\n  1 failing", False),
        ("test result: ok. 5 passed; 0 failed; 0 ignored", True),
        ("Found 3 errors in 1 file", False),
        ("0 issues.", True),
        ("compiling shop v0.1", None),
        ("✓ returns 2 errors for a broken basket", None),
    ],
)
def test_the_summary_of_a_test_runner_is_read(text, verdict):
    assert read_verdict(text) is verdict


@pytest.mark.parametrize(
    ("command", "output", "end"),
    [
        ("go test ./... 2>&1 | grep -E '(ok|FAIL)'", "ok  \tshop/fees\t0.4s", RunEnd.PASSED),
        (
            "go test ./... 2>&1 | grep -E '(ok|FAIL)'",
            "--- FAIL: TestFee (0.1s)\nFAIL\tshop/fees",
            RunEnd.FAILED,
        ),
        ("pytest -q | tail -3\n", "2 failed, 8 passed in 1s\n[exit code: 0]", RunEnd.FAILED),
        (
            "python -m pytest | tail -3",
            "/usr/bin/python: No module named pytest\n[exit code: 0]",
            RunEnd.FAILED,
        ),
        ("pytest | grep -c slow", "4", RunEnd.UNCLEAR),
        ("git pull", "CONFLICT (content): Merge conflict in fees.py", RunEnd.FAILED),
    ],
)
def test_what_tests_say_of_themselves_counts_more_than_the_status_of_a_filter(command, output, end):
    assert ledger_of(bash(1, command, output)).actions[0].run.end is end


def test_who_waits_for_others_has_not_failed_when_the_time_is_up():
    waited = call(1, "wait_agent", '{"timed_out": true, "message": "Wait timed out."}', ids=["a1"])
    assert ledger_of(waited).actions[0].run.end is RunEnd.UNCLEAR
    assert "(failed" not in heads(waited)[0]


def test_a_status_in_a_line_of_a_log_is_not_the_one_of_the_call():
    log = "build\tUNKNOWN STEP\t2031-02-03T04:05:06Z ##[error]Process completed with exit code 1."
    assert ledger_of(bash(1, "gh run view 7 --log | tail", log)).actions[0].run.status == ""


FAILED = bash(
    1, "go test ./fees/... -run 'TestRound|TestTax'", "--- FAIL: TestRound\n--- FAIL: TestTax\nFAIL"
)


@pytest.mark.parametrize(
    ("command", "settles"),
    [
        ("go test ./fees/... -run 'TestTax|TestRound'", True),
        ("go test ./fees/...", True),
        ("go test ./fees/... -run TestZone", False),
        ("go test ./fees/... -run TestTax", False),
        ("go test ./zones/...", False),
        ("cd /other/repo && go test ./...", True),
    ],
)
def test_a_run_of_other_tests_settles_nothing(command, settles):
    assert bool(ledger_of(FAILED, bash(3, command, "ok  \tshop\t0.4s")).settlers) is settles


def test_a_part_that_passed_does_not_settle_the_whole():
    whole = bash(
        1, "cargo clippy", "error: unused import\nerror: could not compile `fees` (lib)\n[exit code: 101]"
    )
    part = bash(3, "cargo clippy -p fees", "Finished\n[exit code: 0]")
    assert ledger_of(whole, part).settlers == {}
    rest = bash(5, "cargo clippy", "Finished\n[exit code: 0]")
    assert ledger_of(whole, part, rest).settlers == {0: 4}


def test_another_patch_settles_no_patch():
    failed = bash(1, "patch -p1 < round.patch", "patch: **** malformed patch at line 4\n[exit code: 2]")
    other = bash(3, "patch -p1 < zones.patch", "patching file zones.py\n[exit code: 0]")
    assert ledger_of(failed, other).settlers == {}


def test_of_several_runs_the_one_that_failed_is_named():
    passed = bash(1, "make check", "40 passed\n[exit code: 0]")
    failed = bash(3, "make check", "FAILED fees.py::test_a - boom\n[exit code: 1]")
    later = bash(5, "make check 2>&1", "40 passed\n[exit code: 0]")
    assert any(
        "[0, 2] bash: make check (failed at [2], settled by [4])" in it for it in heads(passed, failed, later)
    )


def test_a_model_that_says_so_has_settled_nothing():
    failed = bash(1, "cargo clippy", "error: unused import\n[exit code: 101]")
    told = heads(failed, says("Lint is clean now."))
    assert "(failed, said to be settled at [2])" in next(head for head in told if "clippy" in head)


def test_a_script_made_to_find_something_out_is_over_with_the_next():
    def probe(number, name, output):
        made = call(number, "write", "ok", path=f"/app/{name}", content="import fees\nprint(fees.round(1))")
        return [*made, *bash(number + 1, f"python {name}", output)]

    broken = probe(1, "probe_a.py", "TypeError: 'str' object is not callable\n[exit code: 1]")
    good = probe(5, "probe_b.py", "rounded: 1\n[exit code: 0]")
    assert ledger_of(broken).superseded == {}
    ledger = ledger_of(broken, good)
    assert ledger.superseded == {1: 6}
    assert ledger.open_failures == frozenset()
    assert any("python probe_a.py (failed, superseded at [6])" in head for head in heads(broken, good))


def test_an_error_that_made_room_for_another_one_is_over():
    first = bash(1, "python app.py", "ModuleNotFoundError: No module named 'fees'\n[exit code: 1]")
    then = bash(3, "python app.py", "KeyError: 'zone'\n[exit code: 1]")
    told = next(head for head in heads(first, then) if "python app.py" in head)
    assert "No module named 'fees' (settled)" in told
    assert "KeyError: 'zone' (settled)" not in told


@pytest.mark.parametrize(
    "said",
    [
        "Cancelled",
        "Command was aborted",
        "Tool call cancelled by user",
        "[Request interrupted by user for tool use]",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "コマンドがキャンセルされました",
    ],
)
def test_a_call_that_was_stopped_has_done_nothing(said):
    failed = bash(1, "make check", "error: unused import\n[exit code: 2]")
    ledger = ledger_of(failed, bash(3, "git stash && make check", said))
    assert [action.run.end for action in ledger.actions] == [RunEnd.FAILED, RunEnd.REFUSED]
    assert ledger.settlers == {}


def test_a_state_that_a_program_prints_is_no_stopped_call():
    ledger = ledger_of(bash(1, "jobctl state 7", "cancelled"))
    assert ledger.actions[0].run.end is RunEnd.PASSED


def test_only_the_call_that_was_refused_is_marked_so():
    told = heads(
        bash(1, "make fmt", "formatted 3 files"), bash(2, "make fmt", "The user rejected this call.")
    )
    assert any("make fmt (refused at [2])" in head for head in told)
    assert any("make fmt (refused)" in head for head in heads(bash(2, "make fmt", "Cancelled")))


def test_a_commit_of_nothing_has_failed():
    said = (
        "On branch main\nUntracked files:\n\tnotes.txt\n\nnothing added to commit but untracked files present"
    )
    assert ledger_of(bash(1, "git commit -m 'fees'", said)).actions[0].run.end is RunEnd.FAILED
    made = "[main 1a2b3c4] fees\n 1 file changed\nnothing to commit, working tree clean"
    assert ledger_of(bash(1, "git commit -m 'fees'", made)).actions[0].run.end is RunEnd.PASSED


def test_a_crash_at_the_end_of_a_pipe_is_a_failure():
    crash = '[exit code: 0]\nTraceback (most recent call last):\n  File "a.py", line 3\nRuntimeError: no fees'
    assert ledger_of(bash(1, "python a.py 2>&1 | tail -50", crash)).actions[0].run.end is RunEnd.FAILED
    wrapped = crash.replace("[exit code: 0]", "<returncode>0</returncode>\n<output>") + "\n</output>"
    assert ledger_of(bash(1, "python a.py 2>&1 | tail -50", wrapped)).actions[0].run.end is RunEnd.FAILED
    survived = crash + "\nrecovered, 3 fees kept"
    assert ledger_of(bash(1, "python a.py | tail -50", survived)).actions[0].run.end is not RunEnd.FAILED


def test_an_export_that_only_repeats_the_command_shows_no_success():
    told = "```bash\ngit push origin main --no-verify\n```\n\n"
    ledger = ledger_of(bash(1, "git push origin main --no-verify", told))
    assert ledger.actions[0].run.end is RunEnd.UNCLEAR
    assert any("came back empty" in head for head in heads(bash(1, "git push origin main --no-verify", told)))


@pytest.mark.parametrize(
    "said",
    [
        "collecting ... ERROR: not found: test_fees.py::test_zone\n\ncollected 0 items\n\n== no tests ran ==",
        "Ran 0 tests in 0.000s\n\nOK",
        "Found 0 test(s).",
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored",
        "ok  \tshop/fees\t0.4s [no tests to run]",
    ],
)
def test_a_run_without_a_test_settles_nothing(said):
    failed = bash(1, "pytest test_fees.py::test_zone", "1 failed in 0.1s")
    ledger = ledger_of(failed, bash(3, "pytest test_fees.py::test_zone", said))
    assert ledger.actions[1].run.end is not RunEnd.PASSED
    assert ledger.settlers == {}


def test_an_expected_error_within_a_run_that_ended_well_is_no_failure():
    said = "Failed to fetch: remote not found\n--- PASS: TestFetch (0.0s)\nPASS\nok  \tshop/fees\t0.4s"
    run = ledger_of(bash(1, "go test -v ./fees 2>&1", said)).actions[0].run
    assert (run.end, run.failures) == (RunEnd.PASSED, ())
    cut = said + "\nError: coverage below 80 %"
    assert ledger_of(bash(1, "go test -v ./fees 2>&1", cut)).actions[0].run.end is RunEnd.FAILED


def test_how_a_program_is_called_is_no_failure_where_it_was_asked():
    said = "Usage:\n  shop [flags]\n  shop [command]"
    assert ledger_of(bash(1, "./shop.sh --version | head -3", said)).actions[0].run.end is RunEnd.PASSED
    assert ledger_of(bash(1, "./shop.sh fees", said)).actions[0].run.end is RunEnd.FAILED
