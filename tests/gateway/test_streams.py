"""Streams: whole events, proper errors where they are cut, an upstream that ends with its client."""

import json
import random
import socket
import time
from pathlib import Path

import pytest

from midfold.testing import Reply, Upstream
from midfold.testing.upstream import DeliveryFault, Ending, HttpStatus
from midfold.wire.apis import write_error_event
from midfold.wire.sse import SseReader
from support.pace import LONG_SECONDS

PATHS = {
    "/v1/chat/completions": ("messages", "[DONE]"),
    "/v1/messages": ("messages", "message_stop"),
    "/v1/responses": ("input", "response.completed"),
}
LEAVING = 100
LONG = " ".join(f"word{number}" for number in range(120))


def ask_for_stream(running, path, **headers):
    body = {"model": "any", PATHS[path][0]: [{"role": "user", "content": "hello"}], "stream": True}
    return running.ask(path, body, **headers)


def events_of(data):
    reader = SseReader()
    return [event for event in [*reader.feed(data), *reader.close()] if event.has_data]


@pytest.mark.parametrize("ending", [Ending.CLOSE, Ending.RESET])
@pytest.mark.parametrize("path", PATHS)
def test_a_stream_that_is_cut_anywhere_ends_with_an_error_event(gateway, path, ending):
    chance = random.Random(path)
    with Upstream(Reply(LONG)) as up:
        running = gateway(up)
        whole = ask_for_stream(running, path).body
    cuts = sorted(chance.sample(range(1, len(whole) - 20), 17))
    faults = [DeliveryFault(cut_at=cut, ending=ending) for cut in cuts]
    with Upstream([Reply(LONG, fault=fault) for fault in faults]) as up:
        running = gateway(up)
        for cut in cuts:
            answer = ask_for_stream(running, path)
            events = events_of(answer.body)
            assert all(event.complete for event in events)
            last = json.loads(events[-1].data)
            assert last.get("error") or last["type"] == "error", cut
            assert "did not finish" in events[-1].data
            assert not any(PATHS[path][1] in event.data for event in events)
            # What came before are whole events of the answer, and not half of one more.
            assert [json.loads(event.data) for event in events]
            assert not answer.broke_off
        assert len(up.requests) == len(cuts)  # nothing is tried twice


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
def test_no_words_in_an_error_begin_an_event_of_their_own(dialect):
    for words in (
        "a\n\ndata: [DONE]\n\n",
        "a\r\n\r\nevent: message_stop\r\ndata: {}",
        "a\rdata: b",
        "\u2028\x00",
    ):
        events = events_of(write_error_event(dialect, 502, words))
        assert len(events) == 1
        assert words in str(list(json.loads(events[0].data).values())).encode().decode("unicode-escape")


def make_stream(chance):
    """Make a stream of lines of any kind, and the sizes of the pieces that it comes in."""
    end = chance.choice(("\n\n", "\r\n\r\n", "\r\r"))
    kinds = ["data: {}", ": comment", "event: ping", "data:", "id: 1", "data: Grüße " * 9]
    lines = [chance.choice(kinds) for _ in range(chance.randint(1, 30))]
    content = (chance.choice(["", "\ufeff"]) + end.join(lines) + chance.choice(["", end])).encode()
    return content, tuple(chance.randint(1, 40) for _ in range(5))


@pytest.mark.slow
def test_streams_in_any_pieces_pass_byte_for_byte(gateway):
    chance = random.Random(4)
    streams = [make_stream(chance) for _ in range(300)]
    said = [
        HttpStatus(200, content, {"Content-Type": "text/event-stream"}, fault=DeliveryFault(pieces=pieces))
        for content, pieces in streams
    ]
    with Upstream(said) as up:
        running = gateway(up)
        for content, _ in streams:
            assert ask_for_stream(running, "/v1/chat/completions").body == content


