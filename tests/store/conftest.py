"""Stores for tests: a file that is closed afterwards, and conversations with their folds."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import midfold
from midfold.folding.compression import Compression
from midfold.store import open_store
from midfold.store.sqlite.store import SqliteStore


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[SqliteStore]:
    opened = open_store(tmp_path / "store" / "sessions.db", clock=clock, synchronous="NORMAL")
    yield opened
    opened.close()


@pytest.fixture
def fold() -> Callable[[list[object]], Compression[object]]:
    """Fold a list to about half of it."""

    def folding(messages: list[object]) -> Compression[object]:
        tokens = midfold.compress(messages, max_tokens=10**9).tokens_before
        result = midfold.compress(messages, max_tokens=max(1_200, tokens // 2), strategy="fold")
        assert result.fold is not None, result.reason
        assert result.fold.summary is not None, result.reason
        return result

    return folding


@pytest.fixture
def talk() -> Callable[..., list[object]]:
    """A conversation of plain words and tool calls, long enough to fold."""
    return make_talk


def make_talk(turns: int = 30, *, start: int = 0) -> list[object]:
    """A conversation of plain words and tool calls, long enough to fold."""
    messages: list[object] = []
    for turn in range(start, start + turns):
        call = f"call_{turn}"
        messages += [
            {
                "role": "user",
                "content": f"Please look at module_{turn}.py, it fails with code {turn * 7919}.",
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": call,
                        "type": "function",
                        "function": {"name": "read_file", "arguments": f'{{"path":"src/module_{turn}.py"}}'},
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": call,
                "content": f"def handler_{turn}():\n    return {turn}\n" * 12,
            },
            {
                "role": "assistant",
                "content": f"module_{turn}.py returns {turn}; the fix is in handler_{turn}.",
            },
        ]
    return messages
