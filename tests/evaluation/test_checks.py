"""Nothing made up, nothing broken."""

import pytest

from midfold.evaluation.checks import find_inventions, find_problems
from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.texts import index_source
from midfold.messages import Message, Text
from midfold.wire import Request, parse

SOURCE = index_source([Message("user", (Text("ran src/app/main.py at 4f2a9c1: 1234 of 2,000 in OPS-311"),))])
ITEMS = [
    {"role": "user", "content": "Do the first thing"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "a", "content": "src"},
    {"role": "assistant", "content": "Done."},
    {"role": "user", "content": "Do the second thing"},
]


@pytest.mark.parametrize(
    "summary",
    [
        "- [17] src/app/main.py at 4f2a9c1",
        "12. 1,234 of 2000",
        "- a result [… 5,220 characters cut …]",
        "- read 48 lines, 3,021 characters",
        "- OPS-311",
        "2–148, 151–160 are folded",
        "- Edit [3, …, 33, 41, 45]: it was edited",
    ],
)
def test_what_the_source_said_and_the_summary_counts_is_no_invention(summary):
    assert find_inventions(summary, SOURCE) == []


@pytest.mark.parametrize("made_up", ["src/app/other.py", "4f2a9c2", "1235", "OPS-312", "98.6"])
def test_numbers_paths_and_ids_that_nobody_said_are_inventions(made_up):
    assert find_inventions(f"- it was {made_up}, and OPS-311", SOURCE) == [made_up]


def test_no_summary_invents_nothing():
    assert find_inventions(None, SOURCE) == []


def problems(items):
    conversation = make_conversation("c", Request("openai_chat", ITEMS), [])
    return find_problems(conversation, items, parse(items, "openai_chat"), None)


def test_the_list_itself_is_sound():
    assert problems(ITEMS) == ()


def test_a_result_without_its_call_is_named():
    assert "1 results lost their calls" in problems([ITEMS[0], *ITEMS[2:]])


def test_a_call_without_its_result_is_named():
    assert "1 calls lost their results" in problems([*ITEMS[:2], *ITEMS[3:]])


def test_the_newest_request_has_to_be_the_last():
    assert problems(ITEMS[:-1]) == ("the newest request is not the last one, word for word",)


def test_a_path_that_a_folder_and_a_file_make_is_no_invention():
    source = index_source([Message("user", (Text("cd /srv/harbour && touch quay.py"),))])
    assert find_inventions("- /srv/harbour/quay.py (changed)", source) == []
    assert find_inventions("- /srv/harbour/crane.py (changed)", source) == ["/srv/harbour/crane.py"]


def test_a_list_of_messages_behind_a_list_of_files_invents_no_numbers():
    said = "- [12] It leaks. → changed quay.py, … [14, …, 174, 176, 178]"
    source = index_source([Message("user", (Text("quay.py: It leaks."),))])
    assert find_inventions(said, source) == []
