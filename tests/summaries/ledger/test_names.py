"""Names are told by their shape, and belong to what the agent did with them."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.redact import redact
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.name_uses import NamePlace, NameShape, read_name
from midfold.summaries.ledger.names import NameReader, name_program

SECRET = "AK" + "IA" + "IOSFODNN7QWERTYU"


def read(*messages):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=redact)
    reader = NameReader(redact)
    reader.read(messages, range(len(messages)), range(len(messages)), ledger)
    return {use.name: use for use in reader.uses}


def user(words):
    return Message("user", (Text(words),))


def step(key, tool, arguments, output, words=""):
    call = ToolCall(key, tool, json.dumps(arguments))
    parts = (Text(words), call) if words else (call,)
    return [Message("assistant", parts), Message("tool", (ToolResult(key, output),))]


@pytest.mark.parametrize(
    ("word", "name", "shape"),
    [
        ("src/a.py", "src/a.py", NameShape.PATH),
        ("parser.py.", "parser.py", NameShape.FILE),
        ("self.items_of", "self.items_of", NameShape.DOTTED),
        ("parse_line", "parse_line", NameShape.SNAKE),
        ("DigestEntry", "DigestEntry", NameShape.CAMEL),
        ("ISSUE-1234", "ISSUE-1234", NameShape.ID),
        ("8812345", "8812345", NameShape.NUMBER),
    ],
)
def test_a_name_is_told_by_its_shape(word, name, shape):
    assert read_name(word) == (name, shape)


@pytest.mark.parametrize(
    "word",
    [
        "hello",
        "Hello",
        "2024",
        "----",
        "import/export",
        "38.4000",
        "40.90s",
        "1500ms",
        "12.5KB",
        "330p",
        "x" * 200 + "_",
    ],
)
def test_plain_words_short_figures_and_data_are_no_names(word):
    assert read_name(word) is None


def test_a_name_counts_once_for_each_message_and_remembers_who_used_it():
    uses = read(
        user("Please fix parse_line in src/a.py"),
        *step("1", "Read", {"file_path": "src/a.py"}, "def parse_line(text): parse_line(MAX_LEN)"),
        *step("2", "Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "MIN_LEN = 1"}, "ok"),
    )
    line = uses["parse_line"]
    assert (line.asked, line.printed, line.given, line.said) == (1, 1, 0, 0)
    assert (line.first, line.last, line.last_own) == (0, 2, -1)
    assert (uses["MIN_LEN"].given, uses["MIN_LEN"].last_own) == (1, 3)
    assert uses["MAX_LEN"].company == 2


def test_names_belong_to_the_file_that_the_agent_wrote_them_into():
    uses = read(
        *step("1", "Bash", {"command": "cd /srv && grep -rn open_store src"}, "src/a.py:3: open_store()"),
        *step("2", "Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": "open_store(1)"}, "ok"),
    )
    assert uses["open_store"].topic.label == "src/a.py"
    assert uses["open_store"].topic.place is NamePlace.CHANGED


def test_the_names_of_arguments_are_not_the_agents():
    uses = read(*step("1", "Edit", {"file_path": "src/a.py", "new_string": "first\nsecond_line"}, "ok"))
    assert "new_string" not in uses
    assert "file_path" not in uses
    assert "second_line" in uses


def test_a_secret_is_no_name():
    uses = read(*step("1", "Bash", {"command": f"export KEY={SECRET}; run_it"}, f"key {SECRET}"))
    assert SECRET not in uses
    assert "run_it" in uses


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("cd /srv && sudo pytest -q tests", "pytest"),
        ("FOO=1 git commit -m x", "git commit"),
        ("/usr/bin/python3 run.py | tee log", "python3"),
        ("cd /srv", ""),
        ("", ""),
    ],
)
def test_a_command_is_named_by_its_program(command, program):
    assert name_program(command) == program


def test_names_come_in_the_order_of_the_text_in_every_process():
    words = [f"zone_{number}" for number in (7, 3, 9, 1, 8, 2)]
    assert list(read(user(" ".join(words)))) == words


@pytest.mark.parametrize(
    "path", ["C:\\deer\\read_file.py", "deer\\src\\tools\\read_file.py", "..\\notes\\src\\read_file.py"]
)
def test_the_folders_of_a_windows_path_are_no_escapes(path):
    given = read(*step("c1", "read", {"file_path": path}, "ok"))
    printed = read(*step("c1", "shell", {"command": "dir"}, f"found {path}\nand more"))
    assert "read_file.py" in given
    assert "read_file.py" in printed


def test_the_lines_that_json_joins_are_parted():
    uses = read(*step("c1", "shell", {"command": "x"}, '{"out": "first_name\\nsecond_name\\tthird_name"}'))
    assert {"first_name", "second_name", "third_name"} <= set(uses)
