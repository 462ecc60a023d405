"""What the tests with a real model share: the server, models at it, and a page of figures at the end.

They run with `make test-model`, or against the server at MIDFOLD_MODEL_URL; elsewhere they are skipped.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from midfold.providers import BlockingModel, Model, Retries, Timeouts

APIS = ("openai_chat", "openai_responses", "anthropic")
# A prompt of a thousand tokens takes minutes on a busy core, and a plain answer comes all at once.
_PATIENT = Timeouts(headers=600.0, idle=600.0)
_ONCE = Retries(max_calls=1)
_NOTES = pytest.StashKey[dict[str, None]]()


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server itself says to a body, with no client of ours between."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """A running server, as it describes itself."""

    url: str
    model: str
    window_tokens: int

    def post(self, path: str, body: object) -> Reply:
        return _exchange(self.url, "POST", path, json.dumps(body).encode())

    def count(self, text: str) -> int:
        """Have the server count a prompt of one user message, its chat template included."""
        messages = [{"role": "user", "content": text}]
        counted = self.post("/v1/messages/count_tokens", {"model": self.model, "messages": messages})
        tokens: int = counted.body["input_tokens"]
        return tokens


@pytest.fixture(scope="session")
def server() -> Server:
    url = os.environ.get("MIDFOLD_MODEL_URL", "").removesuffix("/").removesuffix("/v1")
    if not url:
        pytest.skip("no model is served; `make test-model` does, or set MIDFOLD_MODEL_URL")
    described = _exchange(url, "GET", "/v1/models", b"").body["data"][0]
    window = described.get("meta", {}).get("n_ctx")
    if window is None:
        pytest.skip(f"{url} does not state its window as llama.cpp does; see scripts/serve_model.py")
    return Server(url, described["id"], window)


@pytest.fixture(scope="session")
def open_model(server: Server) -> Iterator[Callable[[str], BlockingModel]]:
    """Open the model behind one of the three APIs."""
    with ExitStack() as stack:

        def open_api(api: str) -> BlockingModel:
            name = f"local/{server.model}"
            opened = Model.open(name, base_url=server.url, api=api, timeouts=_PATIENT, retries=_ONCE)
            return stack.enter_context(BlockingModel(opened))

        yield open_api


@pytest.fixture(params=APIS)
def api(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(open_model: Callable[[str], BlockingModel], api: str) -> BlockingModel:
    """The model behind each of the three APIs in turn."""
    return open_model(api)


@pytest.fixture
def note(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Put a line into the report: what a model did that no test can insist on."""
    notes = request.config.stash.setdefault(_NOTES, {})
    return lambda line: notes.update({line: None})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    notes = config.stash.get(_NOTES, {})
    if notes:
        terminalreporter.section("what the model did")
        terminalreporter.write_line("\n".join(notes))


def _exchange(url: str, method: str, path: str, body: bytes) -> Reply:
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.hostname or "", parts.port)) as connection:
        connection.request(method, path, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return Reply(answer.status, json.loads(answer.read()))
