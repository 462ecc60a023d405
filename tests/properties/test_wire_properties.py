"""What holds for every conversation in every dialect, and for whatever JSON may turn up instead of one."""

import contextlib
import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.errors import DialectError
from midfold.messages import (
    Media,
    Opaque,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
    chain_digests,
    digest,
    pair_calls,
)
from midfold.testing import Defect, transcript
from midfold.wire import DIALECTS, convert, detect, parse, read_request, render
from midfold.wire.validate import validate

dialects = st.sampled_from(sorted(DIALECTS))
shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "turns": st.integers(1, 8),
        "steps": st.integers(0, 3),
        "parallel": st.integers(0, 4),
        "result_chars": st.sampled_from([0, 80, 2000]),
        "system": st.booleans(),
        "thinking": st.booleans(),
        "images": st.booleans(),
    }
)
defects = st.frozensets(st.sampled_from(sorted(Defect)))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = """role content type text id name input arguments function tool_calls tool_call_id tool_use_id call_id
    output from value source image_url custom summary messages conversations system tools"""
VALUES = """user assistant tool system text tool_use tool_result thinking image message reasoning image_url
    function_call function_call_output human gpt input_text"""
known_keys = st.sampled_from(KEYS.split())
known_values = st.sampled_from(VALUES.split())
near_messages = st.lists(
    st.dictionaries(
        known_keys, known_values | json_values | st.lists(st.dictionaries(known_keys, known_values))
    )
)


@given(dialects, shapes, defects)
def test_unedited_messages_come_back_as_the_same_objects(dialect, shape, faulty):
    items = transcript(dialect, **shape, defects=faulty)
    before = copy.deepcopy(items)
    rendered = render(parse(items, dialect), dialect)
    assert len(rendered) == len(items)
    assert all(new is old for new, old in zip(rendered, items, strict=True))
    assert items == before


@given(dialects, shapes)
def test_a_clean_conversation_is_legal_for_its_provider(dialect, shape):
    items = transcript(dialect, **shape)
    assert [fault for fault in validate(items, dialect=dialect) if fault.severity == "error"] == []


@given(dialects, shapes, defects, dialects)
def test_a_conversion_is_legal_in_its_target(dialect, shape, faulty, to):
    messages = parse(transcript(dialect, **shape, defects=faulty, last="go on"), dialect)
    conversion = convert(messages, to)
    assert [fault for fault in validate(conversion.messages, dialect=to) if fault.severity == "error"] == []


@given(dialects, shapes)
def test_parts_survive_json(dialect, shape):
    items = transcript(dialect, **shape)
    again = json.loads(json.dumps(items))
    assert parse(items, dialect) == parse(again, dialect)
    assert chain_digests(parse(items, dialect)) == chain_digests(parse(again, dialect))


@given(st.sampled_from(["openai_chat", "anthropic", "openai_responses"]), shapes, st.integers(0, 2**32))
def test_respelling_what_clients_respell_does_not_change_the_chain(dialect, shape, seed):
    items = transcript(dialect, **shape)
    respelled = [_respell(item, bit=bool(seed >> (index % 32) & 1)) for index, item in enumerate(items)]
    assert chain_digests(parse(items, dialect))[-1] == chain_digests(parse(respelled, dialect))[-1]


def _respell(item, *, bit):
    """Move cache markers, drop thinking, turn texts into blocks, and parse and dump arguments anew."""
    item = {**item, "x_vendor": 1}
    item.pop("reasoning_content", None)
    content = item.get("content")
    if isinstance(content, str) and bit:
        item["content"] = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
    elif isinstance(content, list):
        blocks = [block for block in content if block["type"] not in ("thinking", "redacted_thinking")]
        item["content"] = [_respell_block(block, bit=bit) for block in blocks]
    if "arguments" in item:
        item["arguments"] = _dump_anew(item["arguments"])
    if "tool_calls" in item:
        item["tool_calls"] = [
            {**call, "function": {**call["function"], "arguments": _dump_anew(call["function"]["arguments"])}}
            for call in item["tool_calls"]
        ]
    return item


def _respell_block(block, *, bit):
    block = {**block, "cache_control": {"type": "ephemeral"}} if bit else block
    if "input" in block:
        return {**block, "input": dict(reversed(block["input"].items()))}
    if block["type"] == "tool_result" and isinstance(block["content"], str):
        return {**block, "content": [{"type": "text", "text": block["content"]}]}
    return block


def _dump_anew(arguments):
    return json.dumps(json.loads(arguments), sort_keys=True, indent=1)


@given(dialects, shapes)
def test_any_change_of_words_changes_the_chain(dialect, shape):
    messages = parse(transcript(dialect, **shape, last="the end"), dialect)
    chain = chain_digests(messages)
    changed = [*messages[:-1], messages[-1].with_part(-1, Text("another end"))]
    assert chain_digests(changed)[:-1] == chain[:-1]
    assert chain_digests(changed)[-1] != chain[-1]


