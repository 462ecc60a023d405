"""The three clients talk to a real model, plainly and as a stream, and read what it used."""

import time

import pytest

from midfold.wire.apis import Finish, StreamDone, TextChunk

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]

QUESTION = "Say hello in French. Answer with one word."
LONG_TASK = "Count from one to five hundred in words."


def test_answer_comes_with_the_usage_that_the_server_counts(model, server):
    answer = model.complete(QUESTION, max_output=20)
    assert "bonjour" in answer.text.lower()
    assert answer.finish is Finish.STOP
    assert answer.model == server.model
    assert answer.usage.prompt_tokens == server.count(QUESTION)
    assert 0 < answer.usage.output_tokens <= 20


def test_stream_brings_the_words_and_usage_of_a_plain_answer(model, server):
    *deltas, done = model.stream(QUESTION, max_output=20)
    assert isinstance(done, StreamDone)
    assert "bonjour" in done.completion.text.lower()
    assert "".join(delta.text for delta in deltas if isinstance(delta, TextChunk)) == done.completion.text
    assert done.completion.finish is Finish.STOP
    assert done.completion.usage.prompt_tokens == server.count(QUESTION)
    assert 0 < done.completion.usage.output_tokens <= 20


def test_conversation_goes_on_with_the_items_of_an_answer(model):
    messages = [{"role": "user", "content": "My lucky number is 417. Answer with OK."}]
    first = model.complete(messages, max_output=10)
    asked = {"role": "user", "content": "What is my lucky number? Answer with digits."}
    assert "417" in model.complete([*messages, *first.items, asked], max_output=10).text


def test_answer_that_the_output_cap_cuts_is_told_apart(model, api, note):
    begun = time.monotonic()
    answer = model.complete(LONG_TASK, max_output=24)
    took = time.monotonic() - begun
    note(f"{api}: {answer.usage.prompt_tokens} tokens in, {answer.usage.output_tokens} out, {took:.1f} s")
    assert answer.usage.output_tokens == 24
    assert answer.finish is Finish.LENGTH


def test_stream_that_the_output_cap_cuts_is_told_apart(model):
    *_, done = model.stream(LONG_TASK, max_output=24)
    assert isinstance(done, StreamDone)
    assert done.completion.usage.output_tokens == 24
    assert done.completion.finish is Finish.LENGTH


def test_system_prompt_reaches_the_model(model):
    answer = model.complete("Who are you?", system="You are a parrot.", max_output=12)
    assert "parrot" in answer.text.lower()


def test_stream_that_is_left_early_stops_the_work(model):
    """The server does one thing at a time, so it answers again only if it stopped writing."""
    events = model.stream(LONG_TASK, max_output=2_000)
    next(events)
    events.close()
    begun = time.monotonic()
    assert model.complete(QUESTION, max_output=20).text
    assert time.monotonic() - begun < 60
