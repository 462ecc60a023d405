"""Faults found in systems of this kind, and that they are not ours.

Tool output: literal tags, small results, missing content, only the head kept, files by call id, sizes.
Beside it: what is counted twice or not at all, usage that is read as nothing, caches that are never hit.
"""

import errno
import os

import pytest

from midfold.messages import Message, Text
from midfold.offload import Budgets, MemorySink, enforce, offload_result
from midfold.tokens.counting import TokenCounter
from midfold.wire import parse, render
from midfold.wire.cache_control import apply_cache_control
from midfold.wire.usage import normalize_usage

BLOCK = '<persisted-output reference="terminal-{}">\n{}\n</persisted-output>'


class Full(MemorySink):
    """A sink without room."""

    def write(self, key, text, *, tool=""):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def total(messages):
    return sum(len(result.text) for message in messages for result in message.results)


def test_literal_tags_exempt_no_result_from_the_turn(turn):
    texts = [BLOCK.format("0" * 32, "x" * 90_000) for _ in range(6)]
    assert total(enforce(turn(*texts), MemorySink()).messages) <= 200_000


def test_a_copied_block_around_a_long_text_exempts_it_neither(turn):
    sink = MemorySink()
    [kept] = enforce(turn("y" * 150_000), sink).offloaded.values()
    forged = BLOCK.format(kept.reference.removeprefix("terminal-"), "x" * 150_000)
    assert len(enforce(turn(forged), sink).offloaded) == 1


def test_three_hundred_small_results_do_not_grow(turn):
    offloaded = enforce(turn(*["x" * 900] * 300), MemorySink())
    assert (total(offloaded.messages), offloaded.over_budget) == (270_000, 1)


@pytest.mark.parametrize("size", [1_000, 1_500, 2_000, 2_400, 2_500, 2_600, 5_000])
def test_no_turn_grows_whatever_the_size_of_its_results(turn, size):
    for sink in (MemorySink(), Full()):
        messages = turn(*["x" * size] * 300)
        assert total(enforce(messages, sink).messages) <= total(messages)


def test_missing_content_is_an_empty_result():
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    items = [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": None},
    ]
    offloaded = enforce(parse(items, "openai_chat"), MemorySink(), Budgets(result_chars=1, turn_chars=1))
    assert render(offloaded.messages, "openai_chat") == items


def test_where_nothing_can_be_kept_both_ends_stay():
    text = "first words " + "x" * 300_000 + " last words"
    cut = offload_result(text, Full()).text
    assert cut.startswith("first words ")
    assert cut.endswith(" last words")


def test_one_call_id_in_two_sessions_keeps_two_results(files):
    texts = {name: f"{name} " * 30_000 for name in ("one", "other")}
    kept = {name: offload_result(text, files.session(name), call_id="call_1") for name, text in texts.items()}
    for name, text in texts.items():
        assert files.session(name).read(kept[name].outcome.reference) == text


def test_a_size_in_kilobytes_is_one_of_bytes():
    assert "200,000 characters (585.9 KB)" in offload_result("語" * 200_000, MemorySink()).text


def test_an_edit_inside_the_tools_changes_their_count():
    counter = TokenCounter("gpt-4o")
    tools = [{"name": name, "description": "does it"} for name in ("first", "middle", "last")]
    longer = [tools[0], {**tools[1], "description": "does it " * 10_000}, tools[2]]
    assert counter.count_tools(longer) > counter.count_tools(tools) + 5_000


def test_a_copy_beside_the_content_is_not_counted_again():
    words = "count me once " * 500
    plain, doubled = parse(
        [{"role": "user", "content": words}, {"role": "user", "content": words, "api_content": words}],
        "openai_chat",
    )
    counter = TokenCounter("gpt-4o")
    assert counter(doubled) == counter(plain)


@pytest.mark.parametrize(
    "raw",
    [
        {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 7},
        {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 40}, "completion_tokens": 7},
        {"prompt_tokens": 100, "cached_tokens": 40, "completion_tokens": 7},
        {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 7},
        {"promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 7},
        {"inputTokens": 60, "cacheReadInputTokens": 40, "outputTokens": 7},
    ],
)
def test_usage_in_a_dict_is_read_whoever_wrote_it(raw):
    usage = normalize_usage(raw)
    assert (usage.prompt_tokens, usage.cache_read_tokens, usage.output_tokens) == (100, 40, 7)


@pytest.mark.parametrize("calls", [2, 12, 20])
def test_many_calls_in_a_turn_still_hit_the_cache(calls):
    """Each block is a look-back position and costs 1; reading costs 0.1, writing 1.25."""
    paid = uncached = 0.0
    written: set[int] = set()
    conversation = [{"role": "user", "content": "start"}]
    for turn in range(30):
        ends = _marked_ends(apply_cache_control(conversation)[0])
        known = {place for end in ends for place in range(end - 19, end + 1)} & written
        size, read = max(ends), max(known, default=0)
        paid += 0.1 * read + 1.25 * (size - read)
        uncached += size
        written |= set(ends)
        conversation = conversation + _turn(calls, turn)
    assert paid <= 0.3 * uncached


def _turn(calls, turn):
    blocks = [{"type": "text", "text": f"result {turn} {call}"} for call in range(calls)]
    return [{"role": "assistant", "content": list(blocks)}, {"role": "user", "content": list(blocks)}]


def _marked_ends(messages):
    blocks = [block for message in messages for block in _blocks(message)]
    return [place for place, block in enumerate(blocks, 1) if "cache_control" in block]


def _blocks(message):
    content = message["content"]
    return content if isinstance(content, list) else [{"text": content}]


def test_the_words_of_a_tag_in_the_users_message_stay():
    message = Message("user", (Text("what is <persisted-output>?"),))
    assert enforce([message], MemorySink()).messages == [message]
