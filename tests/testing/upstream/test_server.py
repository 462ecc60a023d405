"""The server itself: what it records, how it runs a script, and that nothing of it stays behind."""

import asyncio
import json
import socket
import threading
from urllib.parse import urlsplit

import pytest

from midfold.testing.upstream import NEVER, DeliveryFault, HttpStatus, Raw, Reply, Upstream, echo

MANY = 200


def words_of(answer):
    return answer.json["choices"][0]["message"]["content"]


def test_what_was_received_is_kept(ask):
    with Upstream(Reply("hi")) as up:
        ask(up, "messages", "what is the tariff?", max_tokens=100)
        [received] = up.requests
    assert (received.method, received.path) == ("POST", "/v1/messages")
    assert received.headers["content-type"] == "application/json"
    assert json.loads(received.body) == received.json
    assert received.json["max_tokens"] == 100
    assert [message.text for message in received.messages] == ["what is the tariff?"]


def test_a_printed_request_shows_no_key(connect):
    with Upstream(Reply("hi")) as up:
        connection = connect(up)
        connection.request("POST", "/v1/chat/completions", "{}", {"Authorization": "Bearer secret-key"})
        assert connection.getresponse().status == 200
        [received] = up.requests
    assert received.headers["authorization"] == "Bearer secret-key"
    assert "secret-key" not in repr(received)


def test_a_script_is_answered_one_by_one(ask):
    with Upstream([Reply("one"), HttpStatus(503), Reply("three")]) as up:
        assert words_of(ask(up)) == "one"
        assert ask(up).status == 503
        assert words_of(ask(up)) == "three"


def test_the_end_of_a_script_is_said_plainly(ask):
    with Upstream([Reply("one")]) as up:
        ask(up)
        answer = ask(up)
    assert answer.status == 500
    assert answer.body == b"the script of this upstream has 1 answers; this is request 2"


@pytest.mark.parametrize(
    ("then", "said"), [(Reply("again"), "again"), (echo, "hello"), (lambda _: Reply("made"), "made")]
)
def test_what_comes_after_the_script_can_be_told(then, said, ask):
    with Upstream([Reply("one")], then=then) as up:
        assert [words_of(ask(up)) for _ in range(3)] == ["one", said, said]


def test_a_single_answer_is_given_every_time(ask):
    with Upstream(Reply("the same")) as up:
        assert {words_of(ask(up)) for _ in range(3)} == {"the same"}


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_without_a_script_the_newest_words_come_back(api, ask):
    with Upstream() as up:
        assert "what is the tariff?" in ask(up, api, "what is the tariff?").body.decode()


def test_a_function_sees_the_request(ask):
    with Upstream(lambda received: HttpStatus(418 if received.model == "m-1" else 500)) as up:
        assert ask(up).status == 418


def test_a_mistake_in_a_function_is_shown_to_the_client(ask):
    def wrong(received):
        raise KeyError("no such zone")

    with Upstream(wrong) as up:
        answer = ask(up)
    assert (answer.status, answer.body) == (
        500,
        b"the script of this upstream failed: KeyError('no such zone')",
    )


def test_an_answer_that_is_none_is_shown_to_the_client(ask):
    with Upstream(lambda _: None) as up:
        answer = ask(up)
    assert answer.status == 500
    assert answer.body.startswith(b"the script of this upstream failed")


def test_requests_tell_when_they_came(ask):
    with Upstream(Reply("hi", fault=DeliveryFault(headers_seconds=0.02))) as up:
        ask(up)
        ask(up)
        first, second = up.requests
    assert second.arrived_at - first.arrived_at >= 0.02


def test_an_unknown_provider_is_refused_at_once():
    with pytest.raises(ValueError, match=r"provider is 'nobody'; the known ones are openai, "):
        Upstream(provider="nobody")


def test_a_function_that_waits_holds_up_nobody_else(ask):
    release = threading.Event()

    def slow_for_some(received):
        if received.messages[-1].text == "slow":
            release.wait(5)
        return echo(received)

    with Upstream(slow_for_some) as up:
        waiting = threading.Thread(target=ask, args=(up, "chat", "slow"))
        waiting.start()
        up.wait_until(lambda: len(up.requests) == 1)
        assert words_of(ask(up, "chat", "quick")) == "quick"
        release.set()
        waiting.join()


