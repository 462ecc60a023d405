"""Counting texts, messages and tools."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.messages import Media, Message, Opaque, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.tokens import TokenCounter, approximate_tokens, count_tokens, estimate_tokens
from midfold.tokens.images import count_media

PLAIN = TokenCounter()
FRAMING = PLAIN(Message("user", ()))
WORDS = "Please look at the parking meter in row seven; it takes coins and prints nothing."


def test_the_estimate_is_the_exact_count_of_the_default_vocabulary():
    assert estimate_tokens(WORDS) == count_tokens(WORDS) == count_tokens(WORDS, "gpt-4o")


def test_claude_counts_more_than_the_vocabulary_it_borrows():
    assert 1.15 <= count_tokens(WORDS * 10, "claude-opus-4-5") / count_tokens(WORDS * 10) <= 1.28


def test_lone_surrogates_are_counted_not_refused():
    assert count_tokens("broken \ud83d pair") > 0


@given(
    st.text(st.characters(exclude_categories=())), st.sampled_from([None, "claude-opus-4-5", "deepseek-chat"])
)
def test_any_text_has_a_count(text, model):
    assert (count_tokens(text, model) > 0) == bool(text)


@given(st.text(), st.text())
def test_joining_two_texts_never_costs_much_more_than_both(left, right):
    assert count_tokens(left + right) <= count_tokens(left) + count_tokens(right) + 4


def test_a_message_costs_its_words_and_its_framing():
    assert PLAIN(Message("user", (Text(WORDS),))) == count_tokens(WORDS) + FRAMING


def test_every_part_that_is_sent_counts():
    parts = (Text(WORDS), Reasoning(WORDS), Opaque("odd", WORDS), ToolResult("c1", WORDS))
    assert PLAIN(Message("assistant", parts)) == 4 * count_tokens(WORDS) + FRAMING


def test_a_removed_part_costs_nothing():
    assert PLAIN(Message("user", (Removed(),))) == FRAMING


def test_a_call_costs_more_than_its_name_and_arguments():
    call = ToolCall("c1", "read_file", '{"path": "meter.py"}')
    spelled = count_tokens(call.name) + count_tokens(call.arguments)
    assert PLAIN(Message("assistant", (call,))) > spelled + FRAMING


def test_hidden_thinking_counts_by_the_length_of_what_travels():
    assert PLAIN(Message("assistant", (Reasoning("", "A" * 6_000),))) == 1_000 + FRAMING


def test_an_image_in_a_result_counts_as_an_image_not_as_its_base64():
    image = Media("image", "image/png", "A" * 400_000)
    message = Message("tool", (ToolResult("c1", "", media=(image,)),))
    assert PLAIN(message) == count_media(image) + FRAMING < 2_000


def test_a_text_document_counts_by_its_words():
    document = Media("document", "text/plain", WORDS * 100)
    assert PLAIN(Message("user", (document,))) == count_tokens(WORDS * 100) + FRAMING


def test_tools_cost_their_schemas_and_none_cost_nothing():
    tool = {
        "name": "read_file",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }
    assert PLAIN.count_tools([]) == 0
    assert PLAIN.count_tools([tool]) < PLAIN.count_tools([tool, tool])


def test_a_tool_that_is_no_json_is_counted_by_its_spelling():
    assert PLAIN.count_tools([{"name": "odd", "schema": object()}]) > 0


def test_tools_nested_too_deeply_for_an_encoder_are_counted():
    schema = {"type": "string"}
    for _ in range(5_000):
        schema = {"items": [schema]}
    assert PLAIN.count_tools([schema]) > 5_000


def test_without_a_tokenizer_the_approximation_counts():
    script = (
        "import sys; sys.modules['splintr'] = None\n"  # makes the import fail, as where it is not installed
        "from midfold.tokens import count_tokens, estimate_tokens\n"
        f"print(estimate_tokens({WORDS!r}), count_tokens({WORDS!r}, 'claude-opus-4-5'))"
    )
    estimate, claude = map(int, _run(script).split())
    assert estimate == approximate_tokens(WORDS)
    assert claude == pytest.approx(1.2 * estimate, abs=1)


def test_importing_the_package_loads_no_tokenizer_and_no_decoder():
    script = "import sys, midfold.tokens; print([m for m in ('splintr', 'msgspec') if m in sys.modules])"
    assert _run(script).strip() == "[]"


def _run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout
