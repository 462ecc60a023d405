"""A worker that dies costs no row but one that ends every worker, and that one is listed with the reason."""

import gzip
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
from midfold.faults import arm
from midfold.testing import transcript
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.trajectories import Batch, CompressionConfig, LocalEngine, compress_files, measure_files
from midfold.trajectories.pool import run_pool
from midfold.trajectories.reader import Selection
from midfold.trajectories.runs import Task
from midfold.trajectories.sources import find_sources
from midfold.trajectories.workers import SPARE_DEATHS, WorkerHealth

CONFIG = CompressionConfig(target_max_tokens=1_500)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
POISON = [{"from": "human", "value": "poison"}]
LONG = transcript("sharegpt", turns=16, result_chars=400)
ROWS = 1_300  # three chunks
POISONOUS = "trajectories.row:{}:about=poison"
STAGES = (
    "trajectories.worker.start",
    "trajectories.worker.ready",
    "trajectories.worker",
    "trajectories.row",
    "trajectories.worker.answer",
    "trajectories.worker.output",
)
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")


@pytest.fixture
def inject(monkeypatch):
    """Sets faults for workers that start afresh, and for those that are copies of this process."""

    def injecting(faults):
        monkeypatch.setenv("MIDFOLD_FAULT", faults)
        arm(faults)

    yield injecting
    arm(None)


def write_rows(path, *, poison=(), count=ROWS):
    """Write rows of which those at the given line numbers end whoever works on them."""
    rows = [
        {
            "id": line,
            "conversations": POISON if line in poison else LONG if line % 300 == 5 else SHORT,
        }
        for line in range(1, count + 1)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read_lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def listed_beside(out):
    path = out.with_name(out.name + ".rejects.jsonl")
    return read_lines(path) if path.exists() else []


def assert_all_but(out, poison, count=ROWS):
    """Every row is there once and in order, but for those that are listed as rejected."""
    assert [row["id"] for row in read_lines(out)] == [n for n in range(1, count + 1) if n not in poison]
    rejected = [row for row in listed_beside(out) if row["status"] == "rejected"]
    assert [(row["file"], row["line"]) for row in rejected] == [("in.jsonl", n) for n in sorted(poison)]
    assert active_children() == []


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    source = write_rows(folder / "in.jsonl")
    compress_files(Batch(source, CONFIG), folder / "out.jsonl")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_that_is_killed_at_any_stage_costs_no_row(clean, tmp_path, inject, stage):
    token = tmp_path / "token"
    token.touch()
    inject(f"{stage}:kill:once={token}")
    out = tmp_path / "out.jsonl"
    compress_files(Batch(clean / "in.jsonl", CONFIG), out, engine=LocalEngine(2))
    assert not token.exists()
    assert out.read_bytes() == (clean / "out.jsonl").read_bytes()
    assert listed_beside(out) == []


@pytest.mark.slow
def test_workers_that_are_killed_when_everything_is_answered_cost_no_row(clean, tmp_path):
    def watch(progress):
        if progress.part == 1.0:
            for worker in active_children():
                worker.kill()

    out = tmp_path / "out.jsonl"
    compress_files(Batch(clean / "in.jsonl", CONFIG), out, engine=LocalEngine(2), watch=watch)
    assert out.read_bytes() == (clean / "out.jsonl").read_bytes()


@pytest.mark.slow
def test_idle_workers_that_are_killed_are_replaced(clean, tmp_path):
    def watch(_progress):
        for worker in active_children():
            worker.kill()
            worker.join()

    out = tmp_path / "out.jsonl"
    compress_files(Batch(clean / "in.jsonl", CONFIG), out, engine=LocalEngine(2), watch=watch)
    assert out.read_bytes() == (clean / "out.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "how"),
    [
        ("kill", "it was killed by SIGKILL, perhaps out of memory"),
        ("abort", "it was killed by SIGABRT"),
        ("exit", "it left with status 3"),
    ],
)
def test_row_that_ends_its_worker_is_listed_with_the_reason_and_the_rest_goes_on(
    tmp_path, inject, action, how
):
    source, out = write_rows(tmp_path / "in.jsonl", poison={700}), tmp_path / "out.jsonl"
    inject(POISONOUS.format(action))
    result = compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2))
    assert_all_but(out, {700})
    reason = f"it ends the process that works on it: {how}"
    assert listed_beside(out) == [{"file": "in.jsonl", "line": 700, "status": "rejected", "reason": reason}]
    assert (result.totals.metrics.rejected, result.totals.metrics.rows) == (1, ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("poison", [{1}, {10, 400}, {10, 11, 12}, {512, 513}, {600, ROWS}])
def test_several_rows_that_end_their_workers_are_all_listed(tmp_path, inject, poison):
    source, out = write_rows(tmp_path / "in.jsonl", poison=poison), tmp_path / "out.jsonl"
    inject(POISONOUS.format("kill"))
    compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2))
    assert_all_but(out, poison)