def test_a_connection_serves_one_request_after_another(connect):
    with Upstream(Reply("hi")) as up:
        connection = connect(up)
        for stream in (b"true", b"false", b"true"):
            connection.request("POST", "/v1/chat/completions", b'{"stream": %b}' % stream)
            assert connection.getresponse().read()
        assert up.connections == up.open_connections == 1


def test_a_client_may_ask_for_the_connection_to_be_closed(connect):
    with Upstream(Reply("hi")) as up:
        connection = connect(up)
        connection.request("POST", "/v1/chat/completions", "{}", {"Connection": "close"})
        assert connection.getresponse().read()
        up.wait_until(lambda: up.open_connections == 0)


def test_a_request_may_come_in_chunks(connect):
    with Upstream(Reply("hi")) as up:
        connection = connect(up)
        connection.request(
            "POST", "/v1/chat/completions", iter([b'{"model":', b'"m-2"}']), encode_chunked=True
        )
        assert connection.getresponse().status == 200
        assert up.requests[0].model == "m-2"


def test_an_unknown_path_is_not_found_and_uses_up_no_answer(ask, connect):
    with Upstream([Reply("one")]) as up:
        connection = connect(up)
        connection.request("GET", "/v2/unknown")
        assert connection.getresponse().status == 404
        assert words_of(ask(up)) == "one"


def test_something_other_than_http_is_hung_up_on():
    with Upstream(Reply("hi")) as up, socket.create_connection(address(up), timeout=5) as line:
        line.sendall(b"EHLO mail\r\n\r\n")
        assert line.recv(100) == b""
        assert up.requests == []


def test_tokens_are_counted_on_request(ask, connect):
    with Upstream([]) as up:
        connection = connect(up)
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "word " * 100}]})
        connection.request("POST", "/v1/messages/count_tokens", body)
        counted = json.loads(connection.getresponse().read())
        assert counted == {"input_tokens": up.requests[0].count_tokens()}
    assert 100 <= counted["input_tokens"] <= 120


def test_models_are_listed_with_their_window(connect):
    with Upstream(models=("m-1", "m-2"), window_tokens=8_192) as up:
        connection = connect(up)
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read())["data"]
    assert [(model["id"], model["max_model_len"]) for model in listed] == [("m-1", 8_192), ("m-2", 8_192)]


def test_many_connections_are_served_at_once():
    async def one(up):
        reader, writer = await asyncio.open_connection(*address(up))
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 16\r\n\r\n" + b'{"stream": true}'
        )
        answer = await reader.readuntil(b"[DONE]\n\n")
        writer.close()
        await writer.wait_closed()
        return answer

    async def all_at_once(up):
        return await asyncio.gather(*(one(up) for _ in range(MANY)))

    with Upstream(Reply("hi", fault=DeliveryFault(chunk_seconds=0.01))) as up:
        answers = asyncio.run(all_at_once(up))
        assert up.connections == len(up.requests) == MANY
        assert len(answers) == MANY
        up.wait_until(lambda: up.open_connections == 0)


def test_nothing_stays_behind(ask, connect):
    before = set(threading.enumerate())
    with Upstream(lambda received: NEVER if received.model == "silent" else Reply("hi")) as up:
        ask(up)
        idle, stalled = connect(up), connect(up)
        idle.connect()
        stalled.request("POST", "/v1/chat/completions", '{"model": "silent"}')
        up.wait_until(lambda: len(up.requests) == 2)
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address(up), timeout=5)


def test_a_test_that_fails_still_closes_its_upstream():
    before = set(threading.enumerate())

    def fail():
        with Upstream(Raw(b"")):
            raise LookupError("what the test was about")

    with pytest.raises(LookupError, match="what the test was about"):
        fail()
    assert set(threading.enumerate()) == before


def test_waiting_for_what_never_happens_ends():
    with Upstream() as up, pytest.raises(TimeoutError, match=r"not so within 0\.01 s"):
        up.wait_until(lambda: up.requests != [], timeout_seconds=0.01)


def address(up):
    parts = urlsplit(up.url)
    return parts.hostname, parts.port
