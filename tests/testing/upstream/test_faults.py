"""Every fault is what its name says, as seen from the other end of the wire."""

import gzip
import http.client
import socket
import time
from itertools import cycle, islice

import pytest

from midfold.testing.upstream import (
    HANG_UP,
    NEVER,
    RESET,
    DeliveryFault,
    Ending,
    Framing,
    HttpStatus,
    Raw,
    Reply,
    Unreachable,
    Upstream,
    redirect,
)

APIS = ("chat", "responses", "messages")


def test_a_status_keeps_its_headers_and_its_body(ask):
    with Upstream([HttpStatus(429, '{"slow": "down"}', {"Retry-After": "2"})]) as up:
        answer = ask(up)
    assert (answer.status, answer.headers["Retry-After"], answer.body) == (429, "2", b'{"slow": "down"}')


def test_a_redirect_leads_where_it_is_told(ask):
    with Upstream(redirect("http://127.0.0.1:9/elsewhere", 308)) as up:
        answer = ask(up)
    assert (answer.status, answer.headers["Location"]) == (308, "http://127.0.0.1:9/elsewhere")


def test_a_body_can_be_any_garbage(ask):
    kind = {"Content-Type": "text/event-stream"}
    with Upstream([HttpStatus(200, b"\xff\xfe{", kind), HttpStatus(200, "<html>")]) as up:
        assert ask(up).body == b"\xff\xfe{"
        assert ask(up).body == b"<html>"


def test_bytes_need_not_be_http(converse):
    with Upstream(Raw(b"SSH-2.0-OpenSSH_9.6\r\n")) as up:
        assert converse(up) == b"SSH-2.0-OpenSSH_9.6\r\n"


def test_an_upstream_can_hang_up_without_a_word(converse):
    with Upstream(HANG_UP) as up:
        assert converse(up) == b""


def test_an_upstream_can_reset_the_connection(converse):
    with Upstream(RESET) as up, pytest.raises(ConnectionResetError):
        converse(up)


def test_an_upstream_can_stay_silent(connect):
    with Upstream(NEVER) as up:
        connection = connect(up, timeout_seconds=0.05)
        connection.request("POST", "/v1/chat/completions", "{}")
        with pytest.raises(TimeoutError):
            connection.getresponse()
        assert up.open_connections == 1
        connection.close()
        up.wait_until(lambda: up.open_connections == 0)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", APIS)
def test_a_body_is_cut_at_the_byte(api, stream, ask):
    with Upstream(Reply("word " * 40)) as up:
        whole = ask(up, api, stream=stream).body
    with (
        Upstream(Reply("word " * 40, fault=DeliveryFault(cut_at=100))) as up,
        pytest.raises(http.client.IncompleteRead) as error,
    ):
        ask(up, api, stream=stream)
    assert error.value.partial == whole[:100]


def test_a_cut_body_without_a_length_looks_whole(ask):
    with Upstream(Reply("word " * 40, fault=DeliveryFault(cut_at=70, framing=Framing.UNTIL_CLOSE))) as up:
        assert len(ask(up, stream=True).body) == 70


def test_a_connection_can_be_reset_in_the_middle_of_a_stream(converse):
    with (
        Upstream(Reply("word " * 40, fault=DeliveryFault(cut_at=70, ending=Ending.RESET))) as up,
        pytest.raises(ConnectionResetError),
    ):
        converse(up, stream=True)


def test_a_stream_can_stop_without_ending(connect):
    with Upstream(Reply("word " * 40, fault=DeliveryFault(cut_at=70, ending=Ending.STALL))) as up:
        connection = connect(up, timeout_seconds=0.05)
        connection.request("POST", "/v1/chat/completions", '{"stream": true}')
        response = connection.getresponse()
        assert len(response.read(70)) == 70
        with pytest.raises(TimeoutError):
            response.read(1)
        response.close()


def test_a_length_can_promise_too_much(ask):
    with (
        Upstream(Reply("hi", fault=DeliveryFault(length_off_by=10))) as up,
        pytest.raises(http.client.IncompleteRead),
    ):
        ask(up)


def test_a_length_can_promise_too_little(ask):
    with Upstream([Reply("hi"), Reply("hi", fault=DeliveryFault(length_off_by=-10))]) as up:
        whole, short = ask(up).body, ask(up).body
    assert len(short) == len(whole) - 10


def test_an_old_server_ends_its_body_with_the_connection(converse):
    with Upstream(Reply("hi", fault=DeliveryFault(framing=Framing.UNTIL_CLOSE))) as up:
        head, _, body = converse(up).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.0 200 OK")
    assert b"Content-Length" not in head
    assert body.endswith(b"}")


def test_chunks_can_lose_their_sizes(ask):
    with (
        Upstream(Reply("hi", fault=DeliveryFault(framing=Framing.BROKEN_CHUNKS))) as up,
        pytest.raises(http.client.IncompleteRead),
    ):
        ask(up, stream=True)


@pytest.mark.parametrize("stream", [False, True])
def test_a_body_can_be_compressed(stream, ask):
    with Upstream([Reply("hi", fault=DeliveryFault(gzip=True)), Reply("hi")]) as up:
        packed, plain = ask(up, stream=stream), ask(up, stream=stream)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body).replace(b"cmpl-1", b"cmpl-2") == plain.body


def test_a_stream_is_written_in_the_pieces_asked_for(converse):
    with Upstream(Reply("Grüße aus 上海", fault=DeliveryFault(pieces=(1, 2, 5), ending=Ending.CLOSE))) as up:
        chunks = read_chunks(converse(up, stream=True).partition(b"\r\n\r\n")[2])
    sizes = list(map(len, chunks))
    assert sizes[:-1] == list(islice(cycle((1, 2, 5)), len(sizes) - 1))
    assert b"".join(chunks).endswith(b"data: [DONE]\n\n")


def read_chunks(body):
    chunks = []
    while True:
        size, _, body = body.partition(b"\r\n")
        if size == b"0":
            return chunks
        chunks.append(body[: int(size, 16)])
        body = body[int(size, 16) + 2 :]


def test_headers_can_be_late(ask):
    with Upstream(Reply("hi", fault=DeliveryFault(headers_seconds=0.05))) as up:
        ask(up)  # the first count loads a vocabulary
        start = time.monotonic()
        assert ask(up).status == 200
    assert time.monotonic() - start >= 0.05


def test_every_piece_of_a_body_can_be_late(ask):
    with Upstream(Reply("hi", fault=DeliveryFault(pieces=(100,), chunk_seconds=0.01))) as up:
        start = time.monotonic()
        pieces = -(-len(ask(up).body) // 100)
    assert time.monotonic() - start >= (pieces - 1) * 0.01


def test_a_late_upstream_notices_that_the_client_has_gone(connect):
    with Upstream(Reply("hi", fault=DeliveryFault(headers_seconds=600))) as up:
        connection = connect(up)
        connection.request("POST", "/v1/chat/completions", "{}")
        up.wait_until(lambda: len(up.requests) == 1)
        connection.close()
        up.wait_until(lambda: up.open_connections == 0)


def test_connecting_can_be_what_never_ends():
    with Unreachable() as nowhere:
        port = int(nowhere.url.rpartition(":")[2])
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.1", port), timeout=0.1)


def test_a_piece_of_no_bytes_is_refused():
    with pytest.raises(ValueError, match="at least one byte"):
        DeliveryFault(pieces=(3, 0))
