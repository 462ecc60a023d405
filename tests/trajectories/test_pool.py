"""Workers on one machine: however they are started, the bytes are the same, and none outlives its parent."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import active_children
from pathlib import Path

import pytest

from midfold.errors import MidfoldError
from midfold.testing import transcript
from midfold.trajectories import Batch, CompressionConfig, LocalEngine, compress_files
from midfold.trajectories.pool import run_pool
from midfold.trajectories.reader import Selection
from midfold.trajectories.runs import Task
from midfold.trajectories.sources import find_sources

CONFIG = CompressionConfig(target_max_tokens=1_500)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Four chunks with a long row in each, and a bad one."""
    path = tmp_path_factory.mktemp("in") / "in.jsonl"
    long = transcript("sharegpt", turns=16, result_chars=400)
    rows = [{"id": row, "conversations": long if row % 500 == 3 else SHORT} for row in range(2_000)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{broken\n")
    return path


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "out.jsonl"
    compress_files(Batch(source, CONFIG), out)
    return out.read_bytes()


def children(pid):
    return [
        int(child)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for child in path.read_text().split()
    ]


@pytest.mark.slow
def test_workers_beside_a_thread_and_without_one_write_the_bytes_of_one(source, expected, tmp_path):
    compress_files(Batch(source, CONFIG), tmp_path / "alone.jsonl", engine=LocalEngine(2))
    is_over = threading.Event()
    beside = threading.Thread(target=is_over.wait)
    beside.start()
    compress_files(Batch(source, CONFIG), tmp_path / "beside.jsonl", engine=LocalEngine(2))
    is_over.set()
    beside.join()
    assert (tmp_path / "alone.jsonl").read_bytes() == expected
    assert (tmp_path / "beside.jsonl").read_bytes() == expected


def test_there_are_no_more_workers_than_chunks(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"conversations": SHORT}) + "\n")
    sources = find_sources(path)
    chunks = run_pool(Task(CONFIG, (sources[0].form,)), Selection(sources), 50)
    assert next(chunks).written == 1
    assert len(active_children()) == 1
    assert list(chunks) == []
    assert active_children() == []


@pytest.mark.slow
@ON_LINUX
def test_workers_of_a_run_that_was_killed_end_and_leave_its_work_to_others(source, expected, tmp_path):
    out = tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "midfold", "trajectories", source, "-o", out, "--workers", "2"]
    with subprocess.Popen(
        [*command, "--target-max-tokens", "1500"],
        env=os.environ | {"MIDFOLD_FAULT": "trajectories.manifest.after:sleep:2"},
    ) as run:
        manifest = tmp_path / "out.jsonl.work" / "manifest.jsonl"
        while not (manifest.exists() and manifest.read_bytes().count(b"\n") == 3):
            assert run.poll() is None
            time.sleep(0.01)
        workers = children(run.pid)
        run.send_signal(signal.SIGKILL)
        run.wait()
    assert len(workers) == 2
    result = compress_files(Batch(source, CONFIG), out, resume=True)
    assert result.resumed_rows >= 512
    assert out.read_bytes() == expected
    while any(
        Path(f"/proc/{worker}/fd").exists() and list(Path(f"/proc/{worker}/fd").iterdir())
        for worker in workers
    ):
        time.sleep(0.01)


@pytest.mark.slow
def test_file_that_changes_while_it_is_read_ends_the_run(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text((json.dumps({"conversations": SHORT}) + "\n") * 6_000)

    def watch(_progress):
        os.truncate(path, 100)

    with pytest.raises(MidfoldError, match=r"the file has changed while it was read; continue with --resume"):
        compress_files(Batch(path, CONFIG), tmp_path / "out.jsonl", engine=LocalEngine(2), watch=watch)
