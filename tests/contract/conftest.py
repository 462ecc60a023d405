"""Simulated clients on a store of their own, and histories that go on without end."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from midfold.store import open_store
from midfold.testing import transcript
from midfold.testing.simulation import Simulation, find_requests

IDS = ("id", "call_id", "tool_call_id", "tool_use_id")


class Clients:
    """Makes simulations, each on a new file, and closes them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: list[Simulation] = []

    def __call__(self, dialect: str, **options: object) -> Simulation:
        path = self._folder / f"{len(self._made)}.db"
        made = Simulation(lambda: open_store(path, synchronous="NORMAL"), dialect, **options)
        self._made.append(made)
        return made

    def close(self) -> None:
        for made in self._made:
            store = made.workers[0].store
            assert store.check() == []
            made.close()


@pytest.fixture
def clients(tmp_path: Path) -> Iterator[Clients]:
    made = Clients(tmp_path)
    yield made
    made.close()


class Played:
    """A context for property tests, which cannot ask for a new folder in each example."""

    def __enter__(self) -> Clients:
        self._folder = TemporaryDirectory()
        self._clients = Clients(Path(self._folder.name))
        return self._clients

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._clients.close()
        self._folder.cleanup()


@pytest.fixture(scope="session")
def playing() -> type[Played]:
    return Played


@pytest.fixture(scope="session")
def history() -> Callable[..., list[object]]:
    return make_history


def make_history(dialect: str, *, seed: int = 0, suffix: str = "", **options: object) -> list[object]:
    """A conversation whose calls have ids of their own."""
    shape = {"turns": 12, "steps": 2, "result_chars": 2_000, "thinking": True, **options}
    return rename(transcript(dialect, seed=seed, **shape), suffix) if suffix else transcript(
        dialect, seed=seed, **shape
    )


def rename(value: object, suffix: str) -> object:
    """Give a conversation call ids and answers that no other has."""
    if isinstance(value, list):
        return [rename(item, suffix) for item in value]
    if isinstance(value, str):
        return value.replace("Done with", f"Done{suffix} with")
    if not isinstance(value, dict):
        return value
    return {
        key: f"{inner}{suffix}" if key in IDS and inner else rename(inner, suffix)
        for key, inner in value.items()
    }


__all__ = ["find_requests"]
