"""Counting without a tokenizer."""

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.messages import Message, Reasoning, Text, ToolCall, ToolResult
from midfold.tokens.counting import count_tokens
from midfold.tokens.tokenizers import approximate_tokens

_random = random.Random(7)

SAMPLES = {
    "prose": "The parking meter took my coins but printed no ticket, so I left a note and went. " * 20,
    "code": "def total(items: list[Item]) -> int:\n    return sum(item.price for item in items)\n\n" * 20,
    "json": '{"id": "c42", "name": "meter", "ok": true, "coins": [1, 2, 5], "note": null}\n' * 20,
    "chinese": "更新之后服务器没有响应，请检查日志并重新启动服务，然后把结果告诉我。" * 20,
    "japanese": "更新後にサーバーが応答しません。ログを確認してサービスを再起動してください。" * 20,
    "russian": "Сервер не отвечает после обновления, проверьте журнал и перезапустите службу. " * 20,
    "base64": base64.b64encode(_random.randbytes(3_000)).decode(),
    "hex": _random.randbytes(2_000).hex(),
    "log": "".join(
        f"2026-03-{day:02} 10:{day:02}:07,{day * 31:03} INFO worker-{day} handled /v1/pay in {day * 7} ms\n"
        for day in range(1, 29)
    ),
}


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_kind_of_text_is_approximated_rather_over_than_under(kind):
    exact = count_tokens(SAMPLES[kind])
    assert 0.8 * exact <= approximate_tokens(SAMPLES[kind]) <= 1.5 * exact


def test_real_conversations_are_approximated_within_fifteen_percent(corpus):
    for conversation in corpus:
        texts = [text for message in conversation.messages for text in _texts(message)]
        ratio = sum(map(approximate_tokens, texts)) / sum(map(count_tokens, texts))
        assert 0.85 <= ratio <= 1.15, conversation.name


def test_nothing_is_no_tokens():
    assert approximate_tokens("") == 0


@given(st.text())
def test_any_text_has_a_count_and_something_is_never_nothing(text):
    assert (approximate_tokens(text) > 0) == bool(text)


@given(st.text(), st.text())
def test_joined_texts_count_about_what_they_count_apart(left, right):
    apart = approximate_tokens(left) + approximate_tokens(right)
    assert abs(approximate_tokens(left + right) - apart) <= 3


def _texts(message: Message) -> list[str]:
    found = []
    for part in message.parts:
        if isinstance(part, Text | Reasoning | ToolResult):
            found.append(part.text)
        elif isinstance(part, ToolCall):
            found.append(part.arguments)
    return found
