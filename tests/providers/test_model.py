"""Asking a model, over a real connection to a scripted one."""

import asyncio
import subprocess
import sys
from contextlib import aclosing

import pytest

from midfold.errors import ProviderError, ProviderUnavailable
from midfold.messages import ToolCall
from midfold.providers import Model, Timeouts, find_endpoint
from midfold.providers.client import open_transport
from midfold.providers.http import Transport
from midfold.testing import conversation
from midfold.testing.upstream import DeliveryFault, Ending, HttpStatus, Raw, Reply, Upstream
from midfold.wire import Request, convert
from midfold.wire.apis import CallChunk, Finish, ReasoningChunk, StreamDone, TextChunk

REPLY = Reply("It works.", (ToolCall("call_1", "ls", '{"path": "."}'),), reasoning="Let me see.")


def talk(up: Upstream, api: str, use, **options):
    """Open a model at the upstream and let `use` use it."""

    async def run():
        async with Model.open("scripted", base_url=up.url, api=api, **options) as model:
            return await use(model)

    return asyncio.run(run())


async def listen(stream) -> list[object]:
    return [event async for event in stream]


def test_answer_has_words_calls_thinking_and_usage(api):
    with Upstream(REPLY) as up:
        found = talk(up, api, lambda model: model.complete("hello"))
    assert (found.text, found.reasoning, found.finish) == ("It works.", "Let me see.", Finish.CALLS)
    assert [(call.name, call.parse_arguments()) for call in found.calls] == [("ls", {"path": "."})]
    assert found.usage.prompt_tokens > 0
    assert found.usage.output_tokens > 0
    assert found.raw_usage["output_tokens" if api != "openai_chat" else "completion_tokens"]


def test_a_stream_with_an_event_that_is_far_too_long_is_asked_for_once():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    with Upstream(Raw(head + b"data: " + bytes(17 << 20))) as up:
        with pytest.raises(ProviderUnavailable, match="longer than 16,777,216 bytes"):
            talk(up, "openai_chat", lambda model: listen(model.stream("hello")))
        assert len(up.requests) == 1


def test_stream_says_the_same_as_the_whole_answer(api):
    with Upstream(REPLY) as up:
        plain = talk(up, api, lambda model: model.complete("hello"))
        events = talk(up, api, lambda model: listen(model.stream("hello")))
    done = events[-1]
    assert isinstance(done, StreamDone)
    assert (done.completion.text, done.completion.calls) == (plain.text, plain.calls)
    assert done.completion.usage == plain.usage
    assert "".join(event.text for event in events if isinstance(event, TextChunk)) == plain.text
    assert "".join(event.text for event in events if isinstance(event, ReasoningChunk)) == plain.reasoning
    pieces = [event for event in events if isinstance(event, CallChunk)]
    assert "".join(piece.arguments for piece in pieces) == '{"path": "."}'


def test_conversation_goes_on_with_the_items_of_the_answer(api):
    async def two_turns(model: Model):
        messages = [{"role": "user", "content": "one"}]
        first = await model.complete(Request(api, messages))
        return await model.complete(
            Request(api, [*messages, *first.items, {"role": "user", "content": "two"}])
        )

    with Upstream() as up:
        assert talk(up, api, two_turns).text == "two"
        assert [message.text for message in up.requests[-1].messages] == ["one", "one", "two"]


def test_request_of_any_dialect_is_understood(api):
    for dialect in ("openai_chat", "openai_responses", "anthropic"):
        converted = convert(conversation(dialect, seed=3, turns=3), dialect)
        request = Request(dialect, converted.messages, system=converted.system)
        with Upstream(Reply("ok")) as up:
            assert talk(up, api, lambda model, sent=request: model.complete(sent)).text == "ok"


def test_system_prompt_and_output_cap_can_be_given_beside_a_text(api):
    with Upstream() as up:
        talk(up, api, lambda model: model.complete("hello", system="Be brief.", max_output=77))
        request = up.requests[0].request
    assert request.max_output == 77
    assert "Be brief." in (request.system_text, up.requests[0].messages[0].text)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "text/event-stream", ""])
def test_server_that_does_not_stream_is_understood_whatever_it_calls_its_answer(api, kind):
    with Upstream(REPLY) as up:
        plain = asyncio.run(fetch(up.url, api))
    headers = {"Content-Type": kind} if kind else {}
    with Upstream(HttpStatus(200, plain, headers, fault=DeliveryFault(pieces=(7,)))) as up:
        *deltas, done = talk(up, api, lambda model: listen(model.stream("hello")))
        assert len(up.requests) == 1
    assert (done.completion.text, done.completion.finish) == ("It works.", Finish.CALLS)
    assert deltas[:2] == [ReasoningChunk("Let me see."), TextChunk("It works.")]
    assert [(delta.id, delta.name) for delta in deltas[2:]] == [("call_1", "ls")]


