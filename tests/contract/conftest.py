"""Simulated clients on a store of their own, and histories that go on as long as they are asked to."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from midfold.store import open_store
from midfold.testing import transcript
from support.simulation import Simulation

IDS = ("id", "call_id", "tool_call_id", "tool_use_id")


@contextmanager
def open_client(dialect: str, **options: object) -> Iterator[Simulation]:
    """Make a client with a store on a new file; the store must be sound when it is done."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.db"
        client = Simulation(lambda: open_store(path, synchronous="NORMAL"), dialect, **options)
        try:
            yield client
            client.restart()
            assert client.workers[0].store.check() == []
        finally:
            client.close()


@pytest.fixture(scope="session")
def client() -> Callable[..., AbstractContextManager[Simulation]]:
    """A client for a `with`; property tests need a new one in each example."""
    return open_client


@pytest.fixture(scope="session")
def history() -> Callable[..., list[object]]:
    return make_history


def make_history(dialect: str, *, suffix: str = "", **options: object) -> list[object]:
    """A conversation whose call ids and answers are those of no other suffix."""
    shape = {"turns": 10, "steps": 2, "result_chars": 3_000, "thinking": True, **options}
    return [_rename(item, suffix) for item in transcript(dialect, **shape)]


def _rename(value: object, suffix: str) -> object:
    if isinstance(value, list):
        return [_rename(item, suffix) for item in value]
    if isinstance(value, str):
        return value.replace("Done with", f"Done{suffix} with")
    if not isinstance(value, dict):
        return value
    return {
        key: f"{inner}{suffix}" if key in IDS and inner else _rename(inner, suffix)
        for key, inner in value.items()
    }
