"""Tools do what they say, stay where they belong, and never hang or flood."""

import asyncio
import os
import stat
import sys
import threading
import time

import pytest

from midfold.agent import Done, ToolFailed, ToolFinished, tool
from midfold.agent.tools import file_search
from midfold.agent.tools.workspace import Workspace
from midfold.errors import ConfigError
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream
from support.pace import LONG_SECONDS


def test_a_file_is_read_by_lines(use, workspace):
    (workspace / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 11)))
    assert use("read_file", path="a.txt", offset=3, limit=2) == (
        "     3\tline 3\n     4\tline 4\n[6 more lines; go on with offset 5]"
    )
    assert use("read_file", path="a.txt", offset="9").endswith("line 10")
    with pytest.raises(ToolFailed, match="has 10 lines"):
        use("read_file", path="a.txt", offset=11)


def test_a_read_never_gives_more_than_fits(use, workspace):
    (workspace / "long.txt").write_text("\n".join(["x" * 100_000, *["word " * 20] * 5_000]))
    shown = use("read_file", path="long.txt")
    assert len(shown) < 51_000
    assert "98,000 more characters in this line" in shown
    assert "more lines; go on with offset" in shown


def test_what_is_no_text_is_refused(use, workspace):
    (workspace / "image").write_bytes(b"\x89PNG\0\0")
    (workspace / "latin").write_bytes(b"caf\xe9")
    os.mkfifo(workspace / "pipe")
    for name in ("image", "latin", "pipe", ".", "missing"):
        with pytest.raises(ToolFailed):
            use("read_file", path=name)


