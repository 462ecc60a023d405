"""Newer things, things in use and broken things weigh more than others of their kind."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.digest.composition import WeightFactors, find_factors
from midfold.summaries.ledger import Action, Ledger
from midfold.summaries.ledger.sentences import decides
from midfold.summaries.ledger.tool_runs import read_tool_run
from support.pace import is_linear


def action(index=5, command="make", *, has_failed=False):
    call = ToolCall("c", "bash", json.dumps({"command": command}))
    return Action(index, read_tool_run(call, ToolResult("c", "said", has_failed), str))


def weighed(*about):
    made = action(*about)
    return made.index, made.run.names


def words(sentence, index=5):
    return WeightFactors(newest=10).of_words(index, decides=decides(sentence))


def test_newer_actions_and_words_weigh_more():
    factors = WeightFactors(newest=10)
    assert factors.of_action(*weighed(9)) > factors.of_action(*weighed(1))
    assert words("It is blue.", 9) > words("It is blue.", 1)


@pytest.mark.parametrize(
    "kept",
    [
        Text("Look at src/a_file.py again"),
        ToolCall("c", "read", '{"path": "src/a_file.py"}'),
        ToolResult("c", "src/a_file.py:3: x"),
    ],
)
def test_what_the_messages_that_stay_speak_of_weighs_more(kept):
    ledger = Ledger(actions=(action(),))
    factors = find_factors(ledger, [Message("assistant", (kept,))], 10)
    used, unused = (action(command=f"touch src/{name}_file.py") for name in "ab")
    assert factors.of_action(used.index, used.run.names) > factors.of_action(unused.index, unused.run.names)


def test_what_is_broken_weighs_more_than_what_was_fixed():
    ledger = Ledger(
        actions=(
            action(1, "a", has_failed=True),
            action(1, "b"),
            action(2, "c", has_failed=True),
            action(3, "c"),
        )
    )
    factors = find_factors(ledger, [], 1)
    open_failure, fixed = (factors.of_action(it.index, it.run.names) for it in ledger.actions[::2])
    assert open_failure > factors.of_action(*weighed(4, "z")) > fixed


@pytest.mark.parametrize(
    "sentence",
    [
        "We decided on tabs.",
        "It fails because the cache is cold.",
        "The root cause is a race.",
        "Wir nehmen stattdessen Redis.",
        "Je le garde parce que c'est simple.",
        "Lo hago así porque es simple.",
        "Я решил взять SQLite.",
        "决定改用 SQLite。",
        "理由は速度です。",
        "속도 때문에 바꿨어요.",
    ],
)
def test_decisions_and_reasons_weigh_more_in_any_language(sentence):
    assert words(sentence) > words("It is blue.")


@pytest.mark.parametrize("piece", ["a", "-", "a.", "/", "a/", "_", "é", "字", ". ", "aA"])
def test_a_hostile_message_is_looked_through_in_no_time(piece):
    def look(size):
        message = Message("user", (Text(piece * (size // len(piece))),))
        find_factors(Ledger(), [message] * 5, 1)

    assert is_linear(look, 200_000)


def test_nothing_weighs_nothing_out():
    assert find_factors(Ledger(), [], 0).of_action(*weighed()) > 0
