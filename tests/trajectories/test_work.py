"""With a model several chunks are under way at once, as many requests as are allowed, and order is kept."""

import json
import threading
import time
from dataclasses import replace

import pytest

from midfold.testing import transcript
from midfold.testing.upstream import NEVER, Reply, Upstream
from midfold.trajectories import Batch, CompressionConfig, LocalEngine, compress_files
from midfold.trajectories.runs import Task
from midfold.trajectories.work import count_lanes

CONFIG = CompressionConfig(
    target_max_tokens=1_500, summary_target_tokens=300, summary_model="openai/gpt-5-mini", max_retries=0
)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
ROWS, LONG = 300, 12  # three chunks with at most six rows in each that need a summary


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("in") / "in.jsonl"
    long = transcript("sharegpt", turns=16, result_chars=400)
    rows = [{"id": row, "conversations": SHORT if row % 25 else long} for row in range(ROWS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def find_peak(source, out, requests):
    """Return the most connections that were open at once, to a model that never answers."""
    with Upstream(NEVER) as up:
        config = replace(CONFIG, base_url=up.url, timeout_seconds=1.0, max_concurrent_requests=requests)
        run = threading.Thread(target=compress_files, args=(Batch(source, config), out))
        run.start()
        peak = 0
        while run.is_alive():
            peak = max(peak, up.open_connections)
            time.sleep(0.02)
    return peak


@pytest.mark.slow
def test_requests_of_several_chunks_are_under_way_at_once(source, tmp_path):
    assert find_peak(source, tmp_path / "out.jsonl", requests=100) == LONG


@pytest.mark.slow
def test_chunks_share_the_requests_that_are_allowed(source, tmp_path):
    assert find_peak(source, tmp_path / "out.jsonl", requests=6) == 6


@pytest.mark.slow
def test_two_workers_with_a_model_write_the_bytes_of_one(source, tmp_path):
    outputs = []
    with Upstream(Reply("The meters were counted.")) as up:
        for workers in (1, 2):
            out = tmp_path / f"out{workers}.jsonl"
            config = replace(CONFIG, base_url=up.url)
            result = compress_files(Batch(source, config), out, engine=LocalEngine(workers))
            assert (result.totals.metrics.compressed, result.totals.bill.calls) == (LONG, LONG)
            outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]
    assert [json.loads(line)["id"] for line in outputs[0].splitlines()] == list(range(ROWS))


def test_worker_has_chunks_enough_for_its_requests_and_one_at_a_time_without_a_model():
    lanes = [
        count_lanes(Task(replace(CONFIG, max_concurrent_requests=requests), ()))
        for requests in (1, 50, 9_999)
    ]
    assert lanes == [2, 3, 20]
    assert count_lanes(Task(CONFIG, (), is_dry_run=True)) == 1
    assert count_lanes(Task(CompressionConfig(), ())) == 1
