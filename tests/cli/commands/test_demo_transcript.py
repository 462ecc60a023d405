"""The session that `midfold demo` folds: legal, long, and with facts that only its middle holds."""

import json
from importlib.resources import files

import pytest

from midfold.messages import Media, Reasoning, Text, ToolCall, ToolResult
from midfold.tokens import TokenCounter
from midfold.transcripts import decode_transcript
from midfold.wire import parse
from midfold.wire.validate import validate

DATA = files("midfold.cli") / "data"
PACKED = (DATA / "demo.json.gz").read_bytes()
FACTS = json.loads((DATA / "demo_facts.json").read_text("utf-8"))
HEAD_MESSAGES = 4
TAIL_MESSAGES = 30


@pytest.fixture(scope="module")
def request_object():
    return decode_transcript(PACKED, source="demo.json.gz").request


@pytest.fixture(scope="module")
def messages(request_object):
    return parse(request_object.messages, request_object.dialect)


@pytest.fixture(scope="module")
def words(messages):
    return ["\n".join(_words(part) for part in message.parts) for message in messages]


def _words(part):
    match part:
        case Text(text) | Reasoning(text):
            return text
        case ToolCall(_, _, arguments):
            return "\n".join([arguments, *_strings(json.loads(arguments))])
        case ToolResult(_, text):
            return text
        case _:
            return ""


def _strings(value):
    """Every text inside a JSON value, without the escapes that JSON puts into it."""
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for child in children for text in _strings(child)]


def test_a_provider_would_take_it(request_object):
    faults = validate(
        request_object.messages, dialect="openai_chat", tools=request_object.tools, mode="enforce"
    )
    assert faults == []


def test_it_is_as_long_as_a_full_afternoon(request_object, messages):
    assert 320 <= len(messages) <= 420
    assert 300_000 <= sum(map(TokenCounter(request_object.model), messages)) <= 420_000


def test_it_stays_small_on_disk_and_packs_the_same_everywhere():
    assert len(PACKED) <= 350_000
    assert PACKED[4:8] == bytes(4), "the time in the gzip header is not zero"


def test_the_user_speaks_several_times_and_last(messages):
    assert 6 <= sum(message.role == "user" for message in messages) <= 9
    assert messages[-1].role == "user"


def test_it_holds_what_real_sessions_hold(messages):
    parts = [part for message in messages for part in message.parts]
    calls = [sum(isinstance(part, ToolCall) for part in message.parts) for message in messages]
    reads = [part.arguments for part in parts if isinstance(part, ToolCall) and part.name == "read_file"]
    assert max(calls) > 1, "no calls side by side"
    assert len(set(reads)) < len(reads), "no file is read twice"
    assert any(isinstance(part, Media) for part in parts)
    assert sum(isinstance(part, Reasoning) for part in parts) >= 10
    assert sum(isinstance(part, ToolResult) and len(part.text) > 20_000 for part in parts) >= 4


def test_one_made_up_credential_waits_for_redaction(words):
    assert sum("s3cr3t-demo" in text for text in words) == 1


def test_there_are_enough_facts_and_no_two_alike():
    assert 24 <= len(FACTS) <= 30
    assert len({fact["question"] for fact in FACTS}) == len({fact["answer"] for fact in FACTS}) == len(FACTS)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact["answer"][:30])
def test_a_fact_is_in_the_middle_and_nowhere_else(fact, words):
    places = [index for index, text in enumerate(words) if fact["answer"] in text]
    assert fact["where"] in places
    assert places[0] >= HEAD_MESSAGES
    assert places[-1] < len(words) - TAIL_MESSAGES
