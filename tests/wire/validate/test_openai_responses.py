"""OpenAI Responses: for each rule a list that passes and the smallest change that breaks it."""

from dataclasses import dataclass

import pytest

from midfold.wire.validate import continues_stored_history, is_waiting, validate

USER = {"role": "user", "content": "Which files are there?"}
ANSWER = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "Two."}],
}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}


def call(call_id="call_1", **changes):
    return {"type": "function_call", "call_id": call_id, "name": "list_files", "arguments": "{}", **changes}


def output(call_id="call_1", **changes):
    return {"type": "function_call_output", "call_id": call_id, "output": "a.py b.py", **changes}


LOOP = [USER, REASONING, call(id="fc_1"), output(), ANSWER]


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    broken: list
    at: int | None
    legal: list
    about: str = ""

    def __str__(self):
        return f"{self.code}-{self.about}" if self.about else self.code


REFUSED = [
    Rule("OR1", [USER, output()], 1, [USER, call(), output()], "no call"),
    Rule(
        "OR1", [USER, call(), output(), output(None)], 3, [USER, call(), output(), output(None, name="clock")]
    ),
    Rule("OR2", [USER, call(), USER], 1, [USER, call(), USER, output()], "a hole"),
    Rule("OR2", [USER, call()], 1, LOOP, "open at the end"),
    Rule(
        "OR2",
        [USER, call(), call("call_2"), output("call_2"), call("call_3"), output("call_3")],
        1,
        [USER, call(), call("call_2"), output("call_2"), output(), call("call_3"), output("call_3")],
        "one of two",
    ),
    Rule("OR3", [USER, REASONING, USER], 1, [USER, REASONING, ANSWER, USER], "a question follows"),
    Rule("OR3", [USER, REASONING], 1, [USER, {"type": "reasoning", "summary": []}], "nothing follows"),
    Rule(
        "OR3",
        [USER, call(), REASONING, output()],
        2,
        [USER, REASONING, {**REASONING, "id": "rs_2"}, call(), output()],
        "an output follows",
    ),
    Rule("OR4", [USER, call(id="call_1"), output()], 1, [USER, call(id="fc_1"), output()], "call"),
    Rule("OR4", [USER, {**ANSWER, "id": "item_1"}], 1, [USER, ANSWER], "message"),
    Rule("OR4", [USER, {**REASONING, "id": "item_1"}, ANSWER], 1, [USER, REASONING, ANSWER], "reasoning"),
    Rule("OR4", [USER, {**ANSWER, "id": "msg_" + "x" * 61}], 1, [USER, {**ANSWER, "id": "msg_" + "x" * 60}]),
    Rule("OR4", [USER, ANSWER, USER, ANSWER], 3, [USER, ANSWER, USER, {**ANSWER, "id": "msg_2"}], "twice"),
    Rule(
        "OR4",
        [USER, call("c" * 65), output("c" * 65)],
        1,
        [USER, call("c" * 64), output("c" * 64)],
        "call id",
    ),
    Rule("OR6", [], None, [USER]),
    Rule("OR6", [USER, "Hi"], 1, [USER], "no object"),
    Rule("OR6", [USER, {"content": "Hi"}], 1, [USER], "neither type nor role"),
    Rule("OR6", [USER, {"role": "tool", "content": "Hi"}], 1, [USER], "unknown role"),
    Rule("OR6", [USER, {"role": "user", "content": None}], 1, [USER], "no content"),
    Rule("OR6", [USER, call(arguments={}), output()], 1, LOOP, "arguments"),
    Rule("OR6", [USER, call(), output(output=None)], 2, LOOP, "no output"),
]


@pytest.mark.parametrize("rule", REFUSED, ids=str)
def test_each_rule_names_its_smallest_break_and_nothing_else(rule):
    assert validate(rule.legal, dialect="openai_responses") == []
    faults = validate(rule.broken, dialect="openai_responses")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [(rule.code, rule.at, "error")]


ACCEPTED = {
    "plain text": "Which files are there?",
    "custom tools": [
        USER,
        {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "select 1", "id": "ctc_1"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "1"},
    ],
    "OR1 a call that the server keeps": [{"type": "item_reference", "id": "fc_1"}, output()],
    "OR1 a reference without a type": [{"id": "fc_1"}, output()],
    "OR1 a shell call answered like a function": [
        USER,
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "action": {}, "status": "completed"},
        output(),
    ],
    "OR1 a call that a compaction holds": [
        USER,
        {"type": "compaction", "encrypted_content": "gAAA"},
        output(),
        ANSWER,
    ],
    "OR2 an output that a compaction holds": [
        USER,
        call(),
        {"type": "compaction", "encrypted_content": "gAAA"},
        USER,
    ],
    "items of types unknown here": [
        USER,
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "from_tomorrow"},
    ],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_the_provider_accepts_is_not_reported(messages):
    assert validate(messages, dialect="openai_responses") == []


def test_an_output_before_a_compaction_still_needs_its_call():
    faults = validate(
        [output(), {"type": "compaction", "encrypted_content": "gAAA"}], dialect="openai_responses"
    )
    assert [(fault.code, fault.index) for fault in faults] == [("OR1", 0)]


@pytest.mark.parametrize("body", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}])
def test_a_list_that_continues_what_the_server_keeps_may_answer_calls_from_there(body):
    continues = continues_stored_history(body)
    assert validate([output()], dialect="openai_responses", continues=continues) == []


@pytest.mark.parametrize("body", [None, {}, {"previous_response_id": None, "input": []}])
def test_a_body_by_itself_continues_nothing(body):
    assert not continues_stored_history(body)


ENFORCED = {
    "OR1 answered twice": ([USER, call(), output(), output()], 3, "error"),
    "OR2 an id used again": ([USER, call(), output(), call(), output()], 3, "error"),
    "OR3 perhaps without its reasoning": (
        [*LOOP[:4], USER, call("call_2", id="fc_2"), output("call_2")],
        5,
        "warning",
    ),
    "OR4 a trailing underscore": ([USER, {**ANSWER, "id": "msg_"}], 1, "warning"),
    "OR5 sealed for one organisation": (
        [USER, {**REASONING, "encrypted_content": "gAAA"}, ANSWER],
        1,
        "warning",
    ),
}


@pytest.mark.parametrize("rule", ENFORCED)
def test_enforcing_asks_for_more(rule):
    messages, at, severity = ENFORCED[rule]
    assert validate(messages, dialect="openai_responses") == []
    faults = validate(messages, dialect="openai_responses", mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [(rule[:3], at, severity)]


def test_an_ordinary_tool_loop_passes_when_enforced():
    assert validate(LOOP, dialect="openai_responses", mode="enforce") == []


def test_a_call_open_at_the_end_is_told_from_a_hole():
    [hole] = validate([USER, call(), USER], dialect="openai_responses")
    [waiting] = validate([USER, call(), call("call_2"), output("call_2")], dialect="openai_responses")
    assert (is_waiting(hole), is_waiting(waiting)) == (False, True)
