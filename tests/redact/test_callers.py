"""Hostile text takes linear time through all that redacts: folds, stores, sinks and streams."""

import json
import os
import signal
import threading
import time

import pytest

import midfold
from midfold.offload import FileSink, MemorySink
from midfold.redact import redact
from midfold.store import open_store

CHARS = 4_096
MAX_GROWTH = 8
"""Twice four, as other work is timed along: the square of four would be sixteen."""
SHAPES = ["Q~", "PASSWORD=abcde :", '密钥:"', "a" * 14 + ".atlasv1." + "a" * 40]
MAX_INTERRUPT_SECONDS = 30
"""Well before all is read, on a busy machine too."""


def compress(text, folder):
    turns = [{"role": "user", "content": "look"}, {"role": "assistant", "content": text}]
    rest = [{"role": "user", "content": "and now?"}, {"role": "assistant", "content": "It is done."}] * 4
    midfold.compress([*turns, *rest, {"role": "user", "content": "go on"}], max_tokens=900)


def append(text, folder):
    with open_store(folder / f"{len(text)}{time.monotonic_ns()}.db") as store:
        store.append(store.create_session().id, [{"role": "user", "content": text}])


def append_arguments(text, folder):
    """Store a call whose arguments are JSON."""
    call = {"name": "run", "arguments": json.dumps({"command": text, "note": [text]})}
    with open_store(folder / f"{len(text)}{time.monotonic_ns()}.db") as store:
        store.append(
            store.create_session().id,
            [{"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]}],
        )


def offload(text, folder):
    FileSink(folder / "kept").session("s").write("call", text)
    MemorySink().write("call", text)


def cpu_seconds(work, text, folder):
    times = []
    for _ in range(3):
        start = time.process_time()
        work(text, folder)
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("work", [compress, append, append_arguments, offload])
def test_four_times_the_hostile_text_takes_about_four_times_as_long(tmp_path, work, shape):
    short, long = (shape * (chars // len(shape)) for chars in (CHARS, 4 * CHARS))
    work(short, tmp_path)
    for _ in range(3):
        growth = cpu_seconds(work, long, tmp_path) / cpu_seconds(work, short, tmp_path)
        if growth <= MAX_GROWTH:
            break
    assert growth <= MAX_GROWTH


@pytest.mark.faults
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("work", [compress, append, append_arguments, offload])
def test_a_hostile_megabyte_takes_seconds_at_most(tmp_path, work, shape):
    assert cpu_seconds(work, shape * (1_000_000 // len(shape)), tmp_path) < 20


@pytest.mark.parametrize("shape", ["Q~", "nothing to see here, "])
def test_ctrl_c_is_honoured_while_fifty_megabytes_are_redacted(shape):
    text = shape * (50_000_000 // len(shape))
    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.1, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            [redact(text) for _ in range(20)]
    finally:
        timer.join()
    assert time.monotonic() - sent[0] < MAX_INTERRUPT_SECONDS
