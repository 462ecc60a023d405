"""Anthropic Messages: for each rule a list that passes and the smallest change that breaks it."""

import base64
from dataclasses import dataclass

import pytest

from midfold.wire.validate import is_waiting, validate

USER = {"role": "user", "content": "Which files are there?"}
ANSWER = {"role": "assistant", "content": "Two."}
SYSTEM = {"role": "system", "content": "Be terse."}
TOO_LONG = "x" * (32 * 1024**2 + 1)
MARK = {"cache_control": {"type": "ephemeral"}}


def text(words="Look.", **changes):
    return {"type": "text", "text": words, **changes}


def call(call_id="toolu_1", **changes):
    return {"type": "tool_use", "id": call_id, "name": "list_files", "input": {}, **changes}


def result(call_id="toolu_1", content="a.py b.py", **changes):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **changes}


def thinking(**changes):
    return {"type": "thinking", "thinking": "", "signature": "c2ln", **changes}


def server_call(call_id="srvtoolu_1"):
    return {"type": "server_tool_use", "id": call_id, "name": "web_search", "input": {}}


def server_result(call_id="srvtoolu_1"):
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": []}


def image(data):
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def png(width, height):
    header = b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + width.to_bytes(4) + height.to_bytes(4)
    return base64.b64encode(header + bytes(100)).decode()


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


LOOP = [USER, assistant(text(), call()), user(result()), ANSWER]


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
    Rule("AN1", [], None, [USER]),
    Rule("AN2", [ANSWER, USER], 0, [USER, ANSWER]),
    Rule("AN3", [USER, {"role": "tool", "content": "Hi"}], 1, [USER, ANSWER], "unknown role"),
    Rule("AN3", [SYSTEM, USER], 0, [USER, SYSTEM], "system prompt as a message"),
    Rule("AN3", [{**USER, "name": "Ada"}], 0, [USER], "name"),
    Rule("AN3", [USER, "Hi"], 1, [USER], "no object"),
    Rule(
        "AN4",
        [USER, {"role": "assistant", "content": ""}, USER],
        1,
        [USER, {"role": "assistant", "content": ""}],
    ),
    Rule("AN4", [{"role": "user", "content": []}], 0, [USER, assistant()], "no blocks"),
    Rule("AN4", [{"role": "user"}], 0, [USER], "no content"),
    Rule("AN4", [user(text(), "Hi")], 0, [user(text())], "block that is no object"),
    Rule("AN4", [USER, {"role": "system", "content": ""}], 1, [USER, SYSTEM], "empty system entry"),
    Rule("AN5", [user(text(""))], 0, [user(text("?"))], "empty"),
    Rule("AN5", [{"role": "user", "content": " \n"}], 0, [USER], "white space"),
    Rule("AN5", [USER, assistant(text(""), call()), user(result())], 1, LOOP, "beside a call"),
    Rule("AN6", [user(result())], 0, LOOP, "nobody called"),
    Rule("AN6", [*LOOP, user(result())], 4, LOOP, "called too long ago"),
    Rule("AN6", [USER, assistant(call()), user(result(), result(None))], 2, LOOP, "no id"),
    Rule("AN7", [USER, assistant(call()), USER, ANSWER], 1, LOOP, "a hole"),
    Rule("AN7", [USER, assistant(call())], 1, LOOP, "open at the end"),
    Rule(
        "AN7",
        [USER, assistant(call(), call("toolu_2")), user(result("toolu_2"))],
        1,
        [USER, assistant(call(), call("toolu_2")), user(result("toolu_2"), result())],
        "one of two",
    ),
    Rule("AN8", [USER, assistant(call()), user(result(), result())], 2, LOOP),
    Rule("AN9", [USER, assistant(thinking(**MARK), text())], 1, [USER, assistant(thinking(), text(**MARK))]),
    Rule(
        "AN9",
        [USER, assistant(call()), user(result(content=[text("", **MARK)]))],
        2,
        [USER, assistant(call()), user(result(content=[text(**MARK)]))],
        "inside a result",
    ),
    Rule("AN10", [USER, ANSWER, user(call())], 2, LOOP, "call"),
    Rule("AN10", [USER, assistant(result())], 1, LOOP, "result"),
    Rule("AN11", [USER, assistant(call("a.b:0")), user(result("a.b:0"))], 1, LOOP),
    Rule("AN11", [USER, assistant(call("")), user(result(""))], 1, LOOP, "empty"),
    Rule(
        "AN12",
        [*LOOP, USER, assistant(call()), user(result())],
        5,
        [*LOOP, USER, assistant(call("toolu_2")), user(result("toolu_2"))],
    ),
    Rule("AN13", [USER, assistant(call(input="{}")), user(result())], 1, LOOP),
    Rule(
        "AN14",
        [USER, assistant(call(name="x" * 129)), user(result())],
        1,
        [USER, assistant(call(name="x" * 128)), user(result())],
    ),
    Rule(
        "AN15",
        [USER, assistant(call()), user(text(), result())],
        2,
        [USER, assistant(call()), user(result(), text())],
    ),
    Rule("AN15", [USER, assistant(call()), USER, user(result())], 3, LOOP, "in the message before"),
    Rule(
        "AN16", [USER, assistant(thinking(signature=None), text())], 1, [USER, assistant(thinking(), text())]
    ),
    Rule("AN16", [USER, assistant(thinking(thinking=None), text())], 1, LOOP, "no thinking"),
    Rule("AN17", [USER, assistant(text(), thinking())], 1, [USER, assistant(thinking(), text())]),
    Rule("AN19", [user(*[text(**MARK)] * 5)], None, [user(*[text(**MARK)] * 4)]),
    Rule(
        "AN23",
        [USER, assistant(server_result(), text())],
        1,
        [USER, assistant(server_call(), server_result(), text())],
        "no call",
    ),
    Rule(
        "AN23",
        [USER, assistant(server_call(), text()), USER],
        1,
        [USER, assistant(server_call())],
        "no result",
    ),
    Rule("AN24", [user(image("A" * (5 * 1024**2 + 4)))], 0, [user(image("A" * 5 * 1024**2))], "bytes"),
    Rule("AN24", [user(image(png(40, 8_001)))], 0, [user(image(png(40, 8_000)))], "pixels"),
    Rule(
        "AN24",
        [user(image(png(2_001, 40)), *[image(png(9, 9))] * 20)],
        0,
        [user(image(png(2_001, 40)), *[image(png(9, 9))] * 19)],
        "pixels of many",
    ),
    Rule("AN24", [user(text(TOO_LONG))], None, [user(text("x"))], "request"),
    Rule("AN24", [USER, assistant(call()), user(result(content=TOO_LONG))], None, LOOP, "result"),
    Rule(
        "AN24", [USER, assistant(call()), user(result(content=[text(TOO_LONG)]))], None, LOOP, "result blocks"
    ),
    Rule("AN24", [USER, assistant(call(input={"files": [TOO_LONG]})), user(result())], None, LOOP, "input"),
]


