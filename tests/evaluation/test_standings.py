"""What notes say of requests and failures is checked against the conversation, without labels."""

import json

import pytest

from midfold.evaluation.answers import why_answered
from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.failures import FailureHistory
from midfold.messages import Message, Text
from midfold.wire import read_request


def say(*turns):
    return [Message(role, (Text(words),)) for role, words in turns]


@pytest.mark.parametrize(
    ("turns", "why"),
    [
        ((("user", "Sort it."), ("assistant", "Sorted."), ("user", "Next.")), "answered at [1]"),
        ((("user", "Sort it."), ("assistant", "Sorted.")), "answered at [1]"),
        ((("user", "Sort it."), ("assistant", "By date or by name?"), ("user", "Name.")), None),
        ((("user", "Sort it."), ("user", "Now, please.")), None),
        ((("user", "Sort it."),), None),
    ],
)
def test_a_request_is_answered_by_last_words_that_ask_nothing_back(turns, why):
    assert why_answered(say(*turns), 0) == why


def runs(*pairs):
    items = [{"role": "user", "content": "Mend it."}]
    for number, (command, output) in enumerate(pairs):
        call = {"name": "bash", "arguments": json.dumps({"command": command})}
        made = {"id": f"c{number}", "type": "function", "function": call}
        items.append({"role": "assistant", "content": None, "tool_calls": [made]})
        items.append({"role": "tool", "tool_call_id": f"c{number}", "content": output})
    return FailureHistory(make_conversation("c", read_request(items), ()))


FAILED = ("cd /a && cargo clippy", "error: unused variable")


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (("cargo clippy -- -D warnings", "Finished"), None),
        (("cargo clippy", "error: unused import"), "failed as well"),
        (("npm test", "ok"), "runs something else"),
    ],
)
def test_a_failure_is_settled_only_by_a_good_run_of_the_same_program(later, why):
    found = runs(FAILED, later).why_unsettled((1,), 3)
    assert found is None if why is None else why in found


def test_a_failure_is_not_settled_by_words():
    assert runs(FAILED).why_unsettled((1,), 0) == "[0] runs nothing"
