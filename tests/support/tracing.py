"""Traces a way of docs/architecture.md in a process of its own: `python -m support.tracing WAY FOLDER`.

A trace sees only threads that start after it, and a process of tests has others.
"""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

import midfold
from midfold.testing import Reply, Upstream, transcript


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
    return json.dumps({"conversations": transcript("sharegpt", turns=40, result_chars=800, seed=seed)}) + "\n"


WAYS = {"One compress": compress_once, "One chat turn": take_a_turn, "One trajectory row": compress_a_row}


if __name__ == "__main__":
    traced = WAYS[sys.argv[1]](Path(sys.argv[2]))
    json.dump({name: asdict(call) for name, call in traced.calls.items()}, sys.stdout)
