"""A conversation that grows is converted as it would be at once, and its settled part only once."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.messages import Message, Reasoning, Text, ToolCall, ToolResult
from midfold.testing import transcript
from midfold.wire import GrowingConversion, convert, parse

TARGETS = ("openai_chat", "anthropic", "openai_responses", "sharegpt")
CALL_IDS = st.sampled_from(["", "a", "b", "not legal!", "c" * 80])
TEXTS = st.sampled_from(["", " ", "Yes.", "Look at the meter."])
PARTS = {
    "user": st.builds(Text, TEXTS),
    "system": st.builds(Text, TEXTS),
    "assistant": st.one_of(
        st.builds(Text, TEXTS),
        st.builds(Reasoning, TEXTS),
        st.builds(ToolCall, CALL_IDS, st.just("read"), st.sampled_from(["{}", "[1]"])),
    ),
    "tool": st.builds(ToolResult, CALL_IDS, TEXTS),
}


@st.composite
def messages(draw):
    roles = draw(st.lists(st.sampled_from(sorted(PARTS)), max_size=24))
    return [Message(role, tuple(draw(st.lists(PARTS[role], max_size=2)))) for role in roles]


@pytest.mark.parametrize("to", TARGETS)
@given(said=messages(), steps=st.lists(st.integers(1, 5), min_size=24, max_size=24))
def test_a_list_that_grows_is_converted_as_at_once(to, said, steps):
    growing, stop = GrowingConversion(to), 0
    for step in steps:
        stop = min(stop + step, len(said))
        assert growing.convert(said[:stop]) == convert(said[:stop], to)


@pytest.mark.parametrize("to", TARGETS)
def test_a_list_that_was_folded_is_converted_anew(to):
    said = parse(transcript(turns=8))
    growing = GrowingConversion(to)
    growing.convert(said)
    folded = [*said[:2], Message("user", (Text("In short."),)), *said[-7:]]
    assert growing.convert(folded) == convert(folded, to)


def test_settled_messages_are_the_same_objects_each_time():
    chance = random.Random(1)
    said = [Message(("user", "assistant")[n % 2], (Text(f"{chance.random()}"),)) for n in range(100)]
    growing = GrowingConversion("anthropic")
    before = growing.convert(said[:90]).messages
    after = growing.convert(said).messages
    assert all(one is other for one, other in zip(before[:80], after, strict=False))