@pytest.mark.slow
def test_output_without_such_a_row_is_that_of_an_input_without_it(tmp_path, inject):
    source, out = write_rows(tmp_path / "in.jsonl", poison={40}, count=60), tmp_path / "out.jsonl"
    inject(POISONOUS.format("kill"))
    compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2))
    arm(None)
    lines = source.read_bytes().splitlines(keepends=True)
    source.write_bytes(b"".join(line for line in lines if b"poison" not in line))
    compress_files(Batch(source, CONFIG), tmp_path / "without.jsonl")
    assert out.read_bytes() == (tmp_path / "without.jsonl").read_bytes()


@pytest.mark.slow
def test_such_a_row_is_found_in_a_packed_file(tmp_path, inject):
    plain = write_rows(tmp_path / "in.jsonl", poison={700})
    source, out = tmp_path / "in.jsonl.gz", tmp_path / "out.jsonl.gz"
    source.write_bytes(gzip.compress(plain.read_bytes()))
    inject(POISONOUS.format("kill"))
    compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2))
    ids = [json.loads(line)["id"] for line in gzip.decompress(out.read_bytes()).splitlines()]
    assert ids == [line for line in range(1, ROWS + 1) if line != 700]
    assert [row["line"] for row in listed_beside(out)] == [700]


@pytest.mark.slow
def test_dry_run_names_such_a_row(tmp_path, inject):
    source = write_rows(tmp_path / "in.jsonl", poison={7}, count=20)
    inject(POISONOUS.format("kill"))
    result = measure_files(Batch(source, CONFIG), engine=LocalEngine(2))
    assert [(each.file, each.line) for each in result.examples] == [("in.jsonl", 7)]
    assert result.totals.metrics.rows == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("trajectories.worker.start:kill", "no worker can be started: it was killed by SIGKILL"),
        ("trajectories.worker.start:raise", "no worker can be started: OSError: .*Input/output error"),
        ("trajectories.worker.start:exit", "no worker can be started: it left with status 3"),
        ("trajectories.worker.ready:kill", "no worker can be started: it was killed by SIGKILL"),
        ("trajectories.row:kill", "5 rows in a row ended their workers, the last of them in.jsonl:5:"),
        ("trajectories.worker.answer:kill", "in.jsonl:1-512: these rows end their worker together"),
    ],
)
def test_machine_on_which_every_worker_dies_ends_the_run_and_leaves_it_to_be_resumed(
    clean, tmp_path, inject, fault, said
):
    out = tmp_path / "out.jsonl"
    inject(fault)
    with pytest.raises(MidfoldError, match=f"{said}.*continue with --resume"):
        compress_files(Batch(clean / "in.jsonl", CONFIG), out, engine=LocalEngine(2))
    assert active_children() == []
    assert not out.exists()
    arm(None)
    compress_files(Batch(clean / "in.jsonl", CONFIG), out, resume=True)
    assert out.read_bytes() == (clean / "out.jsonl").read_bytes()
    assert listed_beside(out) == []


def test_more_deaths_than_answers_are_borne_for_a_while_only():
    health = WorkerHealth()
    for _ in range(5):
        health.note_answer()
    for _ in range(SPARE_DEATHS + 5):
        health.note_death("it was killed by SIGKILL")
    with pytest.raises(MidfoldError, match=r"106 workers ended for 5 chunks .* fewer --workers"):
        health.note_death("it was killed by SIGKILL")


