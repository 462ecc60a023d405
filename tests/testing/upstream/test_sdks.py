"""The official clients work against the upstream unchanged: that is what shows it speaks their APIs."""

import asyncio
import inspect
import json

import anthropic
import openai
import pytest

from midfold.messages import ToolCall
from midfold.testing.upstream import ApiError, DeliveryFault, HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage

TEXT = "Grüße aus 上海! The tariff of zone 4 is 2.40 a day."
CALLS = (
    ToolCall("call_1", "read_file", '{"path":"src/tariff.py","start_line":120}'),
    ToolCall("call_2", "list_zones", "{}"),
)
REPLY = Reply(
    TEXT,
    CALLS,
    reasoning="zone 4, by day",
    usage=CanonicalUsage(input_tokens=100, output_tokens=30, cache_read_tokens=2_000, cache_write_tokens=400),
)
HELLO = [{"role": "user", "content": "hello"}]
SPOKEN = [(call.id, call.name, json.loads(call.arguments)) for call in CALLS]


async def settle(value):
    return await value if inspect.isawaitable(value) else value


async def collect(stream):
    if hasattr(stream, "__aiter__"):
        return [event async for event in stream]
    return list(stream)


@pytest.fixture(params=["sync", "async"])
def run(request):
    """Run a use of an SDK against an upstream, with the clients of one kind."""

    def run(use, script=REPLY, **options):
        async def session(up):
            is_async = request.param == "async"
            keys = {"api_key": "test", "max_retries": 0, **options}
            oai = (openai.AsyncOpenAI if is_async else openai.OpenAI)(base_url=f"{up.url}/v1", **keys)
            ant = (anthropic.AsyncAnthropic if is_async else anthropic.Anthropic)(base_url=up.url, **keys)
            try:
                return await use(oai, ant)
            finally:
                await settle(oai.close())
                await settle(ant.close())

        with Upstream(script) as up:
            return asyncio.run(session(up))

    return run


def test_chat_completions(run):
    async def use(oai, _):
        return await settle(oai.chat.completions.create(model="m", messages=HELLO))

    completion = run(use)
    message = completion.choices[0].message
    assert message.content == TEXT
    calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls]
    assert calls == SPOKEN
    assert completion.choices[0].finish_reason == "tool_calls"
    assert completion.usage.prompt_tokens == 2_500
    assert completion.usage.prompt_tokens_details.cached_tokens == 2_000


def test_chat_completions_as_a_stream(run):
    async def use(oai, _):
        options = {"include_usage": True}
        stream = oai.chat.completions.create(model="m", messages=HELLO, stream=True, stream_options=options)
        return await collect(await settle(stream))

    chunks = run(use)
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == TEXT
    arguments = ["", ""]
    for piece in (piece for delta in deltas for piece in delta.tool_calls or ()):
        arguments[piece.index] += piece.function.arguments
    assert arguments == [call.arguments for call in CALLS]
    assert chunks[-1].usage.completion_tokens == 30


def test_responses(run):
    async def use(oai, _):
        return await settle(oai.responses.create(model="m", input="hello"))

    response = run(use)
    assert response.output_text == TEXT
    assert [item.type for item in response.output] == ["reasoning", "message", *["function_call"] * 2]
    calls = [(c.call_id, c.name, json.loads(c.arguments)) for c in response.output[2:]]
    assert calls == SPOKEN
    assert response.usage.input_tokens == 2_500


def test_responses_as_a_stream(run):
    async def use(oai, _):
        with_events = oai.responses.stream(model="m", input="hello")
        if hasattr(with_events, "__aenter__"):
            async with with_events as stream:
                return await collect(stream), await stream.get_final_response()
        with with_events as stream:
            return list(stream), stream.get_final_response()

    events, final = run(use)
    words = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(words) == final.output_text == TEXT
    assert [(c.call_id, c.name, json.loads(c.arguments)) for c in final.output[2:]] == SPOKEN
    assert final.usage.input_tokens_details.cached_tokens == 2_000


def test_messages(run):
    async def use(_, ant):
        return await settle(ant.messages.create(model="m", max_tokens=100, messages=HELLO))

    message = run(use)
    thinking, text, *calls = message.content
    assert (thinking.thinking, text.text) == ("zone 4, by day", TEXT)
    assert [(call.id, call.name, call.input) for call in calls] == SPOKEN
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (100, 2_000)


def test_messages_as_a_stream(run):
    async def use(_, ant):
        with_events = ant.messages.stream(model="m", max_tokens=100, messages=HELLO)
        if hasattr(with_events, "__aenter__"):
            async with with_events as stream:
                return await collect(stream.text_stream), await stream.get_final_message()
        with with_events as stream:
            return list(stream.text_stream), stream.get_final_message()

    words, final = run(use)
    assert "".join(words) == TEXT
    assert [(call.id, call.name, call.input) for call in final.content[2:]] == SPOKEN
    assert final.usage.output_tokens == 30


def test_count_tokens_and_models(run):
    async def use(oai, ant):
        counted = await settle(ant.messages.count_tokens(model="m", messages=HELLO))
        if isinstance(oai, openai.OpenAI):
            return counted, [model.id for model in oai.models.list()], [m.id for m in ant.models.list()]
        openai_ids = [model.id async for model in oai.models.list()]
        return counted, openai_ids, [model.id async for model in ant.models.list()]

    counted, *listed = run(use)
    assert counted.input_tokens > 0
    assert listed == [["scripted"], ["scripted"]]


def test_a_stream_in_single_bytes_and_compressed_is_the_same_to_them(run):
    async def use(oai, ant):
        chat = await settle(oai.chat.completions.create(model="m", messages=HELLO, stream=True))
        chunks = await collect(chat)
        stream = ant.messages.create(model="m", max_tokens=9, messages=HELLO, stream=True)
        return chunks, await collect(await settle(stream))

    chunks, events = run(use, Reply(TEXT, fault=DeliveryFault(pieces=(1, 2, 3), gzip=True)))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    texts = [event.delta.text for event in events if event.type == "content_block_delta"]
    assert "".join(texts) == TEXT


def test_errors_are_theirs(run):
    async def use(oai, ant):
        with pytest.raises(openai.RateLimitError, match="slow down"):
            await settle(oai.chat.completions.create(model="m", messages=HELLO))
        with pytest.raises(openai.RateLimitError, match="slow down"):
            await settle(oai.responses.create(model="m", input="hello"))
        with pytest.raises(anthropic.RateLimitError, match="slow down"):
            await settle(ant.messages.create(model="m", max_tokens=9, messages=HELLO))

    run(use, HttpStatus(429, error=ApiError("slow down", "rate_limit_error")))


def test_an_error_inside_a_stream_is_an_error_to_them(run):
    async def use(oai, ant):
        with pytest.raises(openai.APIError, match="no more"):
            await collect(await settle(oai.chat.completions.create(model="m", messages=HELLO, stream=True)))
        stream = ant.messages.create(model="m", max_tokens=9, messages=HELLO, stream=True)
        with pytest.raises(anthropic.APIStatusError, match="no more"):
            await collect(await settle(stream))

    run(use, Reply("so far", error=ApiError("no more")))


def test_they_try_again_after_a_failure(run):
    async def use(oai, _):
        return await settle(oai.chat.completions.create(model="m", messages=HELLO))

    completion = run(use, [HttpStatus(503, headers={"Retry-After-Ms": "1"}), Reply("at last")], max_retries=1)
    assert completion.choices[0].message.content == "at last"
