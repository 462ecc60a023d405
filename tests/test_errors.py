"""Errors are one clear line, and never repeat a secret."""

import pytest

from midfold import errors
from midfold.errors import ContextOverflow, OutputCapTooLarge, ProviderError, RateLimited, StillTooLarge


def test_an_error_of_a_provider_says_who_and_what():
    error = RateLimited("slow down", provider="openai", model="gpt-5", status=429, retry_after=2.5)
    assert str(error) == "openai/gpt-5 answered 429: slow down"
    assert error.retry_after == 2.5


def test_an_error_without_an_answer_says_so():
    assert str(ProviderError("connection refused", provider="local")) == "local: connection refused"
    assert str(ProviderError("connection refused")) == "the provider: connection refused"


def test_an_overflow_carries_its_numbers():
    error = ContextOverflow("too long", limit=8192, input_tokens=9000, status=400, body=b"{}")
    assert (error.limit, error.input_tokens, error.body) == (8192, 9000, b"{}")
    assert OutputCapTooLarge("too much", available=100, requested=200).available == 100


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abc123def456ghi789",
        "sk-ant-api03-AbCdEf0123456789",
        "AIzaSyA1234567890abcdefg",
        "gsk_1234567890abcdefghij",
    ],
)
@pytest.mark.parametrize(
    "text", ["Incorrect API key provided: {}.", "GET /v1?key={} failed", "Bearer {}", "{}"]
)
def test_keys_are_masked_in_messages(text, secret):
    error = ProviderError(text.format(secret), body=secret.encode())
    assert secret not in str(error)
    assert secret not in repr(error)
    assert secret not in error.message


def test_figures_and_words_are_not_taken_for_keys():
    text = "max_tokens: 128001 > 64000, token: yes, for claude-opus-4-5-20251101"
    assert ProviderError(text).message == text


def test_a_message_is_one_printable_line_of_bounded_length():
    message = ProviderError("a\r\nb\x1b[31m\u2028c\ud800" + "x" * 100_000).message
    assert message.isprintable()
    assert len(message) < 1_100


def test_still_too_large_says_where_the_tokens_are():
    error = StillTooLarge(9000, 8192, {"tool schemas": 6000, "system prompt": 3000})
    assert "9,000 tokens and the limit is 8,192 (tool schemas 6,000, system prompt 3,000)" in str(error)


def test_the_tree_in_the_docstring_names_every_error():
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    names = [cls.__name__ for cls in classes if issubclass(cls, errors.MidfoldError)]
    assert [name for name in names if name not in errors.__doc__] == []
