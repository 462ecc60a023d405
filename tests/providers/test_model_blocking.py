"""Blocking callers are served by the same model, and leave nothing behind."""

import os
import signal
import threading
import time

import pytest

from midfold.concurrency import LoopThread
from midfold.errors import ProviderUnavailable
from midfold.providers import BlockingModel, Model
from midfold.testing.upstream import NEVER, DeliveryFault, HttpStatus, Reply, Upstream
from midfold.wire.apis import StreamDone, TextChunk


def threads() -> list[str]:
    return [
        thread.name
        for thread in threading.enumerate()
        if thread.name.startswith(("midfold-models", "asyncio"))
    ]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    assert threads() == []


def test_answer_is_returned(api):
    with Upstream() as up, BlockingModel(Model.open("scripted", base_url=up.url, api=api)) as model:
        assert model.complete("hello").text == "hello"


def test_stream_is_a_plain_iterator(api):
    with Upstream() as up, BlockingModel(Model.open("scripted", base_url=up.url, api=api)) as model:
        events = list(model.stream("hello"))
    assert "".join(event.text for event in events if isinstance(event, TextChunk)) == "hello"
    assert isinstance(events[-1], StreamDone)


def test_errors_are_those_of_the_async_model(waits):
    options = {"retries": waits.retries}
    with Upstream(HttpStatus(500)) as up, BlockingModel(Model.open("m", base_url=up.url, **options)) as model:
        with pytest.raises(ProviderUnavailable):
            model.complete("hello")
        with pytest.raises(ProviderUnavailable):
            list(model.stream("hello"))


def test_stream_that_is_left_early_ends_the_call():
    endless = Reply("word " * 500, fault=DeliveryFault(chunk_seconds=0.05))
    with Upstream(endless) as up, BlockingModel(Model.open("scripted", base_url=up.url)) as model:
        events = model.stream("hello")
        next(events)
        events.close()
        up.wait_until(lambda: up.open_connections == 0)


def test_stream_that_outlives_its_model_is_no_harm():
    endless = Reply("word " * 500, fault=DeliveryFault(chunk_seconds=0.05))
    with Upstream(endless) as up:
        with BlockingModel(Model.open("scripted", base_url=up.url)) as model:
            events = model.stream("hello")
            next(events)
        events.close()
        assert list(events) == []


def test_threads_may_share_a_model():
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = model.complete(f"number {number}").text

    with Upstream() as up, BlockingModel(Model.open("scripted", base_url=up.url)) as model:
        callers = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
    assert answers == {number: f"number {number}" for number in range(8)}


def test_models_may_share_a_thread():
    thread = LoopThread()
    with Upstream() as up:
        for name in ("one", "two"):
            with BlockingModel(Model.open(name, base_url=up.url), thread=thread) as model:
                assert model.complete("hello").text == "hello"
        assert [name for name in threads() if name.startswith("midfold")] == ["midfold-models"]
    thread.close()


def test_interrupted_caller_cancels_the_call():
    main = threading.main_thread().ident

    def interrupt() -> None:
        up.wait_until(lambda: len(up.requests) == 1)
        signal.pthread_kill(main, signal.SIGINT)

    with Upstream(NEVER) as up, BlockingModel(Model.open("scripted", base_url=up.url)) as model:
        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            model.complete("hello")
        interrupter.join()
        up.wait_until(lambda: up.open_connections == 0)
    assert time.monotonic() - started < 30


def test_waiting_for_itself_is_refused():
    thread = LoopThread()

    async def nest() -> None:
        async def inner() -> None:
            raise AssertionError("never run")

        thread.run(inner())

    with pytest.raises(RuntimeError, match="wait for itself"):
        thread.run(nest())
    thread.close()


def test_sockets_are_closed_with_the_model():
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a directory of the kernel
    for _ in range(3):
        with Upstream() as up, BlockingModel(Model.open("scripted", base_url=up.url)) as model:
            model.complete("hello")
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # noqa: PTH208 - a directory of the kernel