@pytest.mark.parametrize("rule", REFUSED, ids=str)
def test_each_rule_names_its_smallest_break_and_nothing_else(rule):
    assert validate(rule.legal, dialect="anthropic") == []
    faults = validate(rule.broken, dialect="anthropic")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [(rule.code, rule.at, "error")]


def test_an9_and_an5_both_name_a_marker_on_empty_text():
    faults = validate([user(text("", **MARK))], dialect="anthropic")
    assert sorted(fault.code for fault in faults) == ["AN5", "AN9"]


def test_an19_markers_are_counted_over_tools_system_and_messages():
    messages = [user(text(**MARK)), assistant(call(**MARK)), user(result(content=[text(**MARK)]))]
    tools, system = [{"name": "list_files", **MARK}], [text(**MARK)]
    assert validate(messages, dialect="anthropic", tools=tools) == []
    faults = validate(messages, dialect="anthropic", tools=tools, system=system)
    assert [(fault.code, fault.index) for fault in faults] == [("AN19", None)]


def test_an5_and_an9_hold_in_the_system_prompt_too():
    faults = validate([USER], dialect="anthropic", system=[text(" ", **MARK)])
    assert sorted((fault.code, fault.index) for fault in faults) == [("AN5", None), ("AN9", None)]
    assert validate([USER], dialect="anthropic", system="") == []


def test_an20_a_history_of_calls_without_tools_is_refused_by_bedrock_alone():
    assert validate(LOOP, dialect="anthropic", tools=[]) == []
    assert validate(LOOP, dialect="anthropic", tools=None, profile="bedrock") == []
    assert validate([USER, ANSWER], dialect="anthropic", tools=[], profile="bedrock") == []
    faults = validate(LOOP, dialect="anthropic", tools=[], profile="bedrock")
    assert [fault.code for fault in faults] == ["AN20"]


