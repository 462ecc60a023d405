"""Control characters in what a client names: refused or harmless, and never a header or a line of ours."""

import socket

import pytest

from midfold.testing import Reply, Upstream, transcript

PATH = "/v1/chat/completions"
NAMES = ["x-midfold-session", "session-id", "x-claude-code-session-id", "traceparent"]
CONTROLS = [b"a\r\nx-forged: 1", b"a\nx-forged: 1", b"a\rx-forged: 1", b"a\0b", b"a\x1b[2Jb"]
BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


def ask_raw(running, name, value):
    """Send a header with these very bytes; return the answer's head as it came."""
    host = running.url.removeprefix("http://")
    head = [
        b"POST " + PATH.encode() + b" HTTP/1.1",
        b"host: " + host.encode(),
        b"content-type: application/json",
        b"connection: close",
        name.encode() + b": " + value,
        b"content-length: " + str(len(BODY)).encode(),
    ]
    address, _, port = host.partition(":")
    with socket.create_connection((address, int(port)), timeout=10) as line:
        line.sendall(b"\r\n".join(head) + b"\r\n\r\n" + BODY)
        answer = b"".join(iter(lambda: line.recv(65_536), b""))
    return answer.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize("name", NAMES)
def test_control_characters_in_a_header_forge_none(gateway, name):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        for value in CONTROLS:
            head = ask_raw(running, name, value)
            assert head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 400"))
            lines = head.split(b"\r\n")
            assert not any(set(line) & set(b"\r\n\0\x1b") for line in lines)
            assert not any(line.lower().startswith(b"x-forged") for line in lines)
    for received in up.requests:
        assert all(text.isprintable() for text in received.headers.values())


@pytest.mark.parametrize(
    "text", ["a\r\nx-forged: 1", "a\0b", "a\x1b[2J", "\u2028x-forged: 1", "日本"], ids=ascii
)
def test_control_characters_in_names_of_a_body_forge_no_header(gateway, text):
    body = {
        "model": f"gpt-5-mini{text}",
        "messages": transcript("openai_chat", turns=20, steps=2, result_chars=2_500),
        "prompt_cache_key": text,
        "user": text,
        "metadata": {"user_id": text},
    }
    with Upstream(Reply("ok")) as up:
        answer = gateway(up, model__context_length=16_000).ask(PATH, body)
    assert answer.status == 200
    assert "x-forged" not in answer.headers
    assert all(value.isprintable() and value.isascii() for value in answer.changes.values())
