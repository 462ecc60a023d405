"""A client without opinions: what the upstream sent is what the test sees."""

import http.client
import json
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from midfold.wire.sse import SseReader

PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """The events of a stream, each with its name and its data; `[DONE]` stays the text it is."""
        reader = SseReader()
        events = [*reader.feed(self.body), *reader.close()]
        return [(event.event, _data(event.data)) for event in events if event.has_data]

    @property
    def data(self):
        return [data for _, data in self.events]


def _data(text):
    return text if text == "[DONE]" else json.loads(text)


def body_for(api, words="hello", **fields):
    messages = [{"role": "user", "content": words}]
    return {"model": "m-1", "input" if api == "responses" else "messages": messages, **fields}


def host_of(up):
    parts = urlsplit(up.url)
    return parts.hostname, parts.port


def send(connection, api, body):
    connection.request("POST", PATHS[api], json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    return Answer(response.status, response.headers, response.read())


@pytest.fixture
def connect():
    """Give connections to an upstream that are closed after the test."""
    opened = []

    def connect(up, timeout_seconds=5):
        opened.append(http.client.HTTPConnection(*host_of(up), timeout=timeout_seconds))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def ask(connect):
    """Send one request over a connection of its own: `ask(up, "chat", stream=True)`."""

    def ask(up, api="chat", words="hello", **fields):
        return send(connect(up), api, body_for(api, words, **fields))

    return ask


@pytest.fixture
def converse():
    """Send a request over a bare socket and return every byte up to the end of the connection."""

    def converse(up, api="chat", **fields):
        body = json.dumps(body_for(api, **fields)).encode()
        head = f"POST {PATHS[api]} HTTP/1.1\r\nHost: upstream\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(host_of(up), timeout=5) as line:
            line.sendall(head.encode() + body)
            received = []
            while piece := line.recv(65_536):
                received.append(piece)
            return b"".join(received)

    return converse
