"""A cache knows what it was shown, by identity, and nothing that it was told to forget."""

import json

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.redact import redact
from midfold.summaries.ledger import LedgerCache, collect
from midfold.summaries.ledger.collection import LONG_CHARS
from midfold.testing import Defect, conversation

KEY = b"key"
SECRET = "AK" + "IA" + "IOSFODNN7QWERTYU"


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def run(number, command="ls", output="ok"):
    call = ToolCall(f"c{number}", "bash", json.dumps({"command": command}))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(f"c{number}", output),))]


def memory_of(messages):
    cache = LedgerCache(KEY)
    cache.remember(messages)
    return cache


def ledger_of(messages, cache=None):
    def hide(text):
        return redact(text, key=KEY)

    return collect(messages, range(len(messages)), pair_calls(messages), redact=hide, cache=cache)


def find(cache, messages):
    """Look up the act of two messages, a call and its result."""
    return cache.find_run(messages[0].parts[0], messages[1].parts[0])


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic", "sharegpt"])
@pytest.mark.parametrize("defects", [None, *Defect])
def test_a_ledger_is_the_same_with_and_without_a_memory(dialect, defects):
    messages = conversation(dialect, turns=6, parallel=2, defects={defects} if defects else set())
    assert ledger_of(messages, memory_of(messages)) == ledger_of(messages)


def test_what_is_remembered_is_not_read_again():
    messages = [user("Never stop."), assistant("I will not."), *run(1)]
    cache, asked = memory_of(messages), []
    collect(
        messages,
        range(4),
        pair_calls(messages),
        redact=lambda text: asked.append(text) or text,
        cache=cache,
    )
    assert asked == []


def test_equal_parts_that_are_others_are_not_known():
    cache = memory_of([*run(1), assistant("Yes."), user("No.")])
    assert find(cache, run(1)) is None
    assert cache.find_words(Text("Yes.")) is None
    assert cache.find_request(user("No.")) is None


def test_an_act_is_known_only_with_the_result_that_answers_it():
    messages = run(1)
    cache = memory_of(messages)
    [call], [result] = messages[0].parts, messages[1].parts
    assert cache.find_run(call, result).output == "ok"
    assert cache.find_run(call, None) is None
    assert cache.find_run(call, ToolResult("c1", "ok")) is None


def test_ids_that_repeat_make_no_wrong_ledger():
    messages = [*run(1, "first", "one"), *run(1, "second", "two"), run(1)[0], *run(1, "third", "three")]
    assert ledger_of(messages, memory_of(messages)) == ledger_of(messages)


def test_what_is_forgotten_is_unknown():
    messages = [*run(1), assistant("Yes."), user("No.")]
    cache = memory_of(messages)
    cache.forget(messages)
    assert find(cache, messages) is None
    assert cache.find_words(messages[2].parts[0]) is None
    assert cache.find_request(messages[3]) is None
    assert cache == LedgerCache(KEY)


def test_a_result_that_comes_anew_takes_the_place_of_the_one_before():
    call, before = run(1)
    after = run(1, output="later")[1]
    cache = memory_of([call, before])
    cache.forget([before])
    assert find(cache, [call, before]) is None
    cache.remember([after])
    assert find(cache, [call, after]).output == "later"


def test_no_secret_is_remembered_but_in_the_messages_themselves():
    messages = [
        *run(1, f"echo {SECRET}", f"got {SECRET}"),
        assistant(f"It is {SECRET}."),
        user(f"Use {SECRET}."),
    ]
    cache = memory_of(messages)
    found = [
        find(cache, messages),
        cache.find_words(messages[2].parts[0]),
        cache.find_request(messages[3]),
    ]
    assert all(found)
    assert SECRET not in repr(found)
    assert SECRET not in cache.redact(f"got {SECRET}")


def test_a_clean_result_is_kept_by_reference_however_long():
    messages = run(1, output="a line of output\n" * 1_000_000)
    cache = memory_of(messages)
    assert find(cache, messages).output is messages[1].parts[0].text
    assert cache.redact(messages[1].parts[0].text) is messages[1].parts[0].text


def test_no_copy_of_a_long_text_is_kept():
    long = "a line of output\n" * (LONG_CHARS // 10)
    messages = [*run(1, output=f"{long}{SECRET}"), assistant(long), user(long)]
    cache = memory_of(messages)
    assert find(cache, messages) is None
    assert cache.find_words(messages[2].parts[0]) is None
    assert cache.find_request(messages[3]) is None
    assert ledger_of(messages, cache) == ledger_of(messages)


def test_placeholders_are_written_with_the_key_of_the_memory():
    text = f"got {SECRET}"
    assert memory_of(run(1, output=text)).redact(text) == redact(text, key=KEY)


def test_a_memory_that_is_printed_shows_no_secret():
    assert SECRET not in repr(memory_of([*run(1, output=SECRET), user(SECRET)]))


def test_a_request_in_several_parts_is_forgotten_with_all_that_was_worked_out_of_it():
    request = Message("user", (Text("One."), Text("Two.")))
    cache = memory_of([request])
    cache.forget([request])
    assert cache == LedgerCache(KEY)
