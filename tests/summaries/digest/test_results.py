"""What is quoted of results and edits: how things are now, and not what tools say of themselves."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect
from midfold.summaries.tool_calls.output import find_failure


def call(number, tool, output, *, is_error=False, **arguments):
    said = ToolCall(f"c{number}", tool, json.dumps(arguments, ensure_ascii=False))
    return [
        Message("assistant", (said,)),
        Message("tool", (ToolResult(f"c{number}", output, is_error=is_error),)),
    ]


def bash(number, command, output="", **more):
    return call(number, "Bash", output, command=command, **more)


def render(*steps):
    messages = [message for step in steps for message in step]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
    return "\n".join(entry.render(entry.units) for entry in entries)


FILE = "  1\timport os\n  2\tLIMIT_OF_TRIES = 3\n  3\tdef connect_to_pier(host):\n"
READ = call(1, "Read", FILE, file_path="/app/pier.py")


def test_a_file_is_quoted_without_the_numbers_of_its_lines_and_without_imports():
    notes = render(READ)
    assert "LIMIT_OF_TRIES = 3 · def connect_to_pier(host):" in notes
    assert "import os" not in notes
    assert "\t" not in notes


EDITS = [
    {"old_string": "LIMIT_OF_TRIES = 3", "new_string": "LIMIT_OF_TRIES = 5"},
    {"old": "LIMIT_OF_TRIES = 3", "new": "LIMIT_OF_TRIES = 5"},
    {"original": "LIMIT_OF_TRIES = 3", "updated": "LIMIT_OF_TRIES = 5"},
    {"edits": [{"oldText": "LIMIT_OF_TRIES = 3", "newText": "LIMIT_OF_TRIES = 5"}]},
    {
        "diff": "<<<<<<< SEARCH\n:start_line:2\n-------\nLIMIT_OF_TRIES = 3\n"
        "=======\nLIMIT_OF_TRIES = 5\n>>>>>>> REPLACE"
    },
    {"patch": "@@ -2 +2 @@\n-LIMIT_OF_TRIES = 3\n+LIMIT_OF_TRIES = 5\n"},
]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: next(iter(edit)))
def test_what_an_edit_replaced_is_quoted_nowhere(edit):
    search = call(2, "Grep", "pier.py:2:LIMIT_OF_TRIES = 3\nmain.py:9:LIMIT_OF_WAITS = 4", pattern="LIMIT")
    notes = render(READ, search, call(3, "edit_file", "ok", path="/app/pier.py", **edit))
    assert "LIMIT_OF_TRIES = 3" not in notes
    assert "LIMIT_OF_TRIES = 5" in notes
    assert "LIMIT_OF_WAITS = 4" in notes


def test_what_was_read_after_the_last_change_is_quoted():
    changed = call(2, "Edit", "ok", file_path="/app/pier.py", old_string="3", new_string="5")
    assert "def connect_to_pier(host):" in render(changed, READ)


def test_an_edit_that_git_took_back_is_not_quoted_once_another_followed():
    first = call(
        1, "Edit", "ok", file_path="/app/pier.py", old_string="a = 1", new_string="rounding = HALF_UP"
    )
    last = call(3, "Edit", "ok", file_path="/app/pier.py", old_string="a = 1", new_string="total = rounded()")
    notes = render(first, bash(2, "git checkout pier.py", "Updated 1 path from the index"), last)
    assert "rounding = HALF_UP" not in notes
    assert "total = rounded()" in notes


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("Edit", "The file /app/pier.py has been updated successfully."),
        ("replace_in_file", "Applied 1 edit to /app/pier.py"),
        ("apply_patch", "Success. Updated the following files:\nM pier.py"),
        ("edit_file", "已成功修改文件 /app/pier.py"),
    ],
)
def test_what_a_tool_says_of_its_success_is_left_out(tool, said):
    notes = render(call(1, tool, said, path="/app/pier.py", old_string="a = 1", new_string="b = 22"))
    assert "b = 22" in notes
    assert not any(line in notes for line in said.split("\n"))


def test_an_output_is_quoted_without_its_frame():
    codex = "Wall time: 0.4 seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\n43 boats"
    gemini = (
        "Command: count\nDirectory: (root)\nOutput: 17 ropes coiled\nSignal: (none)\nProcess Group PGID: 59"
    )
    notes = render(bash(1, "count boats", codex), bash(2, "count ropes", gemini))
    assert "43 boats" in notes
    assert "17 ropes coiled" in notes
    assert not any(word in notes for word in ("Wall time", "token count", "(root)", "Signal", "PGID"))


def test_banners_and_repeated_causes_are_left_out():
    output = (
        "Exit code 1\n=========== short test summary info ===========\n"
        "FAILED tests/test_pier.py::test_a - AssertionError: 3 boats, not 4\n"
        "E       AssertionError: 3 boats, not 4\n==== 1 failed in 0.31s ===="
    )
    notes = render(bash(1, "pytest -q", output))
    assert notes.count("3 boats, not 4") == 1
    assert notes.count("Exit code 1") == 1
    assert "short test summary" not in notes
    assert "1 failed in 0.31s" in notes


def test_what_a_client_adds_to_the_words_of_an_agent_is_left_out():
    said = (
        "The chain is rusted at link 12.\nagentId: a7f3 (to resume this agent)\n"
        "<usage>total_tokens: 48211\ntool_uses: 19</usage>"
    )
    notes = render(call(1, "Agent", said, description="Look at the chain", subagent_type="diver"))
    assert "link 12" in notes
    assert "agentId" not in notes
    assert "total_tokens" not in notes


def test_settings_of_known_tools_are_no_words_and_others_are_told_in_words():
    search = call(1, "Grep", "", pattern="mooring", path="src", output_mode="content", **{"-n": True})
    booking = call(2, "book_berth", "", berth_id="B-7", nights=3)
    notes = render(search, booking)
    assert "Grep: mooring · in src" in notes
    assert "book_berth: berth id B-7, nights 3" in notes
    assert "=" not in notes


@pytest.mark.parametrize("command", ["curl -s x | diff - old.json", "git log | grep mooring", "diff a b"])
def test_a_difference_or_no_match_is_no_failure(command):
    assert "failed" not in render(bash(1, command, "Exit code 1\n< 25.47\n> 25.48"))


def test_a_call_that_a_person_refused_says_so_and_nothing_else():
    said = "The user doesn't want to take this action right now. STOP what you are doing."
    notes = render(call(1, "Bash", said, is_error=True, command="rm -rf moorings"))
    assert notes == "- [0] Bash: rm -rf moorings (refused)"


def test_a_reason_that_looks_like_a_label_is_told():
    assert "Auto merge is not allowed" in render(
        bash(1, "gh pr merge 234", "Exit code 1\nGraphQL: Auto merge is not allowed for this repository")
    )


def test_a_question_without_an_answer_is_left_out_and_one_with_an_answer_is_told_once():
    asked = {"questions": [{"question": "Moor at the north pier?", "options": [{"label": "Yes"}]}]}
    silent = call(1, "AskUserQuestion", "No response after 300s", **asked)
    answered = call(2, "AskUserQuestion", 'User has answered: "Moor at the north pier?"="Yes"', **asked)
    assert render(silent) == ""
    assert render(answered).count("Moor at the north pier?") == 1


def test_files_that_came_and_went_are_one_line():
    made = [call(n, "Write", "ok", file_path=f"/app/try_{n}.py", content=f"print({n})\n") for n in range(4)]
    notes = render(*made, bash(9, "rm /app/try_*.py"))
    assert "made and deleted again: /app/try_0.py, /app/try_1.py, /app/try_2.py, /app/try_3.py" in notes
    assert notes.count("/app/try_0.py") == 1


def test_what_a_model_sends_is_what_it_told():
    report = "The north pier is closed until Friday: a bolt of the ramp is cracked, and the spare is in Oban."
    notes = render(call(1, "attempt_completion", "ok", result=report))
    assert "[0] told: The north pier is closed until Friday" in notes


def test_the_model_speaks_of_its_call_and_says_nothing():
    words = (
        "Let me look at the mooring rope file.",
        "The rope of berth seven is chafed where it crosses the fairlead.",
    )
    steps = [
        [Message("assistant", (Text(said), ToolCall(f"c{at}", "Read", '{"path": "src/mooring_rope.py"}')))]
        for at, said in enumerate(words)
    ]
    ledger_messages = [message for step in steps for message in step]
    ledger = collect(ledger_messages, range(2), pair_calls(ledger_messages), redact=str)
    entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
    weights = {unit.text: unit.weight for entry in entries for unit in entry.units}
    assert weights[words[0]] == 0
    assert weights[words[1]] > 0


def test_items_of_what_is_only_announced_weigh_less_than_findings():
    listed = "I need to:\n- raise the limit of tries in pier_config to seven"
    found = "Found two causes:\n- pier_config limits the tries to three per berth"
    weights = []
    for said in (listed, found):
        messages = [Message("assistant", (Text(said), ToolCall("c", "Bash", '{"command": "make"}')))]
        ledger = collect(messages, range(1), pair_calls(messages), redact=str)
        entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
        weights.append(max(unit.weight for entry in entries for unit in entry.units))
    assert weights[0] < weights[1] / 2


def test_a_missing_file_is_a_failure_in_whatever_case_it_is_told():
    said = "stat /a/main.go: no such file or directory"
    assert find_failure(f"building\n{said}\n") == said


def script(number, name, output="ok"):
    return bash(number, f"cat > {name} <<'E'\nprint({number})\nE\npython {name}", output)


def test_scripts_that_were_written_and_run_are_named_together():
    notes = render(*(script(n, f"try_{n}.py") for n in range(12)))
    assert "written and run: try_0.py, try_1.py" in notes
    assert "written and run: try_10.py, try_11.py" in notes
    assert "(changed)" not in notes


def test_a_script_that_was_edited_or_is_spoken_of_has_a_line_of_its_own():
    asked = [Message("user", (Text("Write report.py for me, it prints the tides."),))]
    edit = call(7, "Edit", "ok", file_path="tides.py", old_string="print(1)", new_string="print(tide(1))")
    tries = [script(n, f"try_{n}.py") for n in range(3)]
    notes = render(asked, *tries, script(4, "report.py"), script(5, "tides.py"), edit)
    assert "report.py (changed): Bash" in notes
    assert "tides.py (changed): Bash" in notes
    assert "written and run: try_0.py, try_1.py, try_2.py" in notes


DRAFT = "cat > dredge.patch <<'E'\n--- a/pier/dredge.py\n+++ b/pier/dredge.py\n@@ -1 +1 @@\n-a\n+b\nE"


def test_a_patch_that_was_only_written_changes_nothing():
    notes = render(bash(1, DRAFT, "ok"), bash(2, "git diff", ""))
    assert "dredge.patch (changed)" in notes
    assert "pier/dredge.py (changed)" not in notes


@pytest.mark.parametrize(
    "command", ["patch -p1 < dredge.patch", "git apply dredge.patch", "git apply --index /tmp/dredge.patch"]
)
def test_a_patch_that_was_applied_changes_its_files(command):
    notes = render(bash(1, DRAFT, "ok"), bash(2, command, "patching file pier/dredge.py"))
    assert "pier/dredge.py (changed): Bash [2]" in notes


def test_a_patch_that_failed_changes_nothing():
    failed = bash(2, "patch -p1 < dredge.patch", "Exit code 2\npatch: **** malformed patch at line 4")
    assert "pier/dredge.py (changed)" not in render(bash(1, DRAFT, "ok"), failed)


PATCH = """apply_patch <<'PATCH'
*** Begin Patch
*** Update File: pier/rates.py
@@
-    return base
+    # The night rate is halved before the tax,
+    # since the council rules so.
+    halved = night_rate(base) / 2
+    return halved
*** End Patch
PATCH"""


def test_a_patch_through_a_shell_stands_with_its_file():
    notes = render(bash(1, PATCH, "Success. Updated the following files:\nM pier/rates.py"))
    assert "pier/rates.py (changed): Bash [0]" in notes
    assert "halved = night_rate(base) / 2" in notes
    assert "apply_patch" not in notes


def test_a_patch_that_failed_is_told_as_a_call():
    assert "apply_patch" in render(bash(1, PATCH, "error: patch does not apply\nexit code: 1", is_error=True))


def test_code_that_an_edit_wrote_weighs_more_than_the_remarks_on_it():
    remark = "# The council rules that the rate is halved."
    code = f"def halve_rate(base):\n{remark}\n    tide_rate = base / TIDE_PARTS"
    steps = [call(1, "Edit", "ok", file_path="/app/rates.py", old_string="pass", new_string=code)]
    messages = [message for step in steps for message in step]
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    [entry] = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
    weights = {unit.text: unit.weight for unit in entry.units}
    assert weights[remark] < weights["tide_rate = base / TIDE_PARTS"]


def test_lines_weigh_more_where_few_files_were_changed():
    def weigh(files):
        steps = [
            call(
                n,
                "Edit",
                "ok",
                file_path=f"/app/r{n}.py",
                old_string="a",
                new_string=f"rate_{n} = night({n})",
            )
            for n in range(files)
        ]
        messages = [message for step in steps for message in step]
        ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
        entries = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
        return entries[0].units[0].weight

    assert weigh(1) > weigh(3) > weigh(6) == weigh(9)


def test_a_piece_of_a_statement_is_not_bought_before_the_lines_around_it():
    code = "night_rate = rates\n    .base_rate\n    .find_or(default_rate)"
    messages = call(1, "Edit", "ok", file_path="/app/rates.py", old_string="pass", new_string=code)
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    [entry] = compose(ledger, pins=(), factors=WeightFactors(), most_lines=20)
    density = {unit.text: unit.weight / len(unit.text) for unit in entry.units}
    assert density[".base_rate"] < density["night_rate = rates"]


@pytest.mark.parametrize(
    "output",
    [
        '{"output": "", "exit_code": 0, "error": null}',
        '{"exit_code":0,"success":true,"entries":[]}',
        "<returncode>0</returncode>\n<output>\n</output>",
    ],
)
def test_an_answer_that_only_says_that_it_went_well_tells_nothing(output):
    assert render(call(1, "terminal", output, command="make berth")) == "- [0] terminal: make berth"


@pytest.mark.parametrize("status", ["exit code 10", '"exit_code": 120', "exited with code -1"])
def test_a_status_that_ends_in_a_nought_is_no_success(status):
    assert status.rpartition(" ")[2] in render(call(1, "terminal", f"{status}", command="make berth"))


def test_steps_through_a_file_are_told_in_one_line_and_have_not_failed():
    shown = "[File: /app/pier.py (90 lines total)]\n(29 more lines above)\n30:    raise TideError('error')"
    steps = [bash(1, "open pier.py", shown), bash(2, "goto 30", shown), bash(3, "scroll_down", shown)]
    notes = render(*steps, bash(4, "search_dir tide", 'Found 3 matches for "tide" in /app'))
    assert "(failed" not in notes