@pytest.mark.slow
def test_run_that_was_stopped_after_such_a_row_goes_on_without_trying_it_again(tmp_path, inject):
    source, out = write_rows(tmp_path / "in.jsonl", poison={10, 1_290}), tmp_path / "out.jsonl"
    inject(POISONOUS.format("kill"))

    def stop(_progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2), watch=stop)
    assert active_children() == []
    result = compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2), resume=True)
    assert result.resumed_rows == 512
    assert [each.line for each in result.examples] == [1_290]
    assert_all_but(out, {10, 1_290})


HANG_ONCE = """
import sys
from pathlib import Path
from midfold.faults import arm
from midfold.trajectories import CompressionConfig
from midfold.trajectories.reader import Selection
from midfold.trajectories.sources import find_sources
from midfold.trajectories.pool import run_pool
from midfold.trajectories.runs import Task

sources = find_sources(Path(sys.argv[1]))
task = Task(CompressionConfig(), (sources[0].form,))
arm(f"trajectories.worker.start:sleep:once={sys.argv[2]}")
print(sum(each.written for each in run_pool(task, Selection(sources), 1, start_seconds=1.0)))
"""


@pytest.mark.slow
@ON_LINUX
def test_worker_that_hangs_as_it_starts_is_replaced(clean, tmp_path):
    token = tmp_path / "token"
    token.touch()
    # In a process without other threads, where workers are copies of it and start at once.
    command = [sys.executable, "-c", HANG_ONCE, clean / "in.jsonl", token]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{ROWS}\n", "")
    assert not token.exists()


def test_workers_that_all_hang_as_they_start_end_the_run(clean, inject):
    inject("trajectories.worker.start:sleep")
    sources = find_sources(clean / "in.jsonl")
    task = Task(CONFIG, (sources[0].form,))
    with pytest.raises(MidfoldError, match=r"no worker can be started: it was not ready within 0\.2 s"):
        list(run_pool(task, Selection(sources), 2, start_seconds=0.2))
    assert active_children() == []


def children(pid):
    return [
        int(child)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for child in path.read_text().split()
    ]


def is_gone(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def stop_when_a_worker_sleeps(source, out, point, number):
    """Run the command until workers sleep at a point, send it a signal, and see that no process is left."""
    token = source.with_name("token")
    token.touch()
    # The first to sleep removes the token; all others sleep too, so that the run is there to be stopped.
    faults = f"{POISONOUS.format('kill')},{point}:sleep:once={token},{point}:sleep"
    command = [sys.executable, "-m", "midfold", "trajectories", source, "-o", out, "--workers", "2"]
    with subprocess.Popen(
        [*command, "--target-max-tokens", "1500"],
        env=os.environ | {"MIDFOLD_FAULT": faults},
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        while token.exists():
            assert run.poll() is None
            time.sleep(0.001)
        workers = children(run.pid)
        run.send_signal(number)
        status, said = run.wait(), run.stderr.read()
    assert workers
    until = time.monotonic() + 10
    while not all(map(is_gone, workers)):
        assert time.monotonic() < until
        time.sleep(0.01)
    return status, said


@pytest.mark.slow
@ON_LINUX
@pytest.mark.parametrize("point", ["trajectories.recovery", "trajectories.worker.start"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_run_that_is_stopped_while_a_worker_hangs_leaves_no_process_and_can_be_resumed(
    tmp_path, inject, point, number, status
):
    source, out = write_rows(tmp_path / "in.jsonl", poison={700}), tmp_path / "out.jsonl"
    left, said = stop_when_a_worker_sleeps(source, out, point, number)
    assert left == status
    assert "Traceback" not in said
    assert ("interrupted; finished rows are kept" in said) == (number == signal.SIGINT)
    inject(POISONOUS.format("kill"))
    compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2), resume=True)
    assert_all_but(out, {700})


@pytest.mark.slow
def test_one_worker_is_this_process_and_two_go_on_where_a_row_has_ended_it(tmp_path, inject):
    source, out = write_rows(tmp_path / "in.jsonl", poison={700}), tmp_path / "out.jsonl"
    command = [sys.executable, "-m", "midfold", "trajectories", source, "-o", out, "--workers", "1"]
    done = subprocess.run(
        [*command, "--target-max-tokens", "1500"],
        env=os.environ | {"MIDFOLD_FAULT": POISONOUS.format("kill")},
        capture_output=True,
    )
    assert done.returncode == -signal.SIGKILL
    assert not out.exists()
    inject(POISONOUS.format("kill"))
    result = compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2), resume=True)
    assert result.resumed_rows == 512
    assert_all_but(out, {700})


