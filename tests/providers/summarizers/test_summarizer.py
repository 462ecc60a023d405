"""Which model writes a summary, what is done when it fails, and what is put down about it."""

import asyncio
from decimal import Decimal

import pytest

from midfold.errors import ConfigError, SummaryUnavailable
from midfold.messages import ToolCall
from midfold.providers import ApiKey, Retries
from midfold.providers.summarizers import ModelRef, ModelSummarizer
from midfold.providers.summarizers.summarizer import MOST_RECORDS
from midfold.summaries import SummaryRequest
from midfold.testing.upstream import (
    NEVER,
    ApiError,
    DeliveryFault,
    FinishReason,
    HttpStatus,
    Reply,
    Upstream,
    UsageReport,
)
from midfold.tokens import CanonicalUsage

REQUEST = SummaryRequest("Write the notes of these turns.", 2_000, ("src/app.py",))
GOOD = Reply("## Goal\nShip it.")


class Clock:
    """Time that passes when a test says so."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


async def no_wait(_seconds):
    """Wait for nothing, as tests do."""


def at(up, name="local/small", **fields):
    return ModelRef(name, up.url, **fields)


def ask(model=None, main=None, *, clock=None, requests=1, is_manual=False, **options):
    """Ask for summaries one after another; returns the summariser, and each answer or what was raised."""
    options.setdefault("retries", Retries(max_calls=2, longest_wait_seconds=10, sleep=no_wait))
    if clock:
        options["clock"] = clock

    async def run():
        async with ModelSummarizer(model, main=main, **options) as summarizer:
            answers = []
            for _ in range(requests):
                try:
                    answers.append(await summarizer(REQUEST, is_manual=is_manual))
                except SummaryUnavailable as error:
                    answers.append(error)
            return summarizer, answers

    return asyncio.run(run())


def test_prompt_goes_alone_with_a_word_about_what_it_is(api):
    with Upstream(GOOD) as up:
        _, answers = ask(at(up, api=api))
    [received] = up.requests
    assert answers == ["## Goal\nShip it."]
    assert [(message.role, message.text) for message in received.messages if message.role == "user"] == [
        ("user", REQUEST.prompt)
    ]
    assert "handoff notes" in received.body.decode()
    assert not {"tools", "temperature", "top_p", "stream"} & set(received.json)


def test_model_may_think_beyond_the_length_of_the_summary(api):
    with Upstream(GOOD) as up:
        ask(at(up, api=api))
    assert up.requests[0].request.max_output == 8_000 > REQUEST.max_tokens


def test_cap_on_output_is_three_times_the_summary_and_what_the_model_can_write():
    long = SummaryRequest("Write.", 12_000)

    async def run(name, up):
        async with ModelSummarizer(ModelRef(name, up.url)) as summarizer:
            await summarizer(long)

    with Upstream(GOOD) as up:
        asyncio.run(run("openai/gpt-5-mini", up))
        asyncio.run(run("openai/gpt-4o-mini", up))
    assert [received.request.max_output for received in up.requests] == [36_000, 16_384]


def test_chosen_model_comes_before_the_main_one():
    with Upstream(Reply("chosen")) as chosen, Upstream(Reply("main")) as main:
        assert ask(at(chosen), at(main))[1] == ["chosen"]
        assert ask(None, at(main))[1] == ["main"]


def test_main_model_is_the_one_of_the_moment():
    with Upstream(Reply("one")) as one, Upstream(Reply("two")) as two:
        main = iter([at(one), at(two)])
        assert ask(None, lambda: next(main), requests=2)[1] == ["one", "two"]


def test_host_may_set_the_main_model_anew():
    async def run(one, two):
        async with ModelSummarizer(main=at(one)) as summarizer:
            first = await summarizer(REQUEST)
            summarizer.main = at(two)
            return first, await summarizer(REQUEST)

    with Upstream(Reply("one")) as one, Upstream(Reply("two")) as two:
        assert asyncio.run(run(one, two)) == ("one", "two")


@pytest.mark.parametrize(
    "refusal",
    [
        HttpStatus(400),
        HttpStatus(401),
        HttpStatus(403),
        HttpStatus(404),
        HttpStatus(402),
        HttpStatus(400, error=ApiError("prompt is too long: 9 tokens > 4 maximum")),
    ],
)
def test_model_that_refuses_is_replaced_once_by_the_main_one(refusal):
    with Upstream(refusal) as chosen, Upstream(Reply("main")) as main:
        summarizer, answers = ask(at(chosen, "local/a"), at(main, "local/b"))
    assert answers == ["main"]
    assert len(chosen.requests) == len(main.requests) == 1
    assert [(call.model, call.ok) for call in summarizer.calls] == [("local/a", False), ("local/b", True)]


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "nobody/knows", "local/without-address"])
def test_model_that_is_missing_is_replaced_by_the_main_one(name, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Upstream(Reply("main")) as main:
        assert ask(ModelRef(name), at(main))[1] == ["main"]


def test_both_reasons_are_told_where_both_refuse():
    with Upstream(HttpStatus(401)) as chosen, Upstream(HttpStatus(404)) as main:
        _, [error] = ask(at(chosen, "local/a"), at(main, "local/b"))
    assert "local/a answered 401" in error.reason
    assert "local/b answered 404" in error.reason


def test_main_model_is_not_asked_for_what_may_pass():
    with Upstream(HttpStatus(503)) as chosen, Upstream(Reply("main")) as main:
        _, [error] = ask(at(chosen), at(main))
    assert error.retry_after == 60
    assert (len(chosen.requests), len(main.requests)) == (2, 0)


def test_passing_failure_is_tried_once_more():
    with Upstream([HttpStatus(503), GOOD]) as up:
        assert ask(at(up))[1] == ["## Goal\nShip it."]


def test_never_more_than_four_calls_are_made():
    with Upstream([HttpStatus(500), HttpStatus(401)]) as chosen, Upstream(HttpStatus(500)) as main:
        ask(at(chosen, "local/a"), at(main, "local/b"))
    assert len(chosen.requests) + len(main.requests) == 4


def test_output_cap_that_is_too_large_is_lowered_to_what_is_left():
    with Upstream(GOOD, window_tokens=5_000) as up:
        _, answers = ask(at(up))
    assert answers == ["## Goal\nShip it."]
    assert up.requests[0].request.max_output == 8_000
    assert 2_000 <= up.requests[1].request.max_output < 5_000


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(""), "its answer was empty"),
        (Reply(" \n"), "its answer was empty"),
        (Reply("", reasoning="Hmm."), "it only thought"),
        (Reply("## Goal", finish=FinishReason.LENGTH), "cut off at the output cap"),
        (Reply("I cannot.", finish=FinishReason.FILTER), "it refused"),
        (Reply("Let me look.", (ToolCall("c1", "read_file", "{}"),)), "it called a tool"),
    ],
)
def test_answer_that_is_no_summary_is_a_failure_that_is_paid_for(reply, reason, api):
    with Upstream(reply) as up:
        summarizer, [error] = ask(at(up, api=api))
    [call] = summarizer.calls
    assert reason in error.reason
    assert error.reason.startswith("local/small: ")
    assert (call.ok, call.failure, len(up.requests)) == (False, error.reason, 1)
    assert call.usage.prompt_tokens > 0


def test_failure_is_followed_by_a_minute_of_silence(clock):
    with Upstream(HttpStatus(500)) as up:
        _, answers = ask(at(up), clock=clock, requests=3)
    assert len(up.requests) == 2
    assert [answer.retry_after for answer in answers] == [60, 60, 60]
    assert "not asked again for 60 s" in answers[2].reason
    assert "local/small answered 500" in answers[2].reason


def test_person_who_asks_is_not_kept_waiting(clock):
    with Upstream(HttpStatus(500)) as up:
        ask(at(up), clock=clock, requests=2, is_manual=True)
    assert len(up.requests) == 4


def test_silence_ends_with_time_and_with_success(clock):
    async def run(up):
        async with ModelSummarizer(at(up), clock=clock, retries=Retries(max_calls=1)) as summarizer:
            with pytest.raises(SummaryUnavailable):
                await summarizer(REQUEST)
            clock.now += 59
            with pytest.raises(SummaryUnavailable) as waiting:
                await summarizer(REQUEST)
            clock.now += 1
            return waiting.value.retry_after, await summarizer(REQUEST), await summarizer(REQUEST)

    with Upstream([HttpStatus(500), GOOD, GOOD]) as up:
        assert asyncio.run(run(up)) == (1, GOOD.text, GOOD.text)


@pytest.mark.slow
def test_repeated_timeouts_are_given_more_and_more_time(clock):
    async def run(up):
        waits = []
        async with ModelSummarizer(at(up), clock=clock, deadline_seconds=0.25) as summarizer:
            for _ in range(4):
                with pytest.raises(SummaryUnavailable, match=r"no answer within 0\.25 s") as late:
                    await summarizer(REQUEST)
                waits.append(late.value.retry_after)
                clock.now += late.value.retry_after
            await summarizer(REQUEST, is_manual=True)
            with pytest.raises(SummaryUnavailable) as late:
                await summarizer(REQUEST)
            return [*waits, late.value.retry_after]

    with Upstream([NEVER, NEVER, NEVER, NEVER, GOOD, NEVER]) as up:
        assert asyncio.run(run(up)) == [60, 300, 900, 900, 60]


@pytest.mark.parametrize(("asked", "seconds"), [("20", 60), ("200", 200), ("99999999", 900)])
def test_provider_that_asks_for_time_gets_it_within_reason(asked, seconds, clock):
    with Upstream(HttpStatus(429, headers={"Retry-After": asked})) as up:
        _, [error] = ask(at(up), clock=clock)
    assert (error.retry_after, len(up.requests)) == (seconds, 1)


def test_without_any_model_nobody_asks_for_ten_minutes(clock, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert ask(clock=clock)[1][0].retry_after == 600
    _, [error] = ask("openai/gpt-5-mini", clock=clock)
    assert error.retry_after == 600
    assert "OPENAI_API_KEY" in error.reason


def test_model_that_refuses_is_passed_over_for_a_while(clock):
    async def run(chosen, main):
        async with ModelSummarizer(
            at(chosen, "local/a"), main=at(main, "local/b"), clock=clock
        ) as summarizer:
            for _ in range(3):
                await summarizer(REQUEST)
            await summarizer(REQUEST, is_manual=True)
            clock.now += 61
            await summarizer(REQUEST)
            return [call.model for call in summarizer.calls]

    with Upstream(HttpStatus(401)) as chosen, Upstream(GOOD) as main:
        models = asyncio.run(run(chosen, main))
    assert models == ["local/a", *["local/b"] * 3, "local/a", "local/b", "local/a", "local/b"]


def test_model_that_states_its_window_is_not_met_with_silence(clock):
    too_long = HttpStatus(400, error=ApiError("prompt is too long: 50000 tokens > 8192 maximum"))
    with Upstream([too_long, GOOD]) as up:
        _, [error, answer] = ask(at(up), clock=clock, requests=2)
    assert (error.retry_after, error.__cause__.limit) == (None, 8_192)
    assert answer == GOOD.text


def test_records_of_calls_do_not_grow_for_ever():
    assert ModelSummarizer("ollama/qwen3:8b")._calls.maxlen == MOST_RECORDS == 1_000


def test_another_main_model_is_asked_at_once(clock):
    with Upstream(HttpStatus(500)) as bad, Upstream(GOOD) as good:
        main = iter([at(bad, "local/a"), at(good, "local/b")])
        _, answers = ask(None, lambda: next(main), clock=clock, requests=2)
    assert isinstance(answers[0], SummaryUnavailable)
    assert answers[1] == GOOD.text


def test_calls_are_put_down_with_usage_price_and_time(clock):
    def slowly(_received):
        clock.now += 4
        return Reply("notes", usage=CanonicalUsage(10_000, 500))

    with Upstream(slowly) as up:
        summarizer, _ = ask(at(up, "openai/gpt-5-mini"), clock=clock)
    [call] = summarizer.calls
    assert (call.model, call.seconds, call.ok) == ("openai/gpt-5-mini", 4, True)
    assert call.usage == CanonicalUsage(10_000, 500)
    assert call.raw_usage["completion_tokens"] == 500
    assert call.cost.dollars == Decimal("0.0035")


def test_cost_is_unknown_rather_than_nothing():
    with Upstream([Reply("notes", usage=UsageReport.MISSING), GOOD, HttpStatus(500), HttpStatus(500)]) as up:
        silent, _ = ask(at(up, "openai/gpt-5-mini"))
        own, _ = ask(at(up, "local/gpt-5-mini"))
        failed, _ = ask(at(up, "openai/gpt-5-mini"))
    assert [each.calls[0].cost.dollars for each in (silent, own, failed)] == [None, None, None]


def test_what_a_gateway_says_it_charged_is_the_cost():
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cost": 0.25}
    choice = {"message": {"role": "assistant", "content": "notes"}, "finish_reason": "stop"}
    with Upstream(HttpStatus(200, {"choices": [choice], "usage": usage})) as up:
        summarizer, _ = ask(at(up))
    assert summarizer.calls[0].cost.dollars == Decimal("0.25")


def test_interrupted_call_is_put_down_and_leaves_no_silence():
    async def run(up):
        async with ModelSummarizer(at(up)) as summarizer:
            task = asyncio.create_task(summarizer(REQUEST))
            await asyncio.to_thread(up.wait_until, lambda: len(up.requests) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return summarizer.calls, await summarizer(REQUEST)

    with Upstream([NEVER, GOOD]) as up:
        [call], answer = asyncio.run(run(up))
        assert (call.failure, answer) == ("interrupted", GOOD.text)


def test_connections_are_closed_with_the_summariser():
    with Upstream(GOOD) as up:
        ask(at(up))
        up.wait_until(lambda: up.open_connections == 0)


def test_event_loop_goes_on_while_a_model_thinks():
    async def run(up):
        async with ModelSummarizer(at(up)) as summarizer:
            task = asyncio.create_task(summarizer(REQUEST))
            turns = 0
            while not task.done():
                turns += 1
                await asyncio.sleep(0.001)
            return turns

    with Upstream(Reply("notes", fault=DeliveryFault(headers_seconds=0.1))) as up:
        assert asyncio.run(run(up)) > 10


def test_key_stays_out_of_reasons_and_records():
    echoing = HttpStatus(401, error=ApiError("no such key: sk-verysecret123456"))
    with Upstream(echoing) as up:
        model = at(up, key=ApiKey("sk-verysecret123456"))
        summarizer, [error] = ask(model)
    assert "verysecret" not in f"{error!r} {error} {summarizer.calls!r} {model!r}"


def test_what_keeps_a_model_from_being_asked_can_be_had_beforehand(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        ModelSummarizer("openai/gpt-5-mini").check()
    with pytest.raises(ConfigError, match="provider/model"):
        ModelSummarizer("gpt-5-mini").check()
    ModelSummarizer("ollama/qwen3:8b").check()
