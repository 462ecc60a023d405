"""A message that was read before is found again by what its item says."""

import json
import threading
import tracemalloc

import pytest

from midfold.errors import MalformedMessage
from midfold.messages.cache import MessageCache
from midfold.messages.digests import own_digest
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import parse


class Counting:
    """Reads as wire does, and counts what it read."""

    def __init__(self):
        self.items = 0

    def __call__(self, items, dialect):
        self.items += len(items)
        return parse(items, dialect)


def fresh(items):
    return json.loads(json.dumps(items))


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "sharegpt"])
def test_fresh_json_of_a_known_history_is_not_read_again(dialect):
    items = transcript(dialect, turns=5)
    read = Counting()
    cache = MessageCache(read)
    first = cache.read(items, dialect)
    count = read.items
    again = cache.read(fresh(items), dialect)
    assert read.items == count
    assert again == first == parse(items, dialect)
    assert all(one.parts is other.parts for one, other in zip(first, again, strict=True))


def test_a_message_has_the_item_that_it_was_asked_for():
    items = transcript(turns=2)
    cache = MessageCache(parse)
    cache.read(items, "openai_chat")
    later = fresh(items)
    assert all(
        message.raw is item for message, item in zip(cache.read(later, "openai_chat"), later, strict=True)
    )


def test_what_was_found_out_about_a_message_is_known_of_it_ever_after():
    items = transcript(turns=2)
    cache = MessageCache(parse)
    count = TokenCounter("gpt-5")
    for message in cache.read(items, "openai_chat"):
        own_digest(message)
        count(message)
    for message in cache.read(fresh(items), "openai_chat"):
        assert message.facts.digest == own_digest(message)
        assert (message.facts.tokens_for, message.facts.tokens) == ("gpt-5", count(message))


def test_the_same_words_twice_are_read_once():
    read = Counting()
    cache = MessageCache(read)
    said = {"role": "user", "content": "go on"}
    one, other = cache.read([said, dict(said)], "openai_chat")
    assert read.items == 1
    assert one.parts is other.parts
    assert one.raw is not other.raw


def test_an_item_means_something_else_in_another_dialect():
    cache = MessageCache(parse)
    item = {"role": "developer", "content": [{"type": "input_text", "text": "hello"}], "type": "message"}
    as_chat, as_responses = cache.read([item], "openai_chat"), cache.read([item], "openai_responses")
    assert as_chat != as_responses


def test_an_item_that_changed_is_read_anew():
    cache = MessageCache(parse)
    item = {"role": "user", "content": "one"}
    cache.read([item], "openai_chat")
    item["content"] = "two"
    assert cache.read([item], "openai_chat")[0].text == "two"
    assert cache.read([{"role": "user", "content": "one"}], "openai_chat")[0].text == "one"


def test_whole_and_broken_numbers_and_truth_are_told_apart():
    cache = MessageCache(parse)
    values = [1, 1.0, True]
    items = [{"role": "user", "content": [{"type": "odd", "value": value}]} for value in values]
    assert len({message.parts for message in cache.read(items, "openai_chat")}) == len(values)


def test_an_object_of_an_sdk_is_read_each_time():
    class Odd(dict):
        pass

    read = Counting()
    cache = MessageCache(read)
    item = {"role": "user", "content": "hello", "extra": Odd()}
    cache.read([item], "openai_chat")
    cache.read([item], "openai_chat")
    assert read.items == 2
    assert cache.known_bytes == 0


def test_an_item_that_cannot_be_read_is_named_and_nothing_is_kept_of_it():
    cache = MessageCache(parse)
    good, bad = {"role": "user", "content": "hello"}, {"role": "user", "content": 7}
    with pytest.raises(MalformedMessage) as error:
        cache.read([good, bad], "openai_chat")
    assert error.value.index == 1
    with pytest.raises(MalformedMessage) as error:
        cache.read([good, good, bad], "openai_chat")
    assert error.value.index == 2
    assert cache.read([good], "openai_chat")[0].text == "hello"


def test_a_full_cache_lets_go_of_what_was_not_asked_for_longest():
    cache = MessageCache(parse, most_bytes=10_000)
    kept = {"role": "user", "content": "x" * 2_000}
    cache.read([kept], "openai_chat")
    for number in range(50):
        cache.read([kept, {"role": "user", "content": f"{number}" * 500}], "openai_chat")
        assert cache.known_bytes <= 10_000
    assert cache.knows(kept, "openai_chat")
    assert not cache.knows({"role": "user", "content": "0" * 500}, "openai_chat")


def test_an_item_larger_than_the_cache_is_read_and_not_kept():
    cache = MessageCache(parse, most_bytes=1_000)
    assert cache.read([{"role": "user", "content": "x" * 5_000}], "openai_chat")[0].text == "x" * 5_000
    assert cache.known_bytes == 0


def test_threads_may_share_a_cache():
    cache = MessageCache(parse, most_bytes=50_000)
    items = transcript(turns=10)
    wrong = []

    def work(seed):
        for _ in range(20):
            some = fresh(items[seed::2])
            if cache.read(some, "openai_chat") != parse(some, "openai_chat"):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed % 2,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_what_a_cache_knows_takes_hardly_more_room_than_it_took_on_the_wire(dialect):
    body = json.dumps(transcript(dialect, turns=60, result_chars=2_500))
    cache = MessageCache(parse)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    cache.read(json.loads(body), dialect)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before <= 1.5 * len(body)
