"""Bombs, giants and dribblers: refused typed, quickly, and without filling the memory."""

import gzip
import http.client
import json
import socket
import time
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.gateway import bodies
from midfold.gateway.bodies import BodyRefused, check_values, unpack_body
from midfold.testing import Reply, Upstream
from midfold.testing.conversations import transcript

PATH = "/v1/chat/completions"
MB = 1024 * 1024
CAP = 64 * MB
WORDS = {"model": "any", "messages": [{"role": "user", "content": "hello"}]}


def pack(size):
    """Return `size` zeros, packed a thousand to one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join([*(packer.compress(bytes(MB)) for _ in range(size // MB)), packer.flush()])


BOMBS = {
    "gzip": pack(200 * MB),
    "deflate": zlib.compress(bytes(100 * MB), 9),
    "x-gzip": gzip.compress(gzip.compress(b"[" * 40 * MB))[:100],
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_bomb_is_stopped_while_it_unpacks(encoding):
    tracemalloc.start()
    try:
        with pytest.raises(BodyRefused) as raised:
            unpack_body(BOMBS[encoding], encoding, CAP)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert raised.value.status in (400, 413)
    assert peak < 16 * MB


def test_a_long_conversation_is_no_bomb():
    body = json.dumps(transcript("openai_chat", turns=50, steps=3, result_chars=4_000) * 11).encode()
    assert len(body) > 4 * MB
    for encoding, packed in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body))):
        assert unpack_body(packed, encoding, CAP) == body
    assert unpack_body(body, "identity", CAP) == body


def test_zstd_is_unpacked_within_the_same_limits():
    zstandard = pytest.importorskip("zstandard")
    assert unpack_body(zstandard.compress(b"{}"), "zstd", CAP) == b"{}"
    with pytest.raises(BodyRefused):
        unpack_body(zstandard.compress(bytes(50 * MB)), "zstd", CAP)
    with pytest.raises(BodyRefused):
        unpack_body(b"nothing of the kind", "zstd", CAP)


@pytest.mark.parametrize("encoding", ["br", "compress", "gzip, gzip", "x", "gzip;q=1", "\x00"])
def test_unknown_encodings_are_refused(encoding):
    with pytest.raises(BodyRefused) as raised:
        unpack_body(b"x", encoding, CAP)
    assert raised.value.status == 415


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (BOMBS["gzip"], {"content_encoding": "gzip"}, 413),
        (b"no gzip", {"content_encoding": "gzip"}, 400),
        (gzip.compress(b"{}")[:-9], {"content_encoding": "gzip"}, 400),
        (b"x", {"content_encoding": "br"}, 415),
        (b"[" * 400_000, {}, 400),
        (b"[" * 5_000_000, {}, 413),
        (b'{"a":' * 1_000_000, {}, 413),
        (b'{"model": ' + b"9" * 1_000_000 + b"}", {}, 400),
        (b'{"messages": [' + b"{}," * 600_000 + b"{}]}", {}, 413),
        (gzip.compress(b'{"z": {' + b'"a":[],' * 600_000 + b'"b":1}}', 1), {"content_encoding": "gzip"}, 413),
        (b"{}", {"content_length": str(CAP + 1)}, 413),
        (b"{}", {f"x_{n}": "y" * 9_000 for n in range(8)}, 431),
    ],
    ids=[
        "gzip bomb",
        "no gzip",
        "cut gzip",
        "br",
        "nested arrays",
        "arrays",
        "objects",
        "digits",
        "values",
        "packed values",
        "64 MB",
        "64 KB of headers",
    ],
)
def test_giants_get_a_typed_answer_and_reach_no_upstream(gateway, body, headers, status):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        answer = running.ask(PATH, body, **headers)
        assert answer.status == status
        assert answer.json["error"]["message"]
        assert running.ask(PATH, WORDS).status == 200
    assert len(up.requests) == 1


def count_starts(value):
    """Count the starts of values as the check does: containers, and what stands behind a comma."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return 0
    return 1 + max(len(value) - 1, 0) + sum(map(count_starts, value))


