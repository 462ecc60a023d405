"""Before the first fold nothing is changed: requests and answers pass byte for byte, nothing is added."""

import json
import random

import pytest

from midfold.testing import HttpStatus, Reply, Upstream, transcript
from midfold.testing.upstream import DeliveryFault, redirect

PATHS = {
    "/v1/chat/completions": ("messages", "openai_chat"),
    "/v1/messages": ("messages", "anthropic"),
    "/v1/responses": ("input", "openai_responses"),
}


def body_for(path, words="hello", **more):
    return {"model": "any", PATHS[path][0]: [{"role": "user", "content": words}], "max_tokens": 50, **more}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_bytes_pass_both_ways(gateway, path, stream):
    # Spelled as no encoder of ours would; the answer is one that no API gives.
    body = json.dumps(body_for(path, "Grüße", stream=stream), indent=3).encode()
    content = b'data: {"odd":  1}\r\n\r\n: comment\n\ndata: [DONE]\n\n' if stream else b'{ "odd":\t1 }'
    kind = "text/event-stream" if stream else "application/json"
    said = HttpStatus(200, content, {"Content-Type": kind, "X-Ratelimit-Left": "7", "Set-Cookie": "a=b"})
    with Upstream(said) as up:
        answer = gateway(up).ask(f"{path}?beta=true&x=%2F", body, x_unknown="kept", anthropic_beta="a,b")
    received = up.requests[0]
    assert received.body == body
    assert received.path == f"{path}?beta=true&x=%2F"
    assert received.headers["x-unknown"] == "kept"
    assert received.headers["anthropic-beta"] == "a,b"
    assert (answer.status, answer.body) == (200, content)
    assert answer.headers["x-ratelimit-left"] == "7"
    assert answer.changes == {}
    assert "server" not in answer.headers


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_hundreds_of_requests_of_every_kind_pass_byte_for_byte(gateway, path):
    field, dialect = PATHS[path]
    chance = random.Random(path)
    sent, answered = [], []

    def answer(received):
        content = json.dumps({"at": received.count_tokens(), "x": chance.random()}, indent=1).encode()
        answered.append(content)
        return HttpStatus(200, content, {"Content-Type": "application/json"})

    with Upstream(answer) as up:
        running = gateway(up)
        got = []
        for number in range(334):
            items = transcript(dialect, seed=number, turns=chance.randint(1, 4), images=number % 3 == 0)
            body = {"model": "gpt-5-mini", field: items, "odd": {"kept": [None, 1e-7, 2**70]}}
            sent.append(json.dumps(body, indent=chance.choice([None, 1, 4]), ensure_ascii=number % 2 == 0))
            got.append(running.ask(path, sent[-1].encode()))
    assert [received.body.decode() for received in up.requests] == sent
    assert [each.body for each in got] == answered
    assert not any(each.changes for each in got)


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[1, 2]", b'{"messages": 5}', b'{"messages": [{"no": "role"}]}', b"\xff\xfe"]
)
def test_what_cannot_be_read_is_the_providers_to_refuse(gateway, body):
    with Upstream(HttpStatus(400, {"error": {"message": "bad"}})) as up:
        answer = gateway(up).ask("/v1/chat/completions", body)
    assert answer.status == 400
    assert answer.json == {"error": {"message": "bad"}}
    assert up.requests[0].body == body


def test_a_history_that_the_provider_keeps_passes_as_it_is(gateway, store):
    body = {"model": "any", "input": "go on", "previous_response_id": "resp_1"}
    with Upstream(Reply("ok")) as up:
        assert gateway(up).ask("/v1/responses", body).status == 200
    assert up.requests[0].json == body
    assert store.conversations() == []


def test_models_and_sub_resources_pass(gateway):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        assert running.ask("/v1/models?limit=5", method="GET").status == 200
        assert running.ask("/v1/models", method="GET", anthropic_version="2023-06-01").status == 200
        running.ask("/v1/responses/resp_1/cancel", {})
        running.ask("/v1/responses/resp_1?include=x", method="DELETE")
        running.ask(
            "/v1/messages/count_tokens", {"model": "any", "messages": [{"role": "user", "content": "hi"}]}
        )
    assert [(each.method, each.path) for each in up.requests] == [
        ("GET", "/v1/models?limit=5"),
        ("GET", "/v1/models"),
        ("POST", "/v1/responses/resp_1/cancel"),
        ("DELETE", "/v1/responses/resp_1?include=x"),
        ("POST", "/v1/messages/count_tokens"),
    ]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v1", 404),
        ("POST", "/v1/files", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/messages/../models", 404),
        ("POST", "/v1/responses/%2e%2e/files", 400),
        ("GET", "/v1/models/..%2f..%2fsecret", 400),
    ],
)
def test_what_is_not_in_the_table_is_not_served(gateway, method, path, status):
    with Upstream(Reply("ok")) as up:
        answer = gateway(up).ask(path, b"{}", method=method)
    assert answer.status == status
    assert answer.json["error"]["message"]
    assert up.requests == []


def test_a_redirect_is_not_followed(gateway):
    with Upstream(Reply("ok")) as other, Upstream(redirect(f"{other.url}/v1/chat/completions")) as up:
        answer = gateway(up).ask("/v1/chat/completions", body_for("/v1/chat/completions"), x_api_key="secret")
    assert answer.status == 502
    assert other.requests == []
    assert "secret" not in answer.body.decode()


def test_errors_of_the_provider_pass_with_their_headers(gateway):
    said = HttpStatus(
        429, {"error": {"message": "slow down", "type": "rate_limit_error"}}, {"Retry-After": "7"}
    )
    with Upstream(said) as up:
        answer = gateway(up).ask("/v1/messages", body_for("/v1/messages"))
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert answer.json == {"error": {"message": "slow down", "type": "rate_limit_error"}}
    assert len(up.requests) == 1


def test_a_packed_answer_stays_packed(gateway):
    with Upstream(Reply("ok", fault=DeliveryFault(gzip=True))) as up:
        answer = gateway(up).ask(
            "/v1/chat/completions", body_for("/v1/chat/completions"), accept_encoding="gzip"
        )
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.body[:2] == b"\x1f\x8b"
