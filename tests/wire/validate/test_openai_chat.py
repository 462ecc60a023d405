"""OpenAI Chat Completions: for each rule a list that passes and the smallest change that breaks it."""

from dataclasses import dataclass

import pytest

from midfold.wire.validate import is_waiting, validate

USER = {"role": "user", "content": "Which files are there?"}
SYSTEM = {"role": "system", "content": "You are terse."}
ANSWER = {"role": "assistant", "content": "Two."}


def call(call_id="call_1", name="list_files", arguments="{}", **changes):
    body = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": body, **changes}


def calling(*calls, **changes):
    return {"role": "assistant", "content": None, "tool_calls": list(calls) or [call()], **changes}


def result(call_id="call_1", content="a.py b.py"):
    return {"role": "tool", "tool_call_id": call_id, "content": content}


LOOP = [USER, calling(), result(), ANSWER]


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
    Rule("OC1", [], None, [USER]),
    Rule("OC2", [USER, {"role": "robot", "content": "Hi"}], 1, [USER, ANSWER], "unknown role"),
    Rule("OC2", [USER, {"content": "Hi"}], 1, [USER, ANSWER], "no role"),
    Rule("OC2", [USER, "Hi"], 1, [USER, ANSWER], "no object"),
    Rule("OC3", [{"role": "user", "content": None}], 0, [{"role": "user", "content": ""}], "null"),
    Rule("OC3", [{"role": "user", "content": []}], 0, [USER], "no parts"),
    Rule(
        "OC3",
        [{"role": "user", "content": [{"text": "Hi"}]}],
        0,
        [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
        "part without type",
    ),
    Rule("OC3", [USER, calling(), result(content=None)], 2, [USER, calling(), result()], "null result"),
    Rule("OC4", [USER, {"role": "assistant", "content": None}], 1, [USER, ANSWER], "says nothing"),
    Rule("OC4", [USER, {"role": "assistant", "content": 5}], 1, [USER, calling(content=""), result()]),
    Rule(
        "OC4",
        [USER, {"role": "assistant", "content": None, "refusal": None}],
        1,
        [USER, {"role": "assistant", "content": None, "refusal": "No."}],
        "refusal",
    ),
    Rule("OC5", [USER, result()], 1, LOOP, "nobody called"),
    Rule("OC5", [*LOOP, result("call_2")], 4, LOOP, "the group is closed"),
    Rule("OC5", [USER, calling(), result(), result(None)], 3, LOOP, "no id"),
    Rule("OC6", [USER, {**ANSWER, "tool_calls": []}], 1, [USER, {**ANSWER, "tool_calls": None}]),
    Rule("OC7", [USER, calling(call(None))], 1, LOOP, "no id"),
    Rule("OC7", [USER, calling(call(type="tool")), result()], 1, LOOP, "odd type"),
    Rule("OC7", [USER, calling(call(function=None)), result()], 1, LOOP, "no function"),
    Rule("OC7", [USER, calling("list_files")], 1, LOOP, "no object"),
    Rule(
        "OC8",
        [USER, calling(call("c" * 65)), result("c" * 65)],
        1,
        [USER, calling(call("c" * 64)), result("c" * 64)],
    ),
    Rule(
        "OC10",
        [USER, calling(call(name="list files")), result()],
        1,
        [USER, calling(call(name="x" * 64)), result()],
    ),
    Rule("OC10", [USER, calling(call(name="x" * 65)), result()], 1, LOOP, "too long"),
    Rule("OC11", [USER, calling(call(arguments={"path": "."})), result()], 1, LOOP),
    Rule("OC13", [USER, calling(), result(), result()], 3, LOOP),
    Rule("OC14", [USER, calling(), ANSWER], 1, LOOP, "a hole"),
    Rule("OC14", [USER, calling(), SYSTEM], 1, LOOP, "a system message instead"),
    Rule("OC14", [USER, calling()], 1, LOOP, "open at the end"),
    Rule(
        "OC14",
        [USER, calling(call(), call("call_2")), result("call_2"), USER],
        1,
        [USER, calling(call(), call("call_2")), result("call_2"), result(), USER],
        "one of two",
    ),
]


