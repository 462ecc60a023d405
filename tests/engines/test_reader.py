"""A reader reads what is new, and remembers just what is in the conversation."""

import json
import random

import pytest

from midfold.engines.reader import Reader
from midfold.messages import ToolCall, ToolResult, digest_messages, pair_calls
from midfold.redact import redact
from midfold.summaries.ledger import LedgerCache, collect
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse

COUNT = TokenCounter()


def new_reader():
    return Reader(COUNT, LedgerCache(b"key"))


def change(items, other, chance):
    """Do to a list of messages what hosts do: mostly let it grow; now and then cut it, or replace one."""
    what = chance.choice(["grow", "grow", "grow", "cut", "replace", "fold", "send again"])
    if what == "grow" or not items:
        return [*items, *other[len(items) : len(items) + chance.randrange(1, 9)]]
    place = chance.randrange(len(items))
    if what == "send again":
        return json.loads(json.dumps(items))
    if what == "cut":
        return items[:place]
    if what == "replace":
        return [*items[:place], dict(other[place % len(other)]), *items[place + 1 :]]
    return [*items[:2], {"role": "user", "content": "What was said before."}, *items[place:]]


def ledger_of(messages, memory=None):
    def hide(text):
        return redact(text, key=b"key")

    return collect(messages, range(len(messages)), pair_calls(messages), redact=hide, cache=memory)


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
    assert not any(reader.memory.find_run(call, result) for call in calls for result in results)
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
        cache=reader.memory,
    )
    assert asked == []


def places_in(value):
    """Yield every container of an item and a place in it, with what stands there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for place, inner in list(pairs):
        if isinstance(inner, dict | list):
            yield from places_in(inner)
        elif isinstance(inner, str) and len(inner) > 20:
            yield value, place


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "sharegpt"])
@pytest.mark.parametrize("times_shown", [1, 2])
def test_words_that_are_changed_in_place_are_noticed_wherever_they_stand(dialect, times_shown):
    items = json.loads(json.dumps(transcript(dialect, turns=3)))
    for number, item in enumerate(items):
        for container, place in places_in(item):
            reader = new_reader()
            for _ in range(times_shown):
                reader.read(items)
            old, container[place] = container[place], "something else that was said"
            assert reader.read(items) == parse(items, dialect), (number, place)
            container[place] = old


def test_a_list_that_is_appended_to_in_place_is_noticed():
    items = [{"role": "user", "content": [{"type": "text", "text": "one"}]}, {"role": "user", "content": "x"}]
    reader = new_reader()
    reader.read(items)
    reader.read(items)
    items[0]["content"].append({"type": "text", "text": "two"})
    assert reader.read(items)[0].text == "one\ntwo"


def test_a_history_sent_again_is_remembered_as_it_was(monkeypatch):
    items = transcript(turns=6)
    reader = new_reader()
    reader.read(json.loads(json.dumps(items)))
    read = []
    monkeypatch.setattr(LedgerCache, "remember", lambda _, messages: read.extend(messages))
    reader.read(json.loads(json.dumps(items)))
    assert read == []
    reader.read([*json.loads(json.dumps(items)), {"role": "user", "content": "and now?"}])
    assert len(read) == 1


def words(count):
    """Return a list of that many messages, each with words of its own."""
    roles = ("user", "assistant")
    return [{"role": roles[index % 2], "content": f"Word {index} was said."} for index in range(count)]


def test_a_long_history_that_comes_as_a_whole_is_left_to_the_fold(monkeypatch):
    read = []
    monkeypatch.setattr(LedgerCache, "remember", lambda _, messages: read.extend(messages))
    new_reader().read(words(1_000))
    assert read == []


def test_messages_that_come_after_a_long_history_are_read_ahead(monkeypatch):
    read = []
    monkeypatch.setattr(LedgerCache, "remember", lambda _, messages: read.extend(messages))
    reader, items = new_reader(), words(1_004)
    reader.read(items[:1_000])
    reader.read(items[:1_002])
    messages = reader.read(items)
    assert read == messages[999:1_003]


def test_a_long_rest_of_a_folded_list_stays_remembered():
    items = words(500)
    reader = new_reader()
    for stop in range(0, 501, 100):
        reader.read(items[:stop])
    messages = reader.read([items[0], {"role": "user", "content": "In short."}, *items[100:]])
    assert all(reader.memory.find_request(message) for message in messages[2:-1] if message.role == "user")
