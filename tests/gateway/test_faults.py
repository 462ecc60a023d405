"""What clients get when an upstream fails: the right status, the right envelope, and one call upstream."""

import json
import threading

import pytest

from midfold.providers import Timeouts
from midfold.testing import HttpStatus, Reply, Upstream
from midfold.testing.upstream import (
    HANG_UP,
    NEVER,
    RESET,
    ApiError,
    DeliveryFault,
    Framing,
    Raw,
    Unreachable,
)
from midfold.tokens import CanonicalUsage

IMPATIENT = Timeouts(connect=1.0, headers=0.7, idle=2.0, error_body=1.0)
DIALECTS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
ENVELOPE = {"openai": ("message", "type", "param", "code"), "anthropic": ("type", "message")}


def ask(running, dialect, stream):
    body = {
        "model": "any",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "hi"}],
        "stream": stream,
    }
    return running.ask(DIALECTS[dialect], body)


PASSED = {
    "429": HttpStatus(429, headers={"Retry-After": "2"}),
    "429 with a date": HttpStatus(429, headers={"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
    "500": HttpStatus(500),
    "502 with a page": HttpStatus(502, "<html>Bad gateway</html>"),
    "503": HttpStatus(503, headers={"Retry-After": "1"}),
    "529": HttpStatus(529),
    "413": HttpStatus(413, {"error": {"message": "too many bytes"}}),
    "418": HttpStatus(418, b"\x00\xff"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", PASSED)
def test_a_failure_of_the_provider_is_its_own(gateway, name, dialect, stream):
    said = PASSED[name]
    with Upstream(said) as up:
        answer = ask(gateway(up), dialect, stream)
    assert answer.status == said.status
    assert answer.headers.get("retry-after") == said.headers.get("Retry-After")
    assert len(up.requests) == 1


BROKEN = {
    "hang up": (HANG_UP, 502),
    "reset": (RESET, 502),
    "never": (NEVER, 504),
    "garbage": (Raw(b"no http at all\r\n\r\n"), 502),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", BROKEN)
def test_an_upstream_that_does_not_answer_is_named_in_the_dialect(gateway, name, dialect, stream):
    said, status = BROKEN[name]
    with Upstream(said) as up:
        answer = ask(gateway(up, timeouts=IMPATIENT), dialect, stream)
    assert answer.status == status
    error = answer.json["error"]
    assert tuple(error) == ENVELOPE[dialect]
    assert error["message"]
    assert len(up.requests) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_upstream_that_cannot_be_reached_is_a_bad_gateway(gateway, dialect):
    with Upstream() as up:
        url = up.url
    assert ask(gateway(url), dialect, False).status == 502


def test_an_upstream_whose_connection_never_ends_is_given_up(gateway, quick):
    with Unreachable() as nowhere:
        assert ask(gateway(nowhere.url, timeouts=quick), "openai", False).status == 502


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "fault",
    [
        DeliveryFault(length_off_by=50),
        DeliveryFault(framing=Framing.BROKEN_CHUNKS),
        DeliveryFault(cut_at=40),
    ],
    ids=["length", "chunks", "cut"],
)
def test_half_an_answer_is_never_taken_for_a_whole_one(gateway, dialect, fault):
    with Upstream(Reply("word " * 200, fault=fault)) as up:
        answer = ask(gateway(up), dialect, False)
    assert answer.broke_off
    assert len(up.requests) == 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_inside_a_200_passes_as_it_is(gateway, dialect, stream):
    with Upstream(Reply("so far", error=ApiError("Overloaded", "overloaded_error"))) as up:
        answer = ask(gateway(up), dialect, stream)
    assert answer.status == 200
    assert b"Overloaded" in answer.body
    assert len(up.requests) == 1


SILENT = {
    "finish": Reply("", finish="model_context_window_exceeded"),
    "an error in a 200": HttpStatus(
        200, {"base_resp": {"status_code": 1039, "status_msg": "token limit exceeded"}}
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_a_reply_that_did_not_see_everything_is_flagged(gateway, name):
    with Upstream([SILENT[name]], then=Reply("ok")) as up:
        running = gateway(up)
        ask(running, "anthropic" if name == "finish" else "openai", False)
        running.settle()
        answer = ask(running, "anthropic" if name == "finish" else "openai", False)
    assert "may not have seen everything" in answer.changes["x-midfold-warning"]


def test_a_cut_prompt_is_flagged_by_the_usage_that_is_reported(gateway):
    body = {"model": "any", "messages": [{"role": "user", "content": "word " * 8_000}]}
    with Upstream([Reply("ok", usage=CanonicalUsage(2_048, 5))], then=Reply("ok")) as up:
        running = gateway(up)
        running.ask("/v1/chat/completions", body)
        running.settle()
        answer = running.ask("/v1/chat/completions", body)
    assert "far fewer tokens reported" in answer.changes["x-midfold-warning"]


def test_more_reported_than_the_window_holds_is_flagged(gateway):
    body = {"model": "any", "messages": [{"role": "user", "content": "word " * 3_000}]}
    with Upstream([Reply("ok", usage=CanonicalUsage(9_000, 5))], then=Reply("ok")) as up:
        running = gateway(up, model__context_length=8_000)
        running.ask("/v1/chat/completions", body)
        running.settle()
        answer = running.ask("/v1/chat/completions", body)
    assert "more tokens reported than the window holds" in answer.changes["x-midfold-warning"]


def test_a_stop_ends_streams_with_an_error_event(settings_for, run_gateway):
    text = " ".join(f"word{number}" for number in range(400))
    with Upstream(Reply(text, fault=DeliveryFault(chunk_seconds=0.05))) as up:
        settings = settings_for(up, gateway__stop_seconds=1)
        answers = []
        with run_gateway(settings) as each:
            threads = [
                threading.Thread(target=lambda: answers.append(ask(each, "anthropic", True)))
                for _ in range(20)
            ]
            for thread in threads:
                thread.start()
            up.wait_until(lambda: len(up.requests) == 20)
        for thread in threads:
            thread.join()
    assert len(answers) == 20
    for answer in answers:
        assert answer.status == 200
        last = answer.body.rstrip().rsplit(b"\n", 1)[1].removeprefix(b"data: ")
        assert "stopping" in json.loads(last)["error"]["message"]
        assert b"message_stop" not in answer.body
