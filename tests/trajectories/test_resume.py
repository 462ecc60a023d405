"""Whatever ends a run, resuming it gives the output of a run that was never interrupted, and redoes nothing.

`make test-faults` kills a hundred times; the ordinary tests do so at some of the points where it matters.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from midfold.errors import ConfigError, MidfoldError
from midfold.testing import transcript
from midfold.trajectories import Batch, CompressionConfig, LocalEngine, compress_files

SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]
ROWS = 1_200  # more than two chunks
POINTS = {
    "trajectories.part.before": 2,
    "trajectories.manifest.before": 2,
    "trajectories.manifest.after": 1,
    "trajectories.complete.before": 1,
    "trajectories.place.before": 1,
    "trajectories.place.after": 1,
    "trajectories.remove.before": 1,
}
ORDINARY = ("trajectories.manifest.before", "trajectories.complete.before", "trajectories.place.after")
CONFIG = CompressionConfig(target_max_tokens=1_500)
SETTINGS = ("--target-max-tokens", "1500", "--workers", "1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of rows, good and bad, some of them too long."""
    path = tmp_path_factory.mktemp("in")
    for name in ("a.jsonl", "b.jsonl"):
        rows = [{"id": f"{name} {number}", "conversations": SHORT} for number in range(ROWS)]
        rows[3]["conversations"] = rows[900]["conversations"] = transcript(
            "sharegpt", turns=16, result_chars=400
        )
        lines = [json.dumps(row) for row in rows]
        lines[7] = "{broken"
        lines[1_100] = "null"
        (path / name).write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory):
    """What a run writes that is never interrupted."""
    out = tmp_path_factory.mktemp("expected") / "out"
    compress_files(Batch(folder, CONFIG), out)
    return out


def run(folder, out, *options, fault=None):
    """Run the command in a process of its own; returns its status and what it reports."""
    environment = {name: value for name, value in os.environ.items() if name != "MIDFOLD_FAULT"}
    done = subprocess.run(
        [sys.executable, "-m", "midfold", "trajectories", folder, "-o", out, *SETTINGS, "--json", *options],
        env=environment | ({"MIDFOLD_FAULT": fault} if fault else {}),
        capture_output=True,
        text=True,
    )
    return done.returncode, json.loads(done.stdout) if done.stdout else done.stderr


def contents(out):
    listed = out.with_name(out.name + ".rejects.jsonl")
    return [path.read_bytes() for path in (*sorted(out.iterdir()), listed)]


def assert_whole(out, expected):
    """Every row is there once, but for those that are listed, in the bytes of an undisturbed run."""
    assert contents(out) == contents(expected)
    ids = [
        json.loads(line)["id"] for path in sorted(out.iterdir()) for line in path.read_bytes().splitlines()
    ]
    listed = out.with_name(out.name + ".rejects.jsonl").read_bytes().splitlines()
    assert len(ids) == len(set(ids)) == 2 * ROWS - len(listed)
    assert not out.with_name(out.name + ".work").exists()


@pytest.mark.slow
def test_kill_at_one_point_after_another_and_the_output_is_whole(folder, expected, tmp_path):
    out = tmp_path / "out"
    for point in ORDINARY:
        status, _ = run(folder, out, "--resume", fault=f"{point}:kill:{POINTS[point]}")
        assert status == -signal.SIGKILL, point
    status, report = run(folder, out, "--resume")
    assert (status, report["resumed_rows"], report["rows"]) == (0, 2 * ROWS, 2 * ROWS)
    assert_whole(out, expected)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["trajectories.part.before", "trajectories.manifest.before"])
def test_run_that_was_killed_within_its_first_chunk_is_begun_again_without_a_row_twice(
    folder, expected, tmp_path, point
):
    out = tmp_path / "out"
    assert run(folder, out, fault=f"{point}:kill:1")[0] == -signal.SIGKILL
    status, report = run(folder, out)
    assert (status, report["resumed_rows"]) == (0, 0)
    assert_whole(out, expected)


@pytest.mark.faults
@pytest.mark.timeout(1_200)
def test_a_hundred_kills_and_the_output_is_whole(folder, expected, tmp_path):
    chance = random.Random(20)
    killed = 0
    while killed < 100:
        out = tmp_path / f"out{killed}"
        for _ in range(chance.randint(2, 12)):
            point = chance.choice([*POINTS])
            fault = f"{point}:kill:{chance.randint(1, POINTS[point] + 2)}"
            status, _ = run(folder, out, "--resume", "--workers", chance.choice("12"), fault=fault)
            killed += status == -signal.SIGKILL
        assert run(folder, out, "--resume")[0] == 0
        assert_whole(out, expected)


class Stop(Exception):
    """What ends a run in this process."""


def stop_after(chunks):
    """Return an engine that stops after so many chunks."""

    def engine(task, selection):
        for number, finished in enumerate(LocalEngine()(task, selection)):
            if number == chunks:
                raise Stop
            yield finished

    return engine


def begin(folder, out, chunks=3):
    with pytest.raises(Stop):
        compress_files(Batch(folder, CONFIG), out, engine=stop_after(chunks))
    return out.with_name(out.name + ".work")


