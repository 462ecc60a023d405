"""A gateway on loopback over real HTTP, a real SQLite file and a scripted upstream."""

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from midfold.config import load_settings
from midfold.gateway import ServerThread, create_app
from midfold.providers import Timeouts
from midfold.store import Store, open_store
from midfold.testing import Upstream

PATIENT = Timeouts(connect=30.0, headers=60.0, idle=60.0, error_body=10.0)
"""A busy machine is no fault of the upstream."""
QUICK = Timeouts(connect=1.0, headers=2.0, idle=2.0, error_body=1.0)


@dataclass
class Answered:
    """An answer as a client got it."""

    status: int
    headers: dict[str, str]
    body: bytes
    broke_off: bool = False

    @property
    def json(self) -> object:
        return json.loads(self.body)

    @property
    def changes(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.startswith("x-midfold-")}


@dataclass
class Running:
    """A gateway that runs, and the client of a test."""

    url: str
    app: object
    headers: dict[str, str] = field(default_factory=dict)

    def ask(self, path: str, body: object = None, *, method: str = "POST", **headers: str) -> Answered:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        connection = self.connect()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, data, {"content-type": "application/json", **self.headers, **named})
        response = connection.getresponse()
        broke_off = False
        try:
            content = response.read()
        except http.client.IncompleteRead as error:
            content, broke_off = error.partial, True
        found = {name.lower(): value for name, value in response.getheaders()}
        connection.close()
        return Answered(response.status, found, content, broke_off)

    def connect(self) -> http.client.HTTPConnection:
        host = self.url.removeprefix("http://")
        return http.client.HTTPConnection(host, timeout=30)

    def settle(self) -> None:
        """Wait until all that goes on after answers is done."""
        until = time.monotonic() + 10
        while self.app.open_requests or self.app.gateway.parts.background:
            assert time.monotonic() < until
            time.sleep(0.002)

    def wait_for_preparation(self) -> None:
        """Wait until no fold is being prepared; on a busy machine one may be late for the next request."""
        until = time.monotonic() + 10
        index = self.app.gateway.parts.index
        engines = [session.engine for session in index.sessions if session.engine is not None]
        while any(each.get_status()["preparation"]["phase"] == "preparing" for each in engines):
            assert time.monotonic() < until
            time.sleep(0.002)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def store(home: Path) -> Iterator[Store]:
    home.mkdir(parents=True, exist_ok=True)
    with open_store(home / "sessions.db", synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def other_store(home: Path, store: Store) -> Iterator[Store]:
    """The same file, as another process has it open."""
    with open_store(home / "sessions.db", synchronous="NORMAL") as opened:
        yield opened


@pytest.fixture
def settings_for(home: Path) -> Callable[..., object]:
    """Settings with the upstreams of a test, and what else is set."""

    def make(upstream: Upstream | str, **flags: object) -> object:
        url = upstream if isinstance(upstream, str) else upstream.url
        upstreams = {"openai": {"base_url": url}, "anthropic": {"base_url": url}}
        named = {key.replace("__", "."): value for key, value in flags.items()}
        return load_settings(
            environment={"MIDFOLD_HOME": str(home)},
            flags={"gateway.port": 0, "gateway.upstreams": upstreams, **named},
        )

    return make


@pytest.fixture
def gateway(settings_for, store: Store, home: Path) -> Iterator[Callable[..., Running]]:
    """Run gateways: `gateway(upstream, store=…, summarizer=…, compression__threshold=…)`."""
    with ExitStack() as stack:

        def run(upstream: Upstream | str, *, own_store: Store | None = None, **options: object) -> Running:
            given = {name: options.pop(name) for name in ("summarizer", "timeouts") if name in options}
            return stack.enter_context(
                running(settings_for(upstream, **options), own_store or store, home, **given)
            )

        yield run


@pytest.fixture
def quick() -> Timeouts:
    """Timeouts for upstreams that never answer."""
    return QUICK


@pytest.fixture
def run_gateway(store: Store, home: Path):
    """Run a gateway for the life of a block."""
    return lambda settings, **options: running(settings, store, home, **options)


@contextmanager
def running(settings, store, home, *, summarizer=None, timeouts=PATIENT) -> Iterator[Running]:
    app = create_app(settings, store=store, home=home, summarizer=summarizer, timeouts=timeouts)
    with ServerThread(app) as server:
        yield Running(server.url, app)