def test_a_line_of_ten_megabytes_passes(gateway):
    content = b"data: " + b"x" * 10_000_000 + b"\n\ndata: [DONE]\n\n"
    with Upstream(HttpStatus(200, content, {"Content-Type": "text/event-stream"})) as up:
        assert ask_for_stream(gateway(up), "/v1/chat/completions").body == content


def test_a_plain_answer_that_is_cut_ends_with_its_connection(gateway):
    with Upstream(Reply(LONG, fault=DeliveryFault(cut_at=50))) as up:
        body = {"model": "any", "messages": [{"role": "user", "content": "hello"}]}
        answer = gateway(up).ask("/v1/chat/completions", body)
    assert answer.broke_off


def test_an_upstream_that_falls_silent_is_given_up(gateway, quick):
    with Upstream(Reply(LONG, fault=DeliveryFault(cut_at=300, ending=Ending.STALL))) as up:
        answer = ask_for_stream(gateway(up, timeouts=quick), "/v1/messages")
    assert "nothing more came for 2 s" in events_of(answer.body)[-1].data


def open_stream(running, up, path="/v1/chat/completions"):
    host, port = running.url.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)))
    body = json.dumps(
        {"model": "any", "messages": [{"role": "user", "content": "hello"}], "stream": True}
    ).encode()
    line.sendall(
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    )
    return line


def leave(running, up, count):
    """Have so many clients leave in the middle of an answer that would take a minute."""
    lines = [open_stream(running, up) for _ in range(count)]
    assert all(line.recv(10) for line in lines)
    up.wait_until(lambda: up.open_connections >= count)
    started = time.monotonic()
    for line in lines:
        line.close()
    up.wait_until(lambda: up.open_connections <= 1)
    assert time.monotonic() - started < LONG_SECONDS
    running.settle()
    assert running.ask("/v1/models", method="GET").status == 200


def count_sockets():
    """Count the connections of this process, gateway and upstream; the store opens files as it likes."""
    folder = Path("/proc/self/fd")
    links = (
        [str(each.readlink()) for each in folder.iterdir() if each.is_symlink()] if folder.exists() else []
    )
    return sum(link.startswith("socket:") for link in links)


def test_clients_that_leave_cancel_the_upstream_and_leave_nothing_open(gateway, caplog):
    with Upstream(Reply(LONG, fault=DeliveryFault(chunk_seconds=0.5))) as up:
        running = gateway(up)
        leave(running, up, 5)
        before = count_sockets()
        leave(running, up, LEAVING)
        assert count_sockets() <= before + 2
    assert len([record for record in caplog.records if record.name == "midfold.gateway"]) <= LEAVING


def test_a_client_that_leaves_before_the_answer_cancels_the_upstream(gateway):
    with Upstream(Reply("late", fault=DeliveryFault(headers_seconds=4))) as up:
        line = open_stream(gateway(up), up)
        up.wait_until(lambda: len(up.requests) == 1)
        line.close()
        up.wait_until(lambda: up.open_connections == 0, timeout_seconds=2)


def test_a_client_that_reads_nothing_is_cut(gateway):
    content = b"data: " + b"x" * 1_000 + b"\n\n"
    said = HttpStatus(200, content * 20_000, {"Content-Type": "text/event-stream"})
    with Upstream(said) as up:
        running = gateway(up, gateway__stall_seconds=1)
        line = open_stream(running, up)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        up.wait_until(lambda: len(up.requests) == 1)
        up.wait_until(lambda: up.open_connections == 0, timeout_seconds=10)
        line.close()
        running.settle()


def test_what_came_of_a_cut_reply_is_kept_as_incomplete(gateway, store):
    with Upstream(Reply(LONG, fault=DeliveryFault(cut_at=900))) as up:
        running = gateway(up)
        ask_for_stream(running, "/v1/messages")
        running.settle()
    newest = store.load_state(store.conversations()[0].id, "newest")
    assert newest["finish"] == "incomplete"
    assert "word1" in str(newest["reply"])
