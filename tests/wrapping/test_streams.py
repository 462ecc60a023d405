"""Wrapped clients that stream, and async ones."""

import asyncio

import anthropic
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

import midfold
from midfold.testing.upstream import Upstream
from support.wrapped import WINDOW, WORDS, answer, open_anthropic, open_openai, wrapped


def stream_chat(client, messages):
    usage = {"stream_options": {"include_usage": True}}
    words = []
    for chunk in client.chat.completions.create(model="gpt-5", messages=messages, stream=True, **usage):
        assert isinstance(chunk, ChatCompletionChunk)
        words += [choice.delta.content or "" for choice in chunk.choices]
    return {"role": "assistant", "content": "".join(words)}


def stream_chat_helper(client, messages):
    with client.chat.completions.stream(
        model="gpt-5", messages=messages, stream_options={"include_usage": True}
    ) as stream:
        list(stream)
        return {"role": "assistant", "content": stream.get_final_completion().choices[0].message.content}


def stream_messages(client, messages):
    events = client.messages.create(model="claude-opus-4-6", max_tokens=500, messages=messages, stream=True)
    words = [event.delta.text for event in events if event.type == "content_block_delta"]
    return {"role": "assistant", "content": "".join(words)}


def stream_messages_helper(client, messages):
    with client.messages.stream(model="claude-opus-4-6", max_tokens=500, messages=messages) as stream:
        said = "".join(stream.text_stream)
        assert stream.get_final_message().content[0].text == said
        return {"role": "assistant", "content": said}


def stream_responses(client, messages):
    events = list(client.responses.create(model="gpt-5", input=messages, stream=True))
    return {"role": "assistant", "content": events[-1].response.output_text}


@pytest.mark.parametrize(
    ("opened", "ask"),
    [
        (open_openai, stream_chat),
        (open_openai, stream_chat_helper),
        (open_anthropic, stream_messages),
        (open_anthropic, stream_messages_helper),
        (open_openai, stream_responses),
    ],
)
def test_streams_come_as_they_are_and_their_usage_is_read(opened, ask):
    with Upstream(answer, window_tokens=WINDOW) as up:
        client, messages = wrapped(opened(up)), []
        for turn in range(30):
            messages.append({"role": "user", "content": f"Question {turn}: {WORDS}"})
            messages.append(ask(client, messages))
            assert messages[-1]["content"].startswith("Answer ")
    report = midfold.client_report(client)
    assert (report.calls, report.unreported) == (30, 0)
    assert report.compressions >= 1
    assert report.usage.prompt_tokens == sum(request.count_tokens() for request in up.requests)


def test_a_stream_that_is_left_early_is_counted_as_far_as_it_was_reported():
    with Upstream(answer) as up:
        client = wrapped(open_anthropic(up))
        with client.messages.stream(
            model="claude-opus-4-6", max_tokens=50, messages=[{"role": "user", "content": "Hello"}]
        ) as stream:
            next(iter(stream))
        del stream
    assert midfold.client_report(client).usage.prompt_tokens > 0


def test_a_chat_stream_without_usage_is_said_to_be_unreported():
    with Upstream(answer) as up:
        client = wrapped(open_openai(up))
        for _ in client.chat.completions.create(
            model="gpt-5", messages=[{"role": "user", "content": "Hello"}], stream=True
        ):
            pass
    assert midfold.client_report(client).unreported == 1


@pytest.mark.parametrize("api", ["chat", "messages", "responses"])
def test_async_clients_are_wrapped_alike(api):
    async def talk(up):
        if api == "messages":
            client = anthropic.AsyncAnthropic(base_url=up.url, api_key="sk-test", max_retries=0)
        else:
            client = openai.AsyncOpenAI(base_url=up.url + "/v1", api_key="sk-test", max_retries=0)
        async with midfold.wrap(client, context_length=WINDOW) as inside:
            messages = []
            for turn in range(30):
                messages.append({"role": "user", "content": f"Question {turn}: {WORDS}"})
                messages.append({"role": "assistant", "content": await ask(inside, messages, turn)})
            return midfold.client_report(inside)

    async def ask(client, messages, turn):
        if api == "chat":
            reply = await client.chat.completions.create(model="gpt-5", messages=messages)
            return reply.choices[0].message.content
        if api == "responses":
            return (await client.responses.create(model="gpt-5", input=messages)).output_text
        if turn % 2:
            asked = {"model": "claude-opus-4-6", "max_tokens": 500, "messages": messages}
            async with client.messages.stream(**asked) as stream:
                return "".join([text async for text in stream.text_stream])
        reply = await client.messages.create(model="claude-opus-4-6", max_tokens=500, messages=messages)
        return reply.content[0].text

    with Upstream(answer, window_tokens=WINDOW) as up:
        report = asyncio.run(talk(up))
    assert (report.calls, report.unreported) == (30, 0)
    assert report.compressions >= 1


def test_parallel_calls_of_one_history_pay_for_one_summary():
    asked = []

    async def summarize(request):
        asked.append(request)
        await asyncio.sleep(0.05)
        return "## Goal\nCount the meters."

    async def talk(up):
        client = openai.AsyncOpenAI(base_url=up.url + "/v1", api_key="sk-test", max_retries=0)
        async with midfold.wrap(
            client, context_length=WINDOW, summarizer=summarize, prepare_ahead=False
        ) as inside:
            messages = []
            for turn in range(22):
                messages.append({"role": "user", "content": f"Question {turn}: {WORDS}"})
                messages.append({"role": "assistant", "content": "Noted."})
            messages.append({"role": "user", "content": "And now?"})
            await asyncio.gather(
                *(inside.chat.completions.create(model="gpt-5", messages=messages) for _ in range(5))
            )

    with Upstream(answer) as up:
        asyncio.run(talk(up))
    assert len(asked) == 1
    assert len({request.body for request in up.requests}) == 1
