"""A gateway that is killed: the next one serves, finds the conversation, and takes what was paid for."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from midfold.store import open_store
from midfold.testing import Reply, Upstream, transcript
from midfold.testing.upstream import DeliveryFault

pytestmark = pytest.mark.slow

SUMMARY = "## Goal\nMake the parking meter follow its tariff.\n\n## Remaining Work\nGo on with the request."
ITEMS = transcript("openai_chat", turns=110, result_chars=1_000)
STREAMS = 100
NEAR, OVER = ITEMS[:330], ITEMS[:400]
"""past 80 % of the threshold, and over it"""


class Provider:
    """Answers conversations and summaries, and counts the latter."""

    def __init__(self, summary_seconds=0.0, words="ok", chunk_seconds=0.0):
        self.summaries = 0
        self.summary_seconds = summary_seconds
        self.reply = Reply(words, fault=DeliveryFault(chunk_seconds=chunk_seconds))

    def __call__(self, received):
        if received.json["model"] != "writer":
            return self.reply
        self.summaries += 1
        return Reply(SUMMARY, fault=DeliveryFault(headers_seconds=self.summary_seconds))


@pytest.fixture
def serve(tmp_path):
    """Run gateways as processes on one store."""

    @contextmanager
    def run(up):
        environ = {
            **os.environ,
            "MIDFOLD_HOME": str(tmp_path),
            "MIDFOLD_GATEWAY__UPSTREAMS": json.dumps({"openai": {"base_url": up.url}}),
            "MIDFOLD_PROVIDERS": "",
            "MIDFOLD_PROVIDERS__SCRIPTED__BASE_URL": f"{up.url}/v1",
            "MIDFOLD_COMPRESSION__SUMMARY_MODEL": "scripted/writer",
            "MIDFOLD_COMPRESSION__STRATEGY": "fold",
            "MIDFOLD_GATEWAY__STOP_SECONDS": "1",
            "MIDFOLD_MODEL__CONTEXT_LENGTH": "100000",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "midfold", "serve", "--port", "0"],
            env=environ,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            port = int(re.search(r":(\d+)$", process.stderr.readline().strip())[1])
            while "clients" not in process.stderr.readline():
                pass
            yield process, port
        finally:
            process.kill()
            process.communicate()

    return run


@contextmanager
def asking(port, items, stream=False):
    """Ask, and give the answer with its body yet to be read."""
    body = json.dumps({"model": "gpt-5-mini", "messages": items, "stream": stream})
    until = time.monotonic() + 10
    while True:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            try:
                connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
                with closing(connection.getresponse()) as answer:
                    yield answer
                    return
            except ConnectionRefusedError:  # it is not listening yet
                assert time.monotonic() < until


def ask(port, items):
    """Ask, and return the folds under the request."""
    with asking(port, items) as answer:
        assert answer.status == 200
        assert answer.read()
        return answer.getheader("x-midfold-folded")


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def kept_summaries(tmp_path):
    with open_store(tmp_path / "sessions.db") as store:
        tips = store.conversations()
        return [tip for tip in tips if store.load_state(tip.id, "paid_summary")]


def test_a_summary_that_was_paid_for_is_used_after_a_kill(serve, tmp_path):
    provider = Provider()
    with Upstream(provider) as up:
        with serve(up) as (process, port):
            ask(port, NEAR)
            wait_for(lambda: provider.summaries and kept_summaries(tmp_path))
            process.send_signal(signal.SIGKILL)
            process.wait()
        with serve(up) as (_, port):
            ask(port, NEAR)  # as a client asks again whose connection was lost
            wait_for(lambda: len([each for each in up.requests if each.json["model"] != "writer"]) == 2)
            wait_for(lambda: ask(port, OVER) == "1")  # while the fold is prepared, the request still fits
    assert provider.summaries == 1
    assert "parking meter" in json.dumps(up.requests[-1].json)


def test_a_kill_in_the_middle_of_a_summary_costs_that_summary_and_nothing_else(serve, tmp_path):
    provider = Provider(summary_seconds=3)
    with Upstream(provider) as up:
        with serve(up) as (process, port):
            ask(port, NEAR)
            wait_for(lambda: provider.summaries == 1)
            process.send_signal(signal.SIGKILL)
            process.wait()
        provider.summary_seconds = 0
        with serve(up) as (process, port):
            started = time.monotonic()
            ask(port, NEAR)
            assert time.monotonic() - started < 10
            process.terminate()
            process.wait()
    with open_store(tmp_path / "sessions.db") as store:
        assert len(store.conversations()) == 1
        assert store.check() == []


def test_a_kill_in_the_middle_of_a_stream_loses_no_conversation(serve, tmp_path, rounds):
    provider = Provider(words="word " * 200, chunk_seconds=0.02)
    words = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "b"},
    ]
    with Upstream(provider) as up:
        for _ in range(rounds // 2):
            with serve(up) as (process, port):
                with asking(port, words, stream=True) as answer:
                    assert answer.read(200)
                    process.send_signal(signal.SIGKILL)
                    with suppress(http.client.IncompleteRead, ConnectionError):
                        answer.read()
                up.wait_until(lambda: up.open_connections == 0)
        with serve(up) as (process, port):
            ask(port, words)
            process.terminate()
            process.wait()
    with open_store(tmp_path / "sessions.db") as store:
        assert store.check() == []
        assert len(store.conversations()) == 1


def test_a_stop_signal_ends_every_stream_with_an_error_event_and_the_process_well(serve, tmp_path):
    with Upstream(Provider(words="word " * 2_000, chunk_seconds=0.05)) as up, serve(up) as (process, port):
        with ExitStack() as stack:
            answers = []
            for number in range(STREAMS):
                items = [{"role": "user", "content": f"question {number}"}]
                answers.append(stack.enter_context(asking(port, items, stream=True)))
            assert all(answer.read(20) for answer in answers)
            process.send_signal(signal.SIGTERM)
            for answer in answers:
                ending = answer.read()
                assert b"stopping" in ending
                assert b"[DONE]" not in ending
        assert process.wait(30) == 0
    with open_store(tmp_path / "sessions.db") as store:
        assert store.check() == []
        assert len(store.conversations(limit=STREAMS + 1)) == STREAMS
