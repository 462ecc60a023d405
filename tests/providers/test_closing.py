"""A closed model says so with a type, whoever closes it and when, and leaves nothing open."""

import asyncio
import gc
import subprocess
import sys
import threading
from collections import Counter

import pytest

from midfold.concurrency import LoopClosed, LoopThread
from midfold.errors import ProviderUnavailable
from midfold.providers import BlockingModel, Model
from midfold.providers.client import open_transport
from midfold.testing.upstream import NEVER, DeliveryFault, Ending, Reply, Upstream

RACES = 60
CALLERS = 4


@pytest.fixture(autouse=True)
def _nothing_is_left():
    """What is left open complains when it is collected, and a complaint fails the test."""
    before = set(threading.enumerate())
    yield
    gc.collect()
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if thread.name.startswith("midfold")] == []


def race(call, close, *, after: int) -> Counter[str]:
    """Call on and on in many threads, close beside them after so many calls, and count how they ended."""
    ended: Counter[str] = Counter()
    started, answered = threading.Barrier(CALLERS + 1), threading.Semaphore(0)

    def call_on() -> None:
        started.wait()
        try:
            while True:
                call()
                answered.release()
        except (ProviderUnavailable, LoopClosed) as error:
            ended[type(error).__name__] += 1

    callers = [threading.Thread(target=call_on, daemon=True) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    started.wait()
    for _ in range(after):
        answered.acquire()
    close()
    for caller in callers:
        caller.join(timeout=10)
    assert not any(caller.is_alive() for caller in callers)
    return ended


def test_callers_return_when_the_loop_is_closed_beside_them():
    async def nothing() -> None:
        await asyncio.sleep(0)

    for number in range(RACES):
        thread = LoopThread()
        ended = race(lambda loop=thread: loop.run(nothing()), thread.close, after=number)
        assert ended == {"LoopClosed": CALLERS}


@pytest.mark.parametrize("streams", [False, True], ids=["plain", "stream"])
def test_model_that_is_closed_beside_its_callers_refuses_and_leaves_nothing_open(streams):
    with Upstream(Reply("some words that come in more than one piece")) as up:
        for number in range(RACES):
            model = BlockingModel(Model.open("scripted", base_url=up.url))
            ask = (lambda it: list(it.stream("hello"))) if streams else (lambda it: it.complete("hello"))
            ended = race(lambda it=model, ask=ask: ask(it), model.close, after=number % 10)
            assert ended == {"ProviderUnavailable": CALLERS}
        up.wait_until(lambda: up.open_connections == 0)


def test_models_whose_thread_is_closed_beside_them_are_closed_with_it():
    with Upstream(Reply("hello")) as up:
        for number in range(RACES // 4):
            thread = LoopThread()
            models = [BlockingModel(Model.open(name, base_url=up.url), thread=thread) for name in "ab"]
            ask = lambda both=models: [model.complete("hello") for model in both]  # noqa: E731
            assert race(ask, thread.close, after=number % 5) == {"ProviderUnavailable": CALLERS}
            for model in models:
                model.close()
        up.wait_until(lambda: up.open_connections == 0)


def test_call_that_waits_is_ended_by_closing():
    with Upstream(NEVER) as up:
        model = BlockingModel(Model.open("scripted", base_url=up.url))
        closer = threading.Thread(
            target=lambda: (up.wait_until(lambda: len(up.requests) == 1), model.close())
        )
        closer.start()
        with pytest.raises(ProviderUnavailable, match="local/scripted: the model is closed"):
            model.complete("hello")
        closer.join()


def test_closing_twice_is_no_harm_and_closed_is_closed(api):
    with Upstream() as up:
        model = BlockingModel(Model.open("scripted", base_url=up.url, api=api))
        model.complete("hello")
        model.close()
        model.close()
        with pytest.raises(ProviderUnavailable, match="the model is closed"):
            model.complete("hello")
        with pytest.raises(ProviderUnavailable, match="the model is closed"):
            list(model.stream("hello"))
        assert len(up.requests) == 1


@pytest.mark.parametrize("is_shared", [False, True], ids=["own pool", "shared pool"])
def test_async_model_that_is_closed_opens_nothing_again(is_shared):
    async def use_closed(url: str) -> None:
        transport = open_transport() if is_shared else None
        model = Model.open("scripted", base_url=url, transport=transport)
        await model.complete("hello")
        await model.aclose()
        await model.aclose()
        with pytest.raises(ProviderUnavailable, match="the model is closed"):
            await model.complete("hello")
        with pytest.raises(ProviderUnavailable, match="the model is closed"):
            await anext(model.stream("hello"))
        if transport:
            await transport.aclose()

    with Upstream() as up:
        asyncio.run(use_closed(up.url))
        assert len(up.requests) == 1


STALLED = {
    "before the headers": NEVER,
    "in the body": Reply("words", fault=DeliveryFault(cut_at=3, ending=Ending.STALL)),
}


@pytest.mark.parametrize("answer", STALLED.values(), ids=STALLED)
def test_closed_pool_ends_calls_under_way_without_asking_again(answer, api, waits):
    async def close_beside(up: Upstream) -> None:
        transport = open_transport()
        options = {"api": api, "transport": transport, "retries": waits.retries}
        async with Model.open("scripted", base_url=up.url, **options) as model:
            call = asyncio.create_task(model.complete("hello"))
            await asyncio.to_thread(up.wait_until, lambda: len(up.requests) == 1)
            await transport.aclose()
            with pytest.raises(ProviderUnavailable, match="the model is closed"):
                await call

    with Upstream(answer) as up:
        asyncio.run(close_beside(up))
        assert len(up.requests) == 1
    assert waits.seconds == []


LEFT_OPEN = """
import threading
from midfold.providers import BlockingModel, Model
from midfold.testing.upstream import Upstream
with Upstream() as up:
    model = BlockingModel(Model.open("scripted", base_url=up.url))
    model.complete("hello")
    {then}
    print(*(thread.name for thread in threading.enumerate() if thread.name.startswith("midfold")))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("then", "threads"), [("del model", ""), ("pass", "midfold-models")], ids=["lost", "at the end"]
)
def test_model_that_is_left_open_is_closed_with_one_warning_that_says_how(then, threads):
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", LEFT_OPEN.format(then=then)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == threads
    assert done.stderr.count("Warning") == 1
    assert "ResourceWarning: a model or summariser was left open" in done.stderr
    assert "close()" in done.stderr
    assert "Unclosed" not in done.stderr
