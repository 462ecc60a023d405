"""Results as agents get them, and sinks that keep them in a folder of the test."""

import importlib.util
import time
from pathlib import Path

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult
from midfold.offload import FileSink, MemorySink


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = time.time()  # files are dated by the system's

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def root(tmp_path):
    return tmp_path / "outputs"


@pytest.fixture
def files(root):
    return FileSink(root)


@pytest.fixture
def session(files):
    return files.session("s")


@pytest.fixture(params=["files", "memory"])
def sink(request, root):
    return FileSink(root).session("s") if request.param == "files" else MemorySink()


@pytest.fixture
def turn():
    """Makes a turn: a request, one reply with a call for each text, and the results."""
    return make_turn


def make_turn(*texts, tool="terminal", arguments="{}", request="go on"):
    calls = tuple(ToolCall(f"c{number}", tool, arguments) for number in range(len(texts)))
    results = [Message("tool", (ToolResult(f"c{number}", text),)) for number, text in enumerate(texts)]
    return [Message("user", (Text(request),)), Message("assistant", calls), *results]


@pytest.fixture(scope="session")
def shapes():
    """The made-up credentials that redaction is tested with."""
    path = Path(__file__).parents[1] / "redact" / "test_shapes.py"
    spec = importlib.util.spec_from_file_location("redact_shapes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
