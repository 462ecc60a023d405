"""The three ways that docs/architecture.md tells are the ways that the code goes."""

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest

import midfold
from midfold.testing import Reply, Upstream, transcript

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
HOP = re.compile(r"^\d+\. `([\w.]+)`", re.MULTILINE)
MOST_HOPS = {"One compress": 15, "One chat turn": 22, "One trajectory row": 22}
MOST_MODULES = 50
"""How many modules one `compress` may run through."""


@dataclass(frozen=True)
class Call:
    """The first call of a function: when it came, and from where, the nearest caller first."""

    number: int
    callers: tuple[str, ...]


class Trace:
    """Records which functions of midfold are called while `recording`, in every thread that starts later."""

    def __init__(self) -> None:
        self.calls: dict[str, Call] = {}
        self.recording = False

    @property
    def modules(self) -> set[str]:
        return {module_of(name) for name in self.calls}

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        name = name_of(frame) if event == "call" and self.recording else None
        if name is not None and name not in self.calls:
            self.calls[name] = Call(len(self.calls), tuple(callers_of(frame)))


def name_of(frame: FrameType) -> str | None:
    module = frame.f_globals.get("__name__", "")
    return f"{module}:{frame.f_code.co_qualname}" if module.split(".")[0] == "midfold" else None


def callers_of(frame: FrameType) -> Iterator[str]:
    above = frame.f_back
    while above is not None:
        name = name_of(above)
        if name is not None:
            yield name
        above = above.f_back


def module_of(name: str) -> str:
    return name.partition(":")[0]


@contextmanager
def tracing() -> Iterator[Trace]:
    trace = Trace()
    threading.setprofile(trace.note)
    sys.setprofile(trace.note)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def compress_once(_folder: Path) -> Trace:
    messages = transcript(turns=60, result_chars=3_000)
    midfold.compress(messages, max_tokens=8_000)  # what is loaded on the first use is no part of the way
    with tracing() as trace:
        trace.recording = True
        assert midfold.compress(messages, max_tokens=8_000).changed
        trace.recording = False
    return trace


def take_a_turn(folder: Path) -> Trace:
    from midfold.agent import Agent
    from midfold.messages import ToolCall

    (folder / "notes.txt").write_text("the meter costs 2.40 a day\n")
    look = Reply("", (ToolCall("call_1", "read_file", '{"path": "notes.txt"}'),))
    with tracing() as trace, Upstream([Reply("Hello."), look, Reply("2.40 a day.")]) as up:
        where = {"base_url": up.url, "workspace": folder, "home": folder / "home"}
        with Agent("local/scripted", summarizer=None, **where) as agent:
            list(agent.run("Hello"))
            trace.recording = True
            list(agent.run("What does the meter cost?"))
            trace.recording = False
    return trace


def compress_a_row(folder: Path) -> Trace:
    from midfold.trajectories import Batch, CompressionConfig, compress_files

    source, target = folder / "in.jsonl", folder / "out.jsonl"
    source.write_text(row(1) + row(2))
    with tracing() as trace:
        trace.recording = True
        compress_files(Batch(source, CompressionConfig(target_max_tokens=2_000)), target)
        trace.recording = False
    return trace


def row(seed: int) -> str:
    import json

    return json.dumps({"conversations": transcript("sharegpt", turns=40, result_chars=800, seed=seed)}) + "\n"


WAYS = {"One compress": compress_once, "One chat turn": take_a_turn, "One trajectory row": compress_a_row}


def hops_of(way: str) -> list[str]:
    """Return the hops of a way as the page lists them, as `module:function`."""
    section = PAGE.read_text("utf-8").partition(f"## {way}\n")[2].partition("\n## ")[0]
    return [to_function(f"midfold.{hop}") for hop in HOP.findall(section)]


def to_function(dotted: str) -> str:
    """Part a dotted name where its module ends."""
    parts = dotted.split(".")
    modules = (".".join(parts[:stop]) for stop in range(len(parts) - 1, 0, -1))
    root = PAGE.parents[1] / "src"
    for module in modules:
        path = root.joinpath(*module.split("."))
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
            return f"{module}:{dotted[len(module) + 1 :]}"
    raise AssertionError(f"{dotted} is in no module")


@pytest.fixture(scope="module", params=WAYS)
def way(request):
    return request.param


@pytest.fixture(scope="module")
def trace(way, tmp_path_factory):
    return WAYS[way](tmp_path_factory.mktemp("way"))


def test_a_way_is_as_short_as_it_should_be(way):
    assert 5 <= len(hops_of(way)) <= MOST_HOPS[way]


def test_each_hop_is_taken_and_in_the_order_of_the_page(way, trace):
    hops = hops_of(way)
    assert [hop for hop in hops if hop not in trace.calls] == []
    assert sorted(hops, key=lambda hop: trace.calls[hop].number) == hops


def test_no_hop_is_left_out(way, trace):
    """Between a hop and the one that leads to it stands no function of a third module."""
    hops = hops_of(way)
    assert {hop: hidden for hop in hops[1:] if (hidden := hidden_before(hop, hops, trace))} == {}


def hidden_before(hop: str, hops: list[str], trace: Trace) -> list[str]:
    """List the functions on the way to a hop that the page does not tell of."""
    callers = trace.calls[hop].callers
    stop = next((index for index, name in enumerate(callers) if name in hops), None)
    known = {module_of(hop), "midfold.concurrency"}
    if stop is None:  # a task or a thread of its own
        known |= {module_of(each) for each in hops}
        return [name for name in callers if module_of(name) not in known]
    known.add(module_of(callers[stop]))
    return [name for name in callers[:stop] if module_of(name) not in known]


def test_one_compress_runs_through_few_modules(tmp_path):
    assert len(compress_once(tmp_path).modules) <= MOST_MODULES