async def fetch(url: str, api: str) -> bytes:
    """Return the body of a plain answer."""
    endpoint, transport = find_endpoint("scripted", base_url=url, api=api), Transport()
    async with transport.post(endpoint.url, endpoint.headers, b"{}") as answer:
        body = await answer.read()
    await transport.aclose()
    return body


def test_large_request_is_sent(api):
    with Upstream(Reply("ok")) as up:
        assert talk(up, api, lambda model: model.complete("x" * 3_000_000)).text == "ok"
        assert len(up.requests[0].body) > 3_000_000


def test_answer_larger_than_allowed_is_refused(api):
    async def run(url: str):
        transport = Transport(max_reply_bytes=1_000)
        try:
            async with Model.open("scripted", base_url=url, api=api, transport=transport) as model:
                await model.complete("hello")
        finally:
            await transport.aclose()

    with (
        Upstream(Reply("x" * 2_000)) as up,
        pytest.raises(ProviderUnavailable, match="larger than 1,000 bytes"),
    ):
        asyncio.run(run(up.url))


def test_small_packet_that_unpacks_to_a_giant_is_refused(waits):
    async def run(url: str):
        transport = Transport(max_reply_bytes=1_000_000)
        try:
            options = {"api": "openai_chat", "transport": transport, "retries": waits.retries}
            async with Model.open("scripted", base_url=url, **options) as model:
                await model.complete("hello")
        finally:
            await transport.aclose()

    with (
        Upstream(Reply("x" * 20_000_000, fault=DeliveryFault(gzip=True))) as up,
        pytest.raises(ProviderUnavailable),
    ):
        asyncio.run(run(up.url))


def test_connections_are_kept_and_shared():
    async def run(url: str):
        transport = open_transport()
        options = {"base_url": url, "transport": transport}
        for name in ("one", "two", "three"):
            async with Model.open(name, **options) as model:
                await model.complete("hello")
        await transport.aclose()

    with Upstream() as up:
        asyncio.run(run(up.url))
        assert (len(up.requests), up.connections) == (3, 1)


def test_caller_that_goes_away_ends_the_call(api):
    async def run(model: Model):
        async with aclosing(model.stream("hello")) as events:
            async for _ in events:
                break

    endless = Reply("word " * 500, fault=DeliveryFault(chunk_seconds=0.05))
    with Upstream(endless) as up:
        talk(up, api, run)
        up.wait_until(lambda: up.open_connections == 0)


def test_cancelled_call_lets_go_of_its_connection(api):
    async def run(model: Model):
        task = asyncio.create_task(model.complete("hello"))
        await asyncio.to_thread(up.wait_until, lambda: len(up.requests) == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(up.wait_until, lambda: up.open_connections == 0)

    with Upstream(Reply("x", fault=DeliveryFault(ending=Ending.STALL, cut_at=0))) as up:
        talk(up, api, run)


def test_many_calls_at_once_are_answered_each_with_its_own(api):
    async def run(model: Model):
        return await asyncio.gather(*(model.complete(f"number {n}") for n in range(40)))

    with Upstream() as up:
        assert [found.text for found in talk(up, api, run)] == [f"number {n}" for n in range(40)]


def test_model_belongs_to_one_event_loop():
    with Upstream() as up:
        model = Model.open("scripted", base_url=up.url)

        async def use():
            with pytest.raises(RuntimeError, match="open in another event loop"):
                await model.complete("hello")

        with asyncio.Runner() as first, asyncio.Runner() as second:
            first.run(model.complete("hello"))
            second.run(use())
            first.run(model.aclose())


def test_proxies_of_the_environment_are_not_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with Upstream(Reply("direct")) as up:
        assert talk(up, "openai_chat", lambda model: model.complete("hello")).text == "direct"


def test_headers_may_come_late_within_the_deadline():
    late = Reply("late", fault=DeliveryFault(headers_seconds=0.05))
    with Upstream(late) as up:
        found = talk(up, "anthropic", lambda model: model.complete("hello"), timeouts=Timeouts(headers=20))
    assert found.text == "late"


def test_error_names_who_failed_and_how():
    refusal = HttpStatus(400, {"error": {"message": "temperature must be between 0 and 2"}})
    with Upstream(refusal) as up, pytest.raises(ProviderError) as caught:
        talk(up, "openai_chat", lambda model: model.complete("hello"))
    assert str(caught.value) == "local/scripted answered 400: temperature must be between 0 and 2"
    assert b"temperature" in caught.value.body


def test_without_the_extra_the_error_says_how_to_install_it():
    code = (
        "import sys; sys.modules['aiohttp'] = None\n"
        "from midfold.errors import ExtraMissing\nfrom midfold.providers import Model\n"
        "try: Model.open('vllm/m')\n"
        "except ExtraMissing as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'midfold[models]'" in done.stdout


def test_importing_providers_does_not_load_the_client():
    code = "import sys, midfold.providers; print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
