"""The built-in summariser: deterministic, within budget, the user's words first."""

from midfold.compression.digest import digest
from midfold.compression.policy import Template
from midfold.compression.results import Span
from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.testing import conversation


def words(text):
    return len(text.split())


def write(messages, budget=5_000, **options):
    span = Span(0, len(messages))
    return digest(messages, [span], pair_calls(messages), count_text=words, budget_tokens=budget, **options)


SESSION = [
    Message("user", (Text("Never touch the migrations. Fix the flaky tariff test."),)),
    Message(
        "assistant",
        (
            Text("I will use UTC because the meters do."),
            ToolCall("a", "terminal", '{"command": "pytest -q"}'),
        ),
    ),
    Message(
        "tool", (ToolResult("a", "E   AssertionError: 2.40 != 2.50\n1 failed, 40 passed\nexit code: 1"),)
    ),
    Message("assistant", (ToolCall("b", "write_file", '{"path": "src/tariff.py", "content": "x = 1"}'),)),
    Message("tool", (ToolResult("b", "ok"),)),
]


def test_it_says_what_was_asked_done_met_and_decided():
    text = write(SESSION)
    for said in ("Never touch the migrations.", "pytest -q", "2.40 != 2.50", "src/tariff.py", "UTC because"):
        assert said in text


def test_entries_carry_the_index_of_their_message():
    assert "- [0] user:" in write(SESSION)


def test_it_stays_within_its_budget_and_fills_it():
    messages = conversation(turns=40, result_chars=3_000)
    for budget in (50, 400, 3_000):
        size = words(write(messages, budget))
        assert budget * 0.9 <= size <= budget


def test_the_user_s_words_are_the_last_to_go():
    messages = [*SESSION, *conversation(turns=30, result_chars=2_000)]
    assert "Never touch the migrations." in write(messages, 900)


def test_it_is_the_same_every_time():
    messages = conversation(turns=20)
    assert write(messages, 700) == write(messages, 700)


def test_headings_follow_the_template():
    assert "## Completed Actions" in write(SESSION)
    assert "## Progress" in write(SESSION, template=Template.PROGRESS)
    assert "## Active Files" in write(SESSION, template=Template.BRIEF)


def test_lines_of_an_earlier_summary_are_carried_along():
    earlier = "## Active Task\nold task\n\n## Goal\n- the first goal\n\n## Blocked\n- port 8437 in use"
    text = write(SESSION, previous=earlier)
    assert "the first goal" in text
    assert "port 8437 in use" in text
    assert "old task" not in text


def test_nothing_folded_says_nothing():
    assert digest([], [], pair_calls([]), count_text=words, budget_tokens=100) == ""
