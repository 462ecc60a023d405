"""What every test may ask for, and what none may do."""

import gc
import itertools
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
settings.register_profile("more", settings.get_profile("default"), max_examples=300, derandomize=False)
settings.register_profile("nightly", settings.get_profile("default"), max_examples=10_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

ROOT = Path(__file__).parents[1]


def pytest_configure() -> None:
    """Take back what the shell may have set.

    A shell lets what it runs in the background ignore Ctrl-C, which some tests are about. Without
    bytecode every process that a test starts compiles all of midfold, which takes longer than the test.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the long tests of faults to `make test-faults`."""
    if "MIDFOLD_FAULT_ROUNDS" in os.environ:
        return
    for item in items:
        if item.get_closest_marker("faults"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; make test-faults runs it"))


def pytest_collection_finish() -> None:
    """Spare every later collection of garbage the million objects of the tests themselves."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def rounds() -> int:
    """How often a fault is tried; `make test-faults` asks for 200."""
    return int(os.environ.get("MIDFOLD_FAULT_ROUNDS", "6"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real transcripts, where there is one; the test is skipped elsewhere."""
    folder = Path(os.environ.get("MIDFOLD_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "corpus").is_dir():
        pytest.skip(f"no real transcripts at {folder}; set MIDFOLD_DATA")
    return folder


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else "unix"
        if host not in ("127.0.0.1", "::1", "localhost", "unix"):
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def _homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Name a folder for every test; the tests that use theirs make it."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _private_home(monkeypatch: pytest.MonkeyPatch, _homes: Iterator[Path]) -> None:
    """Keep the tests away from the user's own settings and learnt limits."""
    monkeypatch.setenv("MIDFOLD_HOME", str(next(_homes)))