@pytest.mark.faults
@pytest.mark.timeout(1_200)
def test_workers_that_are_killed_at_random_times_cost_no_row(clean, tmp_path, rounds):
    """The killer is a thread, so workers start afresh; each round kills at another moment."""
    expected = (clean / "out.jsonl").read_bytes()
    for number in range(max(1, rounds // 10)):
        is_over = threading.Event()

        def kill_some(wait_seconds, is_over=is_over):
            while not is_over.wait(wait_seconds):
                for worker in active_children()[:1]:
                    worker.kill()
                is_over.wait(3.0)

        killer = threading.Thread(target=kill_some, args=(0.05 + 0.13 * number % 2.0,))
        killer.start()
        out = tmp_path / f"out{number}.jsonl"
        try:
            compress_files(Batch(clean / "in.jsonl", CONFIG), out, engine=LocalEngine(2))
        finally:
            is_over.set()
            killer.join()
        assert out.read_bytes() == expected


@pytest.mark.faults
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("stage", STAGES)
def test_a_worker_that_is_killed_at_the_nth_pass_of_any_stage_costs_no_row(
    clean, tmp_path, inject, rounds, stage
):
    for nth in range(1, max(2, rounds // 20)):
        token = tmp_path / f"token{nth}"
        token.touch()
        inject(f"{stage}:kill:{nth}:once={token}")
        out = tmp_path / f"out{nth}.jsonl"
        compress_files(Batch(clean / "in.jsonl", CONFIG), out, engine=LocalEngine(1 + nth % 3 + 1))
        assert out.read_bytes() == (clean / "out.jsonl").read_bytes()


# These leave threads behind or have some, and beside threads workers start afresh, which takes longer.
@pytest.mark.slow
def test_such_a_row_is_found_in_a_parquet_file(tmp_path, inject):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    turns = [POISON if number in (3, 8) else SHORT for number in range(20)]
    pq.write_table(pa.table({"id": list(range(20)), "conversations": turns}), source)
    inject(POISONOUS.format("kill"))
    compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2))
    assert pq.read_table(out).column("id").to_pylist() == [n for n in range(20) if n not in (3, 8)]
    assert [row["line"] for row in listed_beside(out)] == [4, 9]


@pytest.mark.slow
def test_such_a_row_is_found_where_a_model_writes_and_is_not_asked_row_by_row(tmp_path, inject):
    source, out = write_rows(tmp_path / "in.jsonl", poison={7}, count=20), tmp_path / "out.jsonl"
    inject(POISONOUS.format("kill"))
    with Upstream(Reply("The meters were counted.", usage=CanonicalUsage(1_000, 100))) as up:
        config = CompressionConfig(
            target_max_tokens=1_500, summary_model="openai/gpt-5-mini", base_url=up.url
        )
        result = compress_files(Batch(source, config), out, engine=LocalEngine(2))
        asked = len(up.requests)
    assert_all_but(out, {7}, count=20)
    assert "The meters were counted." in out.read_text()
    assert (result.totals.bill.calls, asked <= 2) == (1, True)


@pytest.mark.slow
def test_such_a_row_is_found_beside_a_thread_where_workers_start_afresh(tmp_path, inject):
    source, out = write_rows(tmp_path / "in.jsonl", poison={7}, count=20), tmp_path / "out.jsonl"
    inject(POISONOUS.format("kill"))
    is_over = threading.Event()
    beside = threading.Thread(target=is_over.wait)
    beside.start()
    try:
        compress_files(Batch(source, CONFIG), out, engine=LocalEngine(2))
    finally:
        is_over.set()
        beside.join()
    assert_all_but(out, {7}, count=20)