def test_chunks_that_are_done_are_not_done_again(folder, tmp_path):
    begin(folder, tmp_path / "out")
    asked = []

    def engine(task, selection):
        asked.append(selection.begin)
        return LocalEngine()(task, selection)

    result = compress_files(Batch(folder, CONFIG), tmp_path / "out", engine=engine, resume=True)
    [position] = asked
    assert (position.file, position.row) == (1, 1)
    assert (result.resumed_rows, result.totals.metrics.rows) == (ROWS, 2 * ROWS)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("manifest.jsonl", 0.0),
        ("manifest.jsonl", 0.4),
        ("00000.part", 0.99),
        ("00001.part", 0.0),
        ("listed.part", 0.4),
    ],
)
def test_what_was_half_written_when_the_power_went_is_done_again(folder, expected, tmp_path, name, kept):
    out = tmp_path / "out"
    path = begin(folder, out, chunks=4) / name
    header = path.read_bytes().find(b"\n") + 1 if name == "manifest.jsonl" else 0
    path.write_bytes(path.read_bytes()[: header + int((path.stat().st_size - header) * kept)])
    compress_files(Batch(folder, CONFIG), out, resume=True)
    assert_whole(out, expected)


def test_bytes_that_are_not_what_the_manifest_says_are_done_again(folder, expected, tmp_path):
    out = tmp_path / "out"
    part = begin(folder, out) / "00000.part"
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    compress_files(Batch(folder, CONFIG), out, resume=True)
    assert_whole(out, expected)


def test_part_with_bytes_that_nobody_committed_is_never_put_in_place(folder, expected, tmp_path):
    out = tmp_path / "out"

    def engine(task, selection):
        for number, finished in enumerate(LocalEngine()(task, selection)):
            yield finished
            if number == 0:
                with (tmp_path / "out.work" / "00000.part").open("ab") as part:
                    part.write(b"stray")

    with pytest.raises(MidfoldError, match=r"00000\.part holds .* continue with --resume"):
        compress_files(Batch(folder, CONFIG), out, engine=engine)
    assert not out.exists()
    compress_files(Batch(folder, CONFIG), out, resume=True)
    assert_whole(out, expected)


def test_resuming_what_was_never_begun_begins_it(folder, tmp_path):
    result = compress_files(Batch(folder, CONFIG), tmp_path / "out", resume=True)
    assert (result.resumed_rows, result.totals.metrics.rows) == (0, 2 * ROWS)


def test_other_settings_do_not_go_on_with_the_work(folder, tmp_path):
    begin(folder, tmp_path / "out")
    other = CompressionConfig(target_max_tokens=1_600)
    with pytest.raises(ConfigError, match=r"target_max_tokens is 1600; expected what the run was begun with"):
        compress_files(Batch(folder, other), tmp_path / "out", resume=True)


def test_other_files_do_not_go_on_with_the_work(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    begin(copy, tmp_path / "out")
    with (copy / "b.jsonl").open("a") as file:
        file.write("\n{}")
    with pytest.raises(ConfigError, match="IN is not what it was"):
        compress_files(Batch(copy, CONFIG), tmp_path / "out", resume=True)


def test_files_that_were_edited_in_their_middle_do_not_go_on_with_the_work(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    begin(copy, tmp_path / "out")
    os.utime(copy / "b.jsonl", ns=(1, 1))
    with pytest.raises(ConfigError, match="IN is not what it was"):
        compress_files(Batch(copy, CONFIG), tmp_path / "out", resume=True)


def test_patience_may_change_between_runs(folder, tmp_path):
    begin(folder, tmp_path / "out")
    patient = CompressionConfig(target_max_tokens=1_500, timeout_seconds=900.0)
    assert compress_files(Batch(folder, patient), tmp_path / "out", resume=True).resumed_rows == ROWS


def test_two_runs_do_not_work_in_one_folder(folder, tmp_path):
    pytest.importorskip("fcntl")

    def engine(task, selection):
        with pytest.raises(ConfigError, match="no other run is at work"):
            compress_files(Batch(folder, CONFIG), tmp_path / "out", resume=True)
        return LocalEngine()(task, selection)

    compress_files(Batch(folder, CONFIG), tmp_path / "out", engine=engine)


@pytest.mark.slow
def test_interrupt_leaves_work_and_says_how_to_go_on(folder, tmp_path):
    out = tmp_path / "out"
    manifest = tmp_path / "out.work" / "manifest.jsonl"
    arguments = ["trajectories", folder, "-o", out, *SETTINGS, "--workers", "2"]
    with subprocess.Popen(
        [sys.executable, "-m", "midfold", *arguments],
        env=os.environ | {"MIDFOLD_FAULT": "trajectories.manifest.after:sleep:2"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (manifest.exists() and manifest.read_bytes().count(b"\n") == 3):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait() == 130
    assert "interrupted; finished rows are kept; continue with: midfold trajectories " in said
    assert said.rstrip().endswith("--workers 2 --resume")
    assert compress_files(Batch(folder, CONFIG), out, resume=True).resumed_rows >= 512
