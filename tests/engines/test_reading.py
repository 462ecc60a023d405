"""A reader reads what is new, and remembers just what is in the conversation."""

import random

import pytest

from midfold.compression.ledger import Memory, collect
from midfold.compression.redact import redact
from midfold.engines.reading import Reader
from midfold.messages import ToolCall, ToolResult, digest_messages, pair_calls
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse

COUNT = TokenCounter()


def new_reader():
    return Reader(COUNT, Memory(b"key"))


def change(items, other, chance):
    """Do to a list of messages what hosts do: mostly let it grow; now and then cut it, or replace one."""
    what = chance.choice(["grow", "grow", "grow", "cut", "replace", "fold"])
    if what == "grow" or not items:
        return [*items, *other[len(items) : len(items) + chance.randrange(1, 9)]]
    place = chance.randrange(len(items))
    if what == "cut":
        return items[:place]
    if what == "replace":
        return [*items[:place], dict(other[place % len(other)]), *items[place + 1 :]]
    return [*items[:2], {"role": "user", "content": "What was said before."}, *items[place:]]


def ledger_of(messages, memory=None):
    def hide(text):
        return redact(text, key=b"key")

    return collect(messages, range(len(messages)), pair_calls(messages), redact=hide, memory=memory)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_known_of_a_list_does_not_depend_on_how_it_came_to_be(seed):
    chance = random.Random(seed)
    other = transcript(turns=12, seed=seed)
    reader, items = new_reader(), []
    for _ in range(25):
        items = change(items, other, chance)
        messages = reader.read(items)
        assert messages == parse(items, reader.dialect)
        assert reader.sizes == [COUNT(message) for message in messages]
        assert reader.digests == list(digest_messages(messages))
        assert ledger_of(messages, reader.memory) == ledger_of(messages)


def test_a_message_that_left_the_conversation_is_not_remembered():
    items = transcript(turns=6)
    reader = new_reader()
    before = list(reader.read(items))
    reader.read([*items[:1], {"role": "user", "content": "In short."}])
    calls = [part for message in before for part in message.parts if isinstance(part, ToolCall)]
    results = [part for message in before for part in message.parts if isinstance(part, ToolResult)]
    assert calls
    assert not any(reader.memory.find_act(call, result) for call in calls for result in results)
    assert not any(map(reader.memory.find_request, before[1:]))


def test_everything_but_the_newest_message_is_read_ahead():
    items = transcript(turns=6)
    reader = new_reader()
    messages = reader.read(items)
    asked = []
    pairing = pair_calls(messages[:-1])
    collect(
        messages[:-1],
        range(len(messages) - 1),
        pairing,
        redact=lambda text: asked.append(text) or text,
        memory=reader.memory,
    )
    assert asked == []