def test_an20_warns_of_missing_tools_when_enforced():
    faults = validate([*LOOP, USER], dialect="anthropic", tools=[], mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [("AN20", None, "warning")]


RUNNING = [USER, assistant(call()), user(result())]
THOUGHT = [USER, assistant(thinking(), call()), user(result())]
UNTHOUGHT_LOOPS = {
    "the loop that runs": (RUNNING, [("AN18", 1)]),
    "a loop that is over": ([*RUNNING, ANSWER, USER], []),
    "after a loop that is over": (
        [*RUNNING, ANSWER, USER, assistant(call("b")), user(result("b"))],
        [("AN18", 5)],
    ),
    "begun with thinking": (THOUGHT, []),
    "begun with sealed thinking": (
        [USER, assistant({"type": "redacted_thinking", "data": "x"}, call()), user(result())],
        [],
    ),
    "going on without": ([*THOUGHT, assistant(call("b")), user(result("b"))], []),
    "no loop at all": ([USER, ANSWER, USER], []),
}


@pytest.mark.parametrize("case", UNTHOUGHT_LOOPS)
def test_an18_with_thinking_on_the_running_loop_begins_with_it(case):
    messages, expected = UNTHOUGHT_LOOPS[case]
    assert [(f.code, f.index) for f in validate(messages, dialect="anthropic", thinking=True)] == expected
    assert validate(messages, dialect="anthropic") == []


ACCEPTED = {
    "AN3 system entries of a client": [USER, SYSTEM, ANSWER, USER, SYSTEM],
    "AN3 options alone, anywhere": [{"role": "system", "content": [], "output_config": {}}, USER],
    "AN3 a system entry between call and result": [USER, assistant(call()), SYSTEM, user(result())],
    "AN6 results spread over two messages": [
        USER,
        assistant(call(), call("toolu_2")),
        user(result()),
        user(result("toolu_2")),
    ],
    "AN7 calls spread over two messages": [
        USER,
        assistant(call()),
        assistant(call("toolu_2")),
        user(result(), result("toolu_2")),
    ],
    "AN11 an id of 70 characters": [USER, assistant(call("c" * 70)), user(result("c" * 70))],
    "AN21 an answer begun": [USER, {"role": "assistant", "content": "Two: "}],
    "AN23 a client tool run for a server tool": [
        USER,
        assistant(server_call(), call()),
        user(result()),
        assistant(server_result(), text()),
        USER,
    ],
    "AN25 one role twice": [USER, USER, ANSWER, ANSWER, USER],
    "blocks of kinds unknown here": [
        user({"type": "from_tomorrow"}),
        assistant({"type": "compaction", "content": None}),
    ],
    "an image by reference": [user({"type": "image", "source": {"type": "url", "url": "https://a/b.png"}})],
    "an image whose data is odd": [user(image("é"))],
    "an empty result": [USER, assistant(call()), user(result(content=""))],
    "a result without content": [
        USER,
        assistant(call()),
        user({"type": "tool_result", "tool_use_id": "toolu_1"}),
    ],
}


@pytest.mark.parametrize("messages", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_the_provider_accepts_is_not_reported(messages):
    assert validate(messages, dialect="anthropic") == []


ENFORCED = {
    "AN3 a system entry": ([USER, SYSTEM, ANSWER, USER], 1, "warning"),
    "AN3 a system entry after the answer": ([USER, ANSWER, SYSTEM, USER], 2, "error"),
    "AN11 a long id": ([USER, assistant(call("c" * 70)), user(result("c" * 70))], 1, "warning"),
    "AN21 an answer begun": ([USER, ANSWER], 1, "warning"),
    "AN24 many images": ([user(*[image("")] * 101)], None, "warning"),
    "AN25 one role twice": ([USER, USER], 1, "error"),
}


@pytest.mark.parametrize("rule", ENFORCED)
def test_enforcing_asks_for_more(rule):
    messages, at, severity = ENFORCED[rule]
    faults = validate(messages, dialect="anthropic", mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [
        (rule.split()[0], at, severity)
    ]


def test_an3_a_system_entry_may_follow_a_tool_of_the_server_when_enforced():
    messages = [USER, assistant(server_call(), server_result()), SYSTEM, ANSWER, USER]
    faults = validate(messages, dialect="anthropic", mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults if fault.code == "AN3"] == [
        ("AN3", 2, "warning")
    ]


def test_an3_and_an25_both_name_a_system_entry_between_two_user_messages():
    faults = validate([USER, SYSTEM, USER], dialect="anthropic", mode="enforce")
    assert [(fault.code, fault.index, fault.severity) for fault in faults] == [
        ("AN3", 1, "error"),
        ("AN25", 2, "error"),
    ]


def test_an22_warns_of_white_space_at_the_end_of_a_begun_answer():
    faults = validate([USER, {"role": "assistant", "content": "Two: "}], dialect="anthropic", mode="enforce")
    assert [(fault.code, fault.severity) for fault in faults] == [("AN21", "warning"), ("AN22", "warning")]


def test_an_ordinary_tool_loop_passes_when_enforced():
    assert validate([*LOOP, USER], dialect="anthropic", mode="enforce") == []


def test_a_call_open_at_the_end_is_told_from_a_hole():
    [hole] = validate([USER, assistant(call()), USER], dialect="anthropic")
    [waiting] = validate([USER, assistant(call())], dialect="anthropic")
    assert (is_waiting(hole), is_waiting(waiting)) == (False, True)