@pytest.mark.parametrize("rule", REFUSED, ids=str)
def test_each_rule_names_its_smallest_break_and_nothing_else(rule):
    assert validate(rule.legal, dialect="openai_chat") == []
    faults = validate(rule.broken, dialect="openai_chat")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [(rule.code, rule.at, "error")]


def test_oc9_two_calls_of_one_message_must_not_share_an_id():
    messages = [USER, calling(call(), call()), result()]
    assert [(f.code, f.index) for f in validate(messages, dialect="openai_chat")] == [("OC9", 1)]


def test_oc12_tools_are_counted():
    tools = [{"type": "function", "function": {"name": f"tool_{n}"}} for n in range(129)]
    assert validate([USER], dialect="openai_chat", tools=tools[:128]) == []
    assert [(f.code, f.index) for f in validate([USER], dialect="openai_chat", tools=tools)] == [
        ("OC12", None)
    ]


ACCEPTED = {
    "OC2 the legacy function role": [USER, {"role": "function", "name": "ls", "content": "a.py"}],
    "OC7 a call of a custom tool": [
        USER,
        calling({"id": "call_1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}),
        result(),
    ],
    "OC8 an id of 53 characters": [USER, calling(call("c" * 53)), result("c" * 53)],
    "OC9 an id used again in a later message": [*LOOP, USER, calling(), result()],
    "OC11 arguments that are not JSON": [USER, calling(call(arguments="{path:")), result()],
    "OC15 one role twice in a row": [USER, USER, ANSWER, ANSWER],
    "OC15 a system message in the middle": [SYSTEM, USER, SYSTEM, ANSWER],
    "unknown keys and images in results": [
        {**USER, "cache_control": {"type": "ephemeral"}},
        calling(reasoning_content="Look."),
        {
            **result(content=[{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]),
            "is_error": True,
        },
    ],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_the_provider_accepts_is_not_reported(messages):
    assert validate(messages, dialect="openai_chat") == []


ENFORCED = {
    "OC2 the legacy function role": (
        [USER, {"role": "function", "name": "ls", "content": "a.py"}],
        1,
        "warning",
    ),
    "OC8 a long id": ([USER, calling(call("c" * 41)), result("c" * 41)], 1, "warning"),
    "OC9 an id used again": ([*LOOP, USER, calling(), result()], 5, "error"),
    "OC11 arguments that are not JSON": ([USER, calling(call(arguments="{path:")), result()], 1, "error"),
    "OC15 a late system message": ([USER, SYSTEM, ANSWER], 1, "warning"),
    "OC15 one role twice": ([USER, USER, ANSWER], 1, "warning"),
}


@pytest.mark.parametrize("rule", ENFORCED)
def test_enforcing_asks_for_more(rule):
    messages, at, severity = ENFORCED[rule]
    faults = validate(messages, dialect="openai_chat", mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [
        (rule.split()[0], at, severity)
    ]


def test_an_ordinary_tool_loop_passes_when_enforced():
    messages = [SYSTEM, USER, calling(call(), call("call_2")), result("call_2"), result(), ANSWER, USER]
    assert validate(messages, dialect="openai_chat", mode="enforce") == []


def test_a_call_open_at_the_end_is_told_from_a_hole():
    [hole] = validate([USER, calling(), ANSWER], dialect="openai_chat")
    [waiting] = validate([USER, calling()], dialect="openai_chat")
    assert (is_waiting(hole), is_waiting(waiting)) == (False, True)
    assert str(waiting) == "OC14 in message 1: the call 'call_1' is still waiting for its result"


def test_a_reason_stays_short_whatever_it_quotes():
    faults = validate([USER, calling(call("c" * 5000))], dialect="openai_chat")
    assert all(len(fault.reason) < 200 for fault in faults)