TEXTS = st.text(alphabet='ab,[{:"\\\\\n', max_size=9)
VALUES = st.recursive(
    TEXTS | st.integers(), lambda some: st.lists(some, max_size=6) | st.dictionaries(TEXTS, some, max_size=6)
)


@given(VALUES, st.integers(1, 40))
def test_values_are_counted_and_texts_are_not(value, chunk):
    body = json.dumps(value).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bodies, "_CHUNK", chunk)
        patched.setattr(bodies, "MOST_VALUES", max(count_starts(value), 1))
        check_values(body)
        patched.setattr(bodies, "MOST_VALUES", 0)
        if count_starts(value):
            with pytest.raises(BodyRefused):
                check_values(body)


def test_code_is_no_bomb_of_values_and_backslashes_take_no_time():
    code = "def f(x, y): return {x: [y, 1, 2], 'a': {}}\n" * 200_000
    check_values(json.dumps({"messages": [{"role": "user", "content": code}]}).encode())
    check_values(b'"' + b"\\" * 8_000_000 + b'"')
    with pytest.raises(BodyRefused):
        check_values(b'["' + b"\\" * 8_000_000 + b'"' + b",1" * 600_000 + b"]")


def test_a_megabyte_of_headers_is_refused_before_it_is_all_there(gateway):
    running = gateway("http://127.0.0.1:1")
    with socket.create_connection(running.url.removeprefix("http://").split(":"), timeout=10) as line:
        line.sendall(b"POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: ")
        try:
            for _ in range(64):
                line.sendall(b"y" * 16 * 1024)
            answer = line.recv(4_096)
        except (BrokenPipeError, ConnectionResetError):
            return
    assert answer == b"" or answer.startswith(b"HTTP/1.1 431 ")


def test_packed_requests_are_read_folded_and_passed_on_as_they_came(gateway):
    talk = {
        "model": "gpt-5-mini",
        "messages": transcript("openai_chat", turns=20, steps=2, result_chars=2_500),
    }
    short, long = json.dumps(WORDS).encode(), json.dumps(talk).encode()
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=16_000)
        packed = gzip.compress(short)
        assert running.ask(PATH, packed, content_encoding="gzip").status == 200
        answer = running.ask(PATH, gzip.compress(long), content_encoding="gzip")
        assert answer.changes["x-midfold-folded"] == "1"
    first, second = up.requests
    assert first.headers["content-encoding"] == "gzip"
    assert first.body == packed
    assert "content-encoding" not in second.headers
    assert len(second.body) < len(long)
    assert second.json["messages"]


def test_headers_that_dribble_are_cut_and_others_are_served(gateway):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, gateway__header_seconds=1)
        place = running.url.removeprefix("http://").split(":")
        slow = [socket.create_connection(place, timeout=10) for _ in range(40)]
        for line in slow:
            line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-")
        assert running.ask(PATH, WORDS).status == 200
        answers = [line.recv(4_096) for line in slow]
        for line in slow:
            line.close()
    assert all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers)


def test_no_more_are_read_at_once_than_are_served(gateway):
    with Upstream(Reply("ok")) as up:
        running = gateway(up, gateway__max_requests=3)
        waiting = []
        for _ in range(3):
            line = http.client.HTTPConnection(running.url.removeprefix("http://"), timeout=10)
            line.putrequest("POST", PATH)
            line.putheader("content-length", "1000")
            line.endheaders(b"{")
            waiting.append(line)
        until = time.monotonic() + 5
        while (answer := running.ask(PATH, WORDS)).status == 200:
            assert time.monotonic() < until
        assert answer.status == 503
        assert answer.headers["retry-after"]
        for line in waiting:
            line.close()
        while running.ask(PATH, WORDS).status != 200:
            assert time.monotonic() < until
