"""Summarising models for callers that block, and as the summariser of an engine."""

import asyncio
import threading
import time

import pytest

from midfold import ContextCompressor
from midfold.errors import SummaryUnavailable
from midfold.providers.summarizers import BlockingSummarizer, ModelRef, ModelSummarizer
from midfold.summaries import SummaryRequest
from midfold.testing import transcript
from midfold.testing.upstream import NEVER, DeliveryFault, Ending, HttpStatus, Reply, Unreachable, Upstream
from support.pace import LONG_SECONDS

REQUEST = SummaryRequest("Write the notes of these turns.", 2_000)


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if thread.name.startswith("midfold")] == []


def blocking(url, **options):
    return BlockingSummarizer(ModelSummarizer(ModelRef("local/small", url), **options))


def test_answer_is_returned_and_put_down():
    with Upstream(Reply("notes")) as up, blocking(up.url) as summarize:
        assert summarize(REQUEST) == "notes"
        assert [call.ok for call in summarize.calls] == [True]


def test_threads_may_share_it():
    with Upstream(Reply("notes")) as up, blocking(up.url) as summarize:
        callers = [threading.Thread(target=summarize, args=(REQUEST,)) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert len(summarize.calls) == len(up.requests) == 8


@pytest.mark.parametrize(
    "hung",
    [
        NEVER,
        Reply("notes", fault=DeliveryFault(cut_at=20, ending=Ending.STALL)),
        Reply("notes", fault=DeliveryFault(pieces=(1,), chunk_seconds=0.2)),
    ],
)
def test_hung_model_is_given_up_at_the_deadline(hung):
    with Upstream(hung) as up, blocking(up.url, deadline_seconds=0.3) as summarize:
        started = time.monotonic()
        with pytest.raises(SummaryUnavailable, match="no answer within"):
            summarize(REQUEST)
        assert time.monotonic() - started < LONG_SECONDS
        up.wait_until(lambda: up.open_connections == 0)


def test_address_that_is_never_reached_is_given_up_too():
    with Unreachable() as nowhere, blocking(nowhere.url, deadline_seconds=0.3) as summarize:
        started = time.monotonic()
        with pytest.raises(SummaryUnavailable):
            summarize(REQUEST)
        assert time.monotonic() - started < LONG_SECONDS


def test_closed_summariser_says_so_and_may_be_closed_again():
    with Upstream(Reply("notes")) as up:
        summarize = blocking(up.url)
        summarize(REQUEST)
        summarize.close()
        summarize.close()
        with pytest.raises(SummaryUnavailable, match="closed"):
            summarize(REQUEST)
        up.wait_until(lambda: up.open_connections == 0)


def test_engine_folds_with_it_and_falls_back_to_the_digest():
    messages = transcript(turns=60, result_chars=2_000, last="Go on.")
    with Upstream([Reply("## Goal\nThe new zones."), HttpStatus(401)]) as up, blocking(up.url) as summarize:
        engine = ContextCompressor(context_length=200_000, summarizer=summarize)
        folded = engine.compress_result(messages, focus_topic="zones")
        again = engine.compress_result([*folded.messages, *messages], focus_topic="zones")
    assert "The new zones." in folded.summary
    assert (folded.summarizer, again.summarizer) == ("model", "digest")
    assert "local/small answered 401" in again.warning
    assert "messages" in again.warning


def test_async_engine_folds_with_it_beside_the_event_loop():
    messages = transcript(turns=60, result_chars=2_000, last="Go on.")
    with Upstream(Reply("## Goal\nThe new zones.")) as up, blocking(up.url) as summarize:
        engine = ContextCompressor(context_length=200_000, summarizer=summarize)
        folded = asyncio.run(engine.acompress_result(messages, focus_topic="zones"))
    assert "The new zones." in folded.summary
