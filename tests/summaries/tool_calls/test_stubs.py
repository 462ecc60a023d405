"""Stubs: one line per result that says which tool, what it was asked, how it went, how much it said."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.messages import ToolCall, ToolResult
from midfold.summaries.tool_calls.stubs import BUILT_IN, decisive_line, is_stub, write_pointer, write_stub
from support.pace import is_linear

anything = st.one_of(
    st.text(max_size=80),
    st.builds(lambda text, times: text * times, st.text(min_size=1, max_size=30), st.integers(1, 200)),
)
names = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["bash", "Read", "str_replace_editor", "apply_patch", "Grep", "ls", "WebFetch", "todo", "Task"]
    ),
)
keys = st.sampled_from(
    [
        "command",
        "path",
        "pattern",
        "url",
        "query",
        "todos",
        "offset",
        "limit",
        "view_range",
        "input",
        "content",
    ]
)
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), anything),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=10,
)
arguments = st.one_of(anything, st.builds(json.dumps, st.dictionaries(keys, json_values, max_size=6)))
results = st.one_of(anything, st.builds(json.dumps, json_values))


def stub(name, result, is_error=False, **given_arguments):
    return write_stub(
        ToolCall("c", name, json.dumps(given_arguments)), ToolResult("c", result, is_error=is_error)
    )


def lines(number):
    return "\n".join(["some output"] * number)


def test_a_command_is_shown_with_its_exit_status_and_the_size_of_its_output():
    assert stub("terminal", f"{lines(312)}\n[exit code: 1]", command="pytest -q").startswith(
        "[terminal] ran `pytest -q` -> exit 1, 313 lines output"
    )


@pytest.mark.parametrize(
    "name", ["bash", "Bash", "shell", "run_command", "execute_command", "local_shell", "exec"]
)
def test_shells_are_known_by_the_words_of_their_names(name):
    assert stub(name, lines(3), command="ls") == f"[{name}] ran `ls` -> 3 lines output"


def test_a_command_may_be_a_list():
    said = stub("shell", lines(2), command=["bash", "-lc", "ls -la"])
    assert said == "[shell] ran `bash -lc ls -la` -> 2 lines output"


def test_a_long_command_keeps_its_beginning():
    said = stub("Bash", lines(2), command="python - <<'EOF'\n" + "print(1)\n" * 100)
    assert said.startswith("[Bash] ran `python - <<'EOF' print(1) print(1)")
    assert "…` -> 2 lines output" in said


def test_the_output_is_counted_inside_its_json():
    wrapped = json.dumps({"output": "one\ntwo\nthree", "exit_code": 0, "error": None})
    assert stub("terminal", wrapped, command="ls") == "[terminal] ran `ls` -> exit 0, 3 lines output"


@pytest.mark.parametrize(
    ("given_arguments", "said"),
    [
        ({"path": "app.py"}, "read app.py from line 1 (3,400 chars)"),
        ({"file_path": "app.py", "offset": 120}, "read app.py from line 120 (3,400 chars)"),
        ({"file_path": "app.py", "offset": 120, "limit": 45}, "read app.py lines 120-164 (3,400 chars)"),
        ({"path": "app.py", "start_line": 3, "end_line": 9}, "read app.py lines 3-9 (3,400 chars)"),
        ({"path": "app.py", "view_range": [10, 20]}, "read app.py lines 10-20 (3,400 chars)"),
        ({"path": "app.py", "view_range": [10, -1]}, "read app.py from line 10 (3,400 chars)"),
        ({"paths": ["a.py", "b.py"]}, "read a.py b.py from line 1 (3,400 chars)"),
    ],
)
def test_a_reader_shows_path_and_lines(given_arguments, said):
    assert stub("read_file", "x" * 3400, **given_arguments) == f"[read_file] {said}"


@pytest.mark.parametrize(
    ("name", "command", "said"),
    [
        ("str_replace_editor", "view", "read app.py from line 1 (300 chars)"),
        ("str_replace_editor", "create", "wrote app.py (2 lines)"),
        ("str_replace_based_edit_tool", "str_replace", "edited app.py (-1 +3 lines)"),
    ],
)
def test_an_editor_does_what_its_command_says(name, command, said):
    given_arguments = {"path": "app.py", "file_text": "a\nb\n", "old_str": "a", "new_str": "a\nb\nc"}
    assert stub(name, "x" * 300, command=command, **given_arguments) == f"[{name}] {said}"


@pytest.mark.parametrize("name", ["write_file", "Write", "create_file"])
def test_a_writer_shows_path_and_lines_written(name):
    assert stub(name, "x" * 300, file_path="a.py", content="1\n2\n3\n") == f"[{name}] wrote a.py (3 lines)"


def test_an_edit_shows_how_many_lines_went_and_came():
    said = stub("Edit", "x" * 300, file_path="a.py", old_string="a\nb", new_string="c")
    assert said == "[Edit] edited a.py (-2 +1 lines)"


def test_a_patch_shows_the_files_it_touches():
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
    said = write_stub(ToolCall("c", "apply_patch", patch), ToolResult("c", "x" * 300))
    assert said == "[apply_patch] edited a.py, b.py (8 lines patch)"


@pytest.mark.parametrize(
    ("result", "found"),
    [
        (lines(4), "4 matches"),
        ("Found 21 files\n" + lines(21), "21 files"),
        ('Found 17 matches for pattern "x":\n' + lines(20), "17 matches"),
        (json.dumps({"total_count": 9, "matches": [{}] * 9}), "9 matches"),
    ],
)
def test_a_search_shows_pattern_place_and_matches(result, found):
    assert (
        stub("Grep", result, pattern="def fee", path="src")
        == f"[Grep] searched for 'def fee' in src -> {found}"
    )


def test_lines_of_context_are_not_called_matches():
    said = stub("Grep", lines(30), **{"pattern": "fee", "-C": 3})
    assert said == "[Grep] searched for 'fee' -> 30 lines"


def test_a_listing_shows_folder_and_entries():
    assert stub("list_dir", lines(12), path="src") == "[list_dir] listed src (12 entries)"


def test_a_web_search_shows_how_much_it_found_and_the_first_title():
    hits = json.dumps([{"title": "Night rates", "url": "https://a"}, {"title": "Coins", "url": "https://b"}])
    said = stub("WebSearch", hits, query="parking fees")
    assert said == "[WebSearch] searched the web for 'parking fees' -> 2 results, first: Night rates"


def test_a_fetched_page_shows_its_address_and_first_line():
    said = stub("web_fetch", "# Night rates\n" + lines(40), url="https://example.org/rates")
    assert said == "[web_fetch] fetched https://example.org/rates (493 chars): # Night rates"


def test_a_plan_shows_how_far_it_is():
    todos = [
        {"content": "read", "status": "completed"},
        {"content": "fix the fee", "status": "in_progress"},
        {"content": "test", "status": "pending"},
    ]
    assert stub("TodoWrite", lines(30), todos=todos) == (
        "[TodoWrite] set 3 steps, 1 done; in progress: fix the fee"
    )


def test_what_the_user_answered_stays():
    answer = 'User has answered your questions: "Which zone?"="the old town". You can now continue.'
    assert stub("AskUserQuestion", answer, questions=[{}]) == "[AskUserQuestion] asked -> the old town"


def test_a_helper_shows_its_task_and_how_its_report_begins():
    said = stub("Task", "All fees are right.\n" + lines(50), description="check fees", prompt="Read …")
    assert said == "[Task] delegated 'check fees' -> 619 chars: All fees are right."


def test_an_unknown_tool_shows_arguments_size_and_beginning():
    said = stub("toll_gate", "gate 4 is open\n" + lines(9), gate=4, lane="left")
    assert said == "[toll_gate] gate=4 lane=left -> 122 chars, 10 lines: gate 4 is open"


def test_fields_of_a_json_result_are_told_unless_the_call_says_them():
    order = {
        "order_id": "W53",
        "owner": "j_kovacs",
        "items": [1, 2],
        "note": "x" * 300,
        "status": "processed",
    }
    said = stub("get_order", json.dumps(order), order_id="W53")
    assert said.startswith(
        "[get_order] order_id=W53 -> 392 chars: status=processed owner=j_kovacs items=2 items note=xxx"
    )


def test_a_list_of_records_is_counted():
    said = stub("search_flights", json.dumps([{"flight": "HAT1"}, {"flight": "HAT2"}]), date="2024-05-24")
    assert said == "[search_flights] date=2024-05-24 -> 40 chars: 2 items flight=HAT1"


def test_a_name_that_only_sounds_like_a_family_is_told_in_general():
    assert stub("create_ticket", lines(2), title="Jam").startswith(
        "[create_ticket] title=Jam -> 23 chars, 2 lines"
    )


def test_a_result_without_its_call_is_told_by_its_own_name():
    assert (
        write_stub(None, ToolResult("c", lines(2), name="scan")) == "[scan] -> 23 chars, 2 lines: some output"
    )
    assert write_stub(None, ToolResult("c", lines(2))).startswith("[tool] -> ")


def test_the_error_of_a_command_stays():
    output = "collected 3 items\nFAILED tests/test_fee.py::test_night - assert 2 == 3\n1 failed"
    assert stub("bash", f"Exit code 1\n{output}", command="pytest") == (
        "[bash] ran `pytest` -> exit 1, 4 lines output; FAILED tests/test_fee.py::test_night - assert 2 == 3"
    )


def test_an_error_hidden_by_a_pipe_stays():
    said = stub(
        "bash", f"{lines(5)}\nModuleNotFoundError: No module named 'pytz'", command="python a.py | tail"
    )
    assert said.endswith("; ModuleNotFoundError: No module named 'pytz'")


def test_the_error_of_a_json_result_stays():
    said = stub("memory", json.dumps({"success": False, "error": "Two entries match."}), action="remove")
    assert said.endswith("; Two entries match.")


def test_a_failed_edit_is_not_told_as_done():
    said = stub(
        "Edit", "String to replace not found in file.", is_error=True, file_path="a.py", old_string="x"
    )
    assert said == "[Edit] could not edit a.py (-1 +0 lines); String to replace not found in file."


def test_what_the_user_said_when_refusing_stays():
    result = "The user does not want this. To tell you how to proceed, the user said:\nuse the other file"
    assert stub("Edit", result, is_error=True, file_path="a.py").endswith("the user said: use the other file")


@pytest.mark.parametrize(
    ("name", "given_arguments"),
    [
        ("read_file", {"path": "errors.py"}),
        ("Grep", {"pattern": "Error"}),
        ("bash", {"command": "cd /srv && cat errors.log"}),
        ("bash", {"command": "git log -3"}),
        ("shell", {"command": ["bash", "-lc", "sed -n 1,40p x.py"]}),
    ],
)
def test_errors_in_other_peoples_text_are_not_the_tools_own(name, given_arguments):
    assert "Error: no zone" not in stub(name, f"{lines(3)}\nError: no zone\n", **given_arguments)


def test_a_reader_that_answers_with_an_error_failed_all_the_same():
    assert stub("read_file", "Error: no such file: a.py", path="a.py").endswith("; Error: no such file: a.py")


def test_a_stub_is_one_line_of_about_300_characters():
    said = stub("bash", "Exit code 1\nError: " + "y" * 4000, command="x" * 4000)
    assert len(said) <= 310
    assert said.startswith(f"[bash] ran `{'x' * 119}…` -> exit 1, 2 lines output; Error: yyy")


def test_a_tool_of_its_own_may_have_a_writer_of_its_own():
    writers = {**BUILT_IN, "toll_gate": lambda _, result: f"opened\ngate, {len(result.text)} bytes"}
    said = write_stub(ToolCall("c", "toll_gate", "{}"), ToolResult("c", "abc"), writers)
    assert said == "[toll_gate] opened gate, 3 bytes"


def test_a_pointer_names_the_later_call():
    call = ToolCall("c", "read", '{"path": "app.py"}')
    said = write_pointer(call, ToolResult("c", "x" * 3400), call)
    assert said == "[read] same output as the later `read app.py` call (3,400 chars)"


def test_the_decisive_line_is_found_inside_json():
    assert decisive_line(json.dumps({"output": "a\nTypeError: b", "exit_code": 1})) == "TypeError: b"
    assert decisive_line(json.dumps({"error": "c " * 300})).startswith("c c c")
    assert decisive_line("all is well") is None


@pytest.mark.parametrize(
    "text", ["a", "error", "error: x\n", "a.", "x:1:1: ", "--- FAIL: \n", "\n", "[", "E   ", "'"]
)
def test_the_decisive_line_of_a_megabyte_is_found_at_once(text):
    assert is_linear(lambda size: decisive_line(text * (size // len(text))), 1_000_000)


@given(names, arguments, results, st.booleans())
def test_no_call_is_too_odd_for_a_stub(name, call_arguments, text, is_error):
    call = ToolCall("c", name, call_arguments)
    result = ToolResult("c", text, is_error=is_error)
    said = write_stub(call, result)
    assert len(said) <= 400
    assert said.encode().decode() == said
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in said)
    assert is_stub(call, ToolResult("c", said))
    assert len(write_pointer(call, result, call)) <= 300
    assert len(decisive_line(text) or "") <= 200