# What an edit of a call or a result does to the other half of the pair, and to the turn around it.
UNPAIRED = frozenset(["OC5", "OC13", "OC14", "AN6", "AN7", "AN8", "OR1", "OR2"])
GONE = UNPAIRED | frozenset(["OR3", "AN2", "AN15"])
EXPLAINED = {"other id": UNPAIRED, "removed": GONE, "words": GONE}


@given(dialects, shapes, st.data())
def test_an_edited_part_is_what_is_read_again(dialect, shape, data):
    items = transcript(dialect, **shape)
    before = copy.deepcopy(items)
    messages = parse(items, dialect)
    index = data.draw(st.integers(0, len(messages) - 1), label="index")
    position = data.draw(st.integers(0, len(messages[index].parts) - 1), label="position")
    for kind, part in _edits(messages[index].parts[position]):
        edited = messages[index].with_part(position, part)
        written = render([edited], dialect)
        again = [part for message in parse(written, dialect) for part in message.parts]
        assert _told(again) == _told(edited.parts if digest(edited) or kind == "shorter" else ()), kind
        rendered = render([*messages[:index], edited, *messages[index + 1 :]], dialect)
        others = rendered[:index] + rendered[index + len(written) :]
        assert all(new is old for new, old in zip(others, items[:index] + items[index + 1 :], strict=True))
        faults = {fault.code for fault in validate(rendered, dialect=dialect) if fault.severity == "error"}
        assert faults <= EXPLAINED.get(kind, frozenset()), kind
    assert items == before


def _edits(part):
    """Everything that can be done to a part, by name."""
    match part:
        case Text():
            yield "shorter", Text("[cut]")
        case Reasoning():
            yield "shorter", replace(part, text="…")
        case ToolCall():
            yield "shorter", replace(part, arguments='{"path":"…"}')
            yield "other id", replace(part, id="call_other")
            yield "other name", replace(part, name="other_tool")
        case ToolResult():
            yield "shorter", replace(part, text="[cut]")
            yield "other id", replace(part, call_id="call_other")
            yield "without media", replace(part, text="[cut]", media=())
    yield "words", Text("[stub]")
    yield "removed", Removed()


def _told(parts):
    """What parts say: their words, as texts may be joined and moved; the rest part by part."""
    words = sorted(word for part in parts if isinstance(part, Text) for word in part.text.split())
    calls = [(part.id, part.name, part.parse_arguments()) for part in parts if isinstance(part, ToolCall)]
    rest = [part for part in parts if isinstance(part, Reasoning | ToolResult | Media | Opaque)]
    return words, calls, sorted(rest, key=lambda part: type(part).__name__)


@given(dialects, shapes, defects)
def test_every_call_is_answered_or_open_and_every_result_an_answer_or_an_orphan(dialect, shape, faulty):
    messages = parse(transcript(dialect, **shape, defects=faulty), dialect)
    pairing = pair_calls(messages)
    assert len(pairing.answers) + len(pairing.open_calls) == sum(len(list(m.calls)) for m in messages)
    assert len(pairing.answers) + len(pairing.orphans) == sum(len(list(m.results)) for m in messages)
    assert len(set(pairing.answers.values())) == len(pairing.answers)


@pytest.mark.slow
@given(near_messages | json_values, dialects | st.none())
def test_odd_input_is_read_or_refused_with_a_typed_error(value, dialect):
    before = copy.deepcopy(value)
    with contextlib.suppress(DialectError):
        request = read_request(value, dialect)
        messages = parse(request.messages, request.dialect)
        rendered = render(messages, request.dialect)
        assert all(new is old for new, old in zip(rendered, request.messages, strict=True))
        chain_digests(messages)
        for to in DIALECTS:
            convert(messages, to)
    assert value == before


@pytest.mark.slow
@given(
    near_messages,
    dialects,
    st.sampled_from([Text("x"), Removed(), ToolCall("c", "t", "{}"), ToolResult("c", "x")]),
)
def test_odd_input_is_edited_or_refused_with_a_typed_error(value, dialect, part):
    before = copy.deepcopy(value)
    with contextlib.suppress(DialectError):
        for message in parse(value, dialect):
            for position in range(len(message.parts) + 1):
                with contextlib.suppress(DialectError):
                    parse(render([message.with_part(position, part)], dialect), dialect)
    assert value == before


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_thinking_and_images_are_really_generated(dialect):
    items = transcript(dialect, turns=20, thinking=True, images=True)
    assert detect(items) == dialect
    assert any(isinstance(part, Reasoning) for message in parse(items) for part in message.parts)
