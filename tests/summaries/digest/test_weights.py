"""Newer things, things in use and broken things weigh more than others of their kind."""

import json
from time import process_time

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.summaries.digest.composition import Importance, weigh
from midfold.summaries.ledger import Deed, Ledger
from midfold.summaries.ledger.tool_runs import read_act
from midfold.summaries.ledger.words import decides


def deed(index=5, command="make", *, has_failed=False):
    call = ToolCall("c", "bash", json.dumps({"command": command}))
    return Deed(index, read_act(call, ToolResult("c", "said", has_failed), str))


def words(sentence, index=5):
    return Importance(newest=10).of_words(index, decides=decides(sentence))


def test_newer_deeds_and_words_weigh_more():
    importance = Importance(newest=10)
    assert importance.of_deed(deed(9)) > importance.of_deed(deed(1))
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
    ledger = Ledger(deeds=(deed(),))
    importance = weigh(ledger, [Message("assistant", (kept,))], 10)
    used, unused = (deed(command=f"touch src/{name}_file.py") for name in "ab")
    assert importance.of_deed(used) > importance.of_deed(unused)


def test_what_is_broken_weighs_more_than_what_was_mended():
    ledger = Ledger(
        deeds=(
            deed(1, "a", has_failed=True),
            deed(1, "b"),
            deed(2, "c", has_failed=True),
            deed(3, "c"),
        )
    )
    importance = weigh(ledger, [], 1)
    open_failure, mended = importance.of_deed(ledger.deeds[0]), importance.of_deed(ledger.deeds[2])
    assert open_failure > importance.of_deed(deed(4, "z")) > mended


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
    message = Message("user", (Text(piece * (200_000 // len(piece))),))
    start = process_time()
    weigh(Ledger(), [message] * 5, 1)
    assert process_time() - start < 0.5


def test_nothing_weighs_nothing_out():
    assert weigh(Ledger(), [], 0).of_deed(deed()) > 0
