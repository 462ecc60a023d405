"""`midfold.compress` and `acompress` with a model that is named."""

import asyncio
import threading

import pytest

import midfold
from midfold.errors import ConfigError
from midfold.testing import transcript
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.wire import DIALECTS
from midfold.wire.validate import validate

GOOD = Reply("## Goal\nThe new zones.")


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("midfold-models")] == []


def long(dialect="openai_chat"):
    return transcript(dialect, turns=30, result_chars=1_200, last="Run the tests.")


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_named_model_writes_the_summary(dialect):
    with Upstream(GOOD) as up:
        result = midfold.compress(
            long(dialect), summary_model="openai/gpt-5-mini", base_url=up.url, max_tokens=5_000, focus="zones"
        )
    assert "The new zones." in result.summary
    assert (result.summarizer, result.warning) == ("model", None)
    assert result.tokens_after <= 5_000
    assert validate(result.messages, dialect=dialect) == []
    assert up.requests[0].model == "gpt-5-mini"
    assert "zones" in up.requests[0].messages[-1].text


def test_named_model_is_awaited_in_async_code():
    with Upstream(GOOD) as up:
        result = asyncio.run(
            midfold.acompress(long(), summary_model="local/small", base_url=up.url, max_tokens=5_000)
        )
        up.wait_until(lambda: up.open_connections == 0)
    assert "The new zones." in result.summary


def test_digest_stands_in_for_a_model_that_fails():
    with Upstream(HttpStatus(401)) as up:
        result = midfold.compress(long(), summary_model="local/small", base_url=up.url, max_tokens=5_000)
    assert result.summarizer == "digest"
    assert "local/small answered 401" in result.warning


def test_model_is_shown_no_more_than_it_can_take():
    with Upstream(GOOD, window_tokens=20_000) as up:
        result = midfold.compress(
            long(), summary_model="local/small", base_url=up.url, max_tokens=5_000, summarizer_window=8_000
        )
    assert result.warning is None
    assert len(up.requests) > 1
    assert all(received.count_tokens() < 8_000 for received in up.requests)


def test_model_is_not_asked_where_nothing_is_folded():
    with Upstream(GOOD) as up:
        midfold.compress(long(), summary_model="local/small", base_url=up.url, max_tokens=1_000_000)
    assert up.requests == []


def test_key_that_is_missing_is_an_error_and_not_a_digest(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        midfold.compress(long(), summary_model="openai/gpt-5-mini", max_tokens=5_000)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        asyncio.run(midfold.acompress(long(), summary_model="openai/gpt-5-mini", max_tokens=5_000))


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"summary_model": "local/small", "summarizer": str}, "summary_model"),
        ({"base_url": "http://127.0.0.1:1"}, "base_url"),
        ({"model": "local/small", "base_url": "http://127.0.0.1:1"}, "base_url"),
        ({"summary_model": ""}, "summary_model"),
        ({"summary_model": "small"}, "summary_model"),
        ({"summarizer_window": 0}, "summarizer_window"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, key):
    with pytest.raises(ConfigError) as refused:
        midfold.compress(long(), max_tokens=5_000, **options)
    assert refused.value.key == key


def test_model_that_was_asked_under_the_old_meaning_is_said_to_be_asked_no_more(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-sent")
    with pytest.warns(DeprecationWarning, match="summary_model='openai/gpt-5-mini' asks it"):
        result = midfold.compress(long(), model="openai/gpt-5-mini", max_tokens=5_000)
    assert result.summarizer == "digest"
    midfold.compress(long(), model="openai/gpt-5-mini", summary_model=None, max_tokens=5_000)
    midfold.compress(long(), model="gpt-5-mini", max_tokens=5_000)
    monkeypatch.delenv("OPENAI_API_KEY")
    midfold.compress(long(), model="openai/gpt-5-mini", max_tokens=5_000)
