"""What a digest could say: everything once."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.entries import EntryKind
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.words import LEAST_LINES


def run(number, output, command=""):
    call = ToolCall(f"c{number}", "bash", json.dumps({"command": command or f"make {number}"}))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(f"c{number}", output),))]


def entries_of(messages, most_lines=20):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    return compose(ledger, pins=(), factors=WeightFactors(), most_lines=most_lines)


def test_a_line_that_is_printed_again_stands_with_its_newest_mention():
    first, second = entries_of([*run(1, "alpha beta\ngamma delta"), *run(2, "gamma delta\nnew words")])
    assert [unit.text for unit in first.units] == ["alpha beta"]
    assert [unit.text for unit in second.units] == ["gamma delta", "new words"]


def test_a_sentence_that_was_said_before_is_not_quoted_again():
    messages = [
        Message("assistant", (Text(words),)) for words in ("It works. So it was said.", "It works. Or not.")
    ]
    said = [[unit.text for unit in entry.units] for entry in entries_of(messages)]
    assert said == [["It works. So it was said."], ["Or not."]]


def test_a_long_request_is_quoted_by_its_opening_its_rules_and_its_lines():
    lines = [f"Paragraph {number} tells what happened on that day." for number in range(60)]
    text = "\n".join([*lines, "Never push to main."])
    [entry] = entries_of([Message("user", (Text(text),))])
    assert entry.kind is EntryKind.OPEN_REQUEST
    assert entry.head.startswith("[0] Paragraph 0 ")
    assert entry.units[0].text == "Never push to main."
    said = entry.head.removeprefix("[0] ").split("\n") + [unit.text for unit in entry.units[1:]]
    assert said == lines


def test_no_more_lines_are_looked_at_than_asked_for():
    output = "\n".join(f"these are the words of line {number}" for number in range(100))
    for most in (LEAST_LINES, 30):
        [entry] = entries_of(run(1, output), most_lines=most)
        assert len(entry.units) == most


def plan(number, **states):
    todos = [{"content": text, "status": state} for text, state in states.items()]
    return [
        Message("assistant", (ToolCall(f"p{number}", "TodoWrite", json.dumps({"todos": todos})),)),
        Message("tool", (ToolResult(f"p{number}", "ok"),)),
    ]


def test_a_to_do_list_stands_with_its_states():
    entries = entries_of(
        [*plan(1, Draw="completed", Ship="pending"), *plan(2, Draw="completed", Ship="in_progress")]
    )
    found = {(entry.kind, entry.head): [unit.text for unit in entry.units] for entry in entries}
    assert (EntryKind.DOING, "[2] Ship") in found
    assert found[(EntryKind.ACTION, "[2] to-do list, ticked off")] == ["Draw"]


def test_a_to_do_list_that_is_kept_item_by_item_is_one_list():
    def call(number, tool, result, **arguments):
        return [
            Message("assistant", (ToolCall(f"t{number}", tool, json.dumps(arguments)),)),
            Message("tool", (ToolResult(f"t{number}", result),)),
        ]

    messages = [
        *call(1, "TaskCreate", "Task #7 created", subject="Draw"),
        *call(2, "TaskCreate", "Task #8 created", subject="Ship"),
        *call(3, "TaskUpdate", "ok", taskId="7", status="completed"),
        *call(4, "TaskUpdate", "ok", taskId="8", status="in_progress"),
    ]
    heads = [entry.head for entry in entries_of(messages)]
    assert "[6] Ship" in heads
    assert "[4] to-do list, ticked off" in heads


def edit(number, path, old, new, result="ok", *, is_error=False):
    arguments = json.dumps({"path": path, "old_string": old, "new_string": new})
    return [
        Message("assistant", (ToolCall(f"e{number}", "edit_file", arguments),)),
        Message("tool", (ToolResult(f"e{number}", result, is_error),)),
    ]


def entry_of_file(messages):
    (entry,) = [entry for entry in entries_of(messages) if entry.kind in (EntryKind.CHANGED, EntryKind.READ)]
    return entry


def test_lines_that_a_later_edit_replaced_are_not_quoted():
    entry = entry_of_file(
        [*edit(1, "/w/src/a.py", "x = 1", "limit = 20"), *edit(2, "src/a.py", "limit = 20", "limit = 30")]
    )
    assert entry.head == "/w/src/a.py (changed): edit_file [0, 2]"
    assert "limit = 30" in [unit.text for unit in entry.units]
    assert not {"limit = 20", "x = 1"} & {unit.text for unit in entry.units}


def test_an_edit_that_failed_changed_nothing():
    entry = entry_of_file(edit(1, "a.py", "x", "y = 2", "Error: no match", is_error=True))
    assert entry.kind is EntryKind.READ


@pytest.mark.parametrize(
    ("command", "fate"),
    [
        ("rm -f src/a.py", "deleted"),
        ("rm -rf src", "deleted"),
        ("rm src/*.py", "deleted"),
        ("git mv src/a.py src/b.py", "moved to src/b.py"),
        ("git checkout -- src/a.py", "reverted"),
    ],
)
def test_a_file_that_is_gone_says_so(command, fate):
    shell = [
        Message("assistant", (ToolCall("s", "bash", json.dumps({"command": command})),)),
        Message("tool", (ToolResult("s", ""),)),
    ]
    entries = entries_of([*edit(1, "src/a.py", "x", "limit = 20"), *shell])
    entry = next(entry for entry in entries if entry.head.startswith(f"src/a.py ({fate})"))
    assert "limit = 20" not in [unit.text for unit in entry.units]


def test_what_only_looks_weighs_less_than_what_acts():
    look, act = entries_of([*run(1, "a.py", "ls src"), *run(2, "a.py", "cp a b")])
    assert look.weight < act.weight


def test_a_command_of_which_only_the_opening_fits_weighs_little():
    opening, whole = entries_of(
        [*run(1, "1", "python3 - <<'PY'\nprint(1)\nPY"), *run(2, "1", "python3 tide.py")]
    )
    assert opening.weight < whole.weight


def test_a_file_that_is_gone_says_nothing_of_how_it_came_about():
    call = ToolCall(
        "w", "write_file", json.dumps({"path": "scratch.py", "content": "limit = 3\nprint(limit)"})
    )
    messages = [
        Message("assistant", (call,)),
        Message("tool", (ToolResult("w", "written"),)),
        *run(1, "", "rm scratch.py"),
    ]
    [file] = [entry for entry in entries_of(messages) if entry.kind is EntryKind.CHANGED]
    assert "(deleted)" in file.head
    assert file.units == []