@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/passwd", "~/x", "link/x", "file_link", "sub/../../secret", "", "a\0b", "dangling"],
)
def test_nothing_outside_the_workspace_is_touched(path, use, workspace, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (workspace / "sub").mkdir()
    (workspace / "link").symlink_to(tmp_path)
    (workspace / "file_link").symlink_to(tmp_path / "secret")
    (workspace / "dangling").symlink_to(tmp_path / "new")
    for name, arguments in (
        ("read_file", {}),
        ("write_file", {"content": "overwritten"}),
        ("edit_file", {"old_string": "secret", "new_string": "public"}),
        ("list_files", {}),
        ("search_files", {"pattern": "secret"}),
    ):
        with pytest.raises(ToolFailed):
            use(name, path=path, **arguments)
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (tmp_path / "new").exists()


def test_a_folder_that_becomes_a_link_after_it_was_judged_leads_nowhere(workspace, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_text("secret")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a").write_text("ours")
    bounds = Workspace.open(workspace)
    found, new = bounds.find("sub/a"), bounds.find("sub/new/b")
    (workspace / "sub").rename(workspace / "moved")
    (workspace / "sub").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolFailed):
        bounds.read(found)
    for path in (found, new):
        with pytest.raises(ToolFailed):
            bounds.write(path, b"ESCAPED")
    assert (tmp_path / "outside" / "a").read_text() == "secret"
    assert [each.name for each in (tmp_path / "outside").iterdir()] == ["a"]


def test_a_listing_never_leaves_the_workspace_while_folders_are_swapped(use, workspace, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "ours").write_text("ours")
    done = threading.Event()

    def swap():
        while not done.is_set():
            (workspace / "sub").rename(workspace / "moved")
            (workspace / "sub").symlink_to(tmp_path / "outside")
            (workspace / "sub").unlink()
            (workspace / "moved").rename(workspace / "sub")

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        seen = "".join(_try(use, name, **arguments) for _ in range(100) for name, arguments in LOOKS)
    finally:
        done.set()
        swapping.join()
    assert "secret" not in seen


LOOKS = (
    ("list_files", {"path": "sub"}),
    ("search_files", {"pattern": "e", "path": "sub"}),
    ("read_file", {"path": "sub/secret"}),
)


def _try(use, name, **arguments):
    try:
        return use(name, **arguments)
    except ToolFailed:
        return ""


def test_what_is_no_file_is_not_replaced(use, workspace):
    os.mkfifo(workspace / "pipe")
    (workspace / "folder").mkdir()
    for path in ("pipe", "folder", "."):
        with pytest.raises(ToolFailed, match="is not a file"):
            use("write_file", path=path, content="x")
    assert sorted(each.name for each in workspace.iterdir()) == ["folder", "pipe"]


def test_a_name_as_long_as_the_system_takes_can_be_written(use, workspace):
    use("write_file", path="n" * 250, content="x")
    assert (workspace / ("n" * 250)).read_text() == "x"


def test_an_allowed_folder_and_a_link_inside_are_fine(use, workspace, tmp_path):
    (tmp_path / "allowed").mkdir()
    use("write_file", path=str(tmp_path / "allowed" / "a"), content="one")
    (workspace / "to").symlink_to(tmp_path / "allowed")
    assert "one" in use("read_file", path="to/a")


def test_a_file_is_written_whole_with_the_folders_it_needs(use, workspace):
    assert use("write_file", path="src/new/app.py", content="print(1)\n").startswith(
        "Wrote src/new/app.py: 1 lines"
    )
    made = workspace / "src" / "new" / "app.py"
    made.chmod(0o755)
    assert use("write_file", path="src/new/app.py", content="print(2)\n").startswith("Replaced")
    assert made.read_text() == "print(2)\n"
    assert stat.S_IMODE(made.stat().st_mode) == 0o755
    assert [each.name for each in made.parent.iterdir()] == ["app.py"]


def test_an_edit_must_fit_exactly_once(use, workspace):
    (workspace / "a.py").write_text("x = 1\ny = 1\n")
    with pytest.raises(ToolFailed, match="occurs 2 times"):
        use("edit_file", path="a.py", old_string="= 1", new_string="= 2")
    with pytest.raises(ToolFailed, match="does not occur"):
        use("edit_file", path="a.py", old_string="z", new_string="q")
    assert use("edit_file", path="a.py", old_string="y = 1", new_string="y = 2") == "Edited a.py at line 2."
    use("edit_file", path="a.py", old_string="=", new_string=":=", replace_all="true")
    assert (workspace / "a.py").read_text() == "x := 1\ny := 2\n"


def test_a_piece_over_a_line_end_is_found_in_a_file_from_windows(use, workspace):
    (workspace / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    use("edit_file", path="a.txt", old_string="one\ntwo", new_string="1\n2")
    assert (workspace / "a.txt").read_bytes() == b"1\r\n2\r\nthree\r\n"
    assert use("read_file", path="a.txt").endswith("     2\t2\n     3\tthree")


def test_reading_and_searching_number_lines_alike(use, workspace):
    (workspace / "a.txt").write_bytes("one\x0c\u2028\u0085x\nword\n".encode())
    assert use("search_files", pattern="word") == "a.txt:2: word"
    assert use("read_file", path="a.txt", offset=2, limit=1e30) == "     2\tword"


def test_files_are_listed_and_searched_without_what_nobody_wrote(use, workspace):
    (workspace / "src").mkdir()
    (workspace / "src" / "app.py").write_text("def main():\n    return 42\n")
    (workspace / "notes.md").write_text("The answer is 42.\n")
    (workspace / "node_modules").mkdir()
    (workspace / "node_modules" / "junk.py").write_text("42")
    assert use("list_files").splitlines() == ["notes.md  (18 bytes)", "src/app.py  (26 bytes)"]
    assert use("list_files", pattern="*.py") == "src/app.py  (26 bytes)"
    assert use("search_files", pattern="42").splitlines() == [
        "notes.md:1: The answer is 42.",
        "src/app.py:2: return 42",
    ]
    assert use("search_files", pattern=r"ret\w+ \d", files="*.py", is_regex=True) == "src/app.py:2: return 42"
    assert use("search_files", pattern="nowhere") == "[no match]"


def test_a_hostile_pattern_takes_no_longer_than_another(use, workspace):
    (workspace / "a.txt").write_text("a" * 200_000)
    started = time.monotonic()
    use("search_files", pattern="(a+)+$x", is_regex=True)
    assert time.monotonic() - started < LONG_SECONDS
    with pytest.raises(ToolFailed, match="not a regular expression"):
        use("search_files", pattern="(", is_regex=True)


def test_a_search_is_bounded_and_says_so(use, workspace, monkeypatch):
    (workspace / "a.txt").write_text("word\n" * 1_000)
    found = use("search_files", pattern="word").splitlines()
    assert len(found) == file_search.MAX_MATCHES + 1
    assert found[-1] == "[there may be more than these]"


def leave() -> str:
    """Leave."""
    sys.exit(3)


async def leave_later() -> str:
    """Leave."""
    sys.exit(3)


def press() -> str:
    """Press the keys."""
    raise KeyboardInterrupt


async def press_later() -> str:
    """Press the keys."""
    raise KeyboardInterrupt


def cancel() -> str:
    """Cancel."""
    raise asyncio.CancelledError


async def cancel_later() -> str:
    """Cancel."""
    raise asyncio.CancelledError


def stop() -> str:
    """Stop."""
    raise StopIteration


@pytest.mark.parametrize(
    "function", [leave, leave_later, press, press_later, cancel, cancel_later, stop], ids=lambda f: f.__name__
)
def test_a_tool_that_wants_to_end_everything_only_fails(function, make_agent, play, faults_in):
    script = [Reply("", (ToolCall("c", function.__name__, "{}"),)), Reply("It failed.")]
    with Upstream(script) as up:
        events = play(make_agent(up, tools=[tool(function)]), "Do it.")
        assert faults_in(up) == []
    [result] = [event for event in events if isinstance(event, ToolFinished)]
    assert result.is_error
    assert result.text.startswith("Error: ")
    assert events[-1] == Done("It failed.", 2)


def test_a_function_becomes_a_tool_by_its_annotations_and_docstring():
    @tool(reads=True)
    def weather(city: str, days: int = 1, units: list[str] | None = None) -> str:
        """Say what the weather will be.

        city: where
        days: how many days
            ahead
        """
        return f"{city} {days} {units}"

    assert (weather.name, weather.description, weather.reads) == (
        "weather",
        "Say what the weather will be.",
        True,
    )
    assert weather.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "integer", "description": "how many days ahead"},
            "units": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    assert weather.run({"city": "Bergen", "days": "3", "units": "metric"}) == "Bergen 3 ['metric']"
    assert weather.run({"city": "Bergen", "units": None}) == "Bergen 1 None"
    assert weather.title({"city": "Bergen"}) == "weather Bergen"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "'city' is missing"),
        ({"city": 3}, "'city' must be a string"),
        ({"city": "a", "days": "many"}, "'days' must be a integer"),
        ({"city": "a", "days": 1.5}, "whole number"),
        ({"city": "a", "days": True}, "'days' must be"),
        ({"city": "a", "place": 1}, "no argument 'place'"),
        ({"city": "a", "days": 1e400}, "'days' must be"),
    ],
)
def test_arguments_that_do_not_fit_are_explained(arguments, reason):
    @tool
    def weather(city: str, days: int = 1) -> str:
        """Say what the weather will be."""
        return city

    with pytest.raises(ToolFailed, match=reason):
        weather.run(arguments)


def test_a_type_that_json_does_not_know_is_refused_at_once():
    def strange(when: complex) -> str:
        return ""

    with pytest.raises(ConfigError, match=r"tool\.when"):
        tool(strange)
