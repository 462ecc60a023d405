"""A reader of standard output who has seen enough is no failure; every other broken pipe is one."""

import json
import os
import subprocess
import sys

import pytest

from midfold.config import load_settings
from midfold.config.home import open_own_store
from midfold.testing import transcript

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a pipe closes in another way elsewhere")
SHORT = {"conversations": [{"from": "human", "value": "hello"}]}
# Writes into a pipe of its own that nobody reads, as a command does whose worker, tool or server died.
BROKEN_ELSEWHERE = """
import os, sys, types
import click
from midfold.cli import main

@click.command()
def command():
    click.echo("begun")
    reading, writing = os.pipe()
    os.close(reading)
    os.write(writing, b"work")

name = "midfold.cli.commands.broken"
module = types.ModuleType(name)
module.command = command
sys.modules[name] = module
main.COMMANDS["broken"] = ""
sys.argv = ["midfold", "broken"]
main.main()
"""


@pytest.fixture
def transcript_file(tmp_path):
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(transcript(turns=40)))
    return path


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text((json.dumps(SHORT) + "\n") * 1_200)
    return path


def run_closed(*arguments, closed="stdout", **environment):
    """Run a command whose standard output or error nobody reads; returns its status and the other stream."""
    command = [sys.executable, "-m", "midfold", *map(str, arguments)]
    return run_until_closed(command, closed, environment)


def run_until_closed(command, closed, environment):
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | environment,
    ) as process:
        getattr(process, closed).close()
        other = process.stdout if closed == "stderr" else process.stderr
        text = other.read().decode()
    return process.returncode, text


ORDINARY = (
    "compress {talk} --max-tokens 3000",
    "eval {talk} --ratio 0.2",
    "sessions list",
    "sessions export {session}",
    "trajectories {rows} --dry-run --workers 2",
)
ALL = (
    *ORDINARY,
    "--help",
    "--version",
    "config show",
    "demo",
    "doctor",
    "inspect {talk} --json",
    "insights",
    "plugins",
    "sessions show {session}",
    "sessions search meters",
    "sessions chain {session}",
    "sessions prune --older-than 30d --dry-run",
    "usage",
)


@pytest.fixture
def fill_in(transcript_file, rows, folded):
    return lambda words: words.format(talk=transcript_file, rows=rows, session=folded[0]).split()


@pytest.mark.slow
@pytest.mark.parametrize("words", ORDINARY)
def test_command_ends_quietly_when_its_reader_has_seen_enough(words, fill_in):
    assert run_closed(*fill_in(words)) == (0, "")


@pytest.mark.faults
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ALL)
def test_every_command_ends_quietly_when_its_reader_has_seen_enough(words, unbuffered, fill_in):
    assert run_closed(*fill_in(words), PYTHONUNBUFFERED=unbuffered) == (0, "")


def test_output_file_is_whole_when_nobody_reads_the_table(rows, tmp_path):
    out = tmp_path / "out.jsonl"
    assert run_closed("trajectories", rows, "-o", out, "--workers", "2") == (0, "")
    assert out.read_bytes() == rows.read_bytes()
    assert not (tmp_path / "out.jsonl.work").exists()


def test_output_file_is_whole_when_nobody_reads_the_remarks(transcript_file, tmp_path):
    out = tmp_path / "short.json"
    status, _ = run_closed("compress", transcript_file, "--max-tokens", "3000", "-o", out, closed="stderr")
    assert status == 0
    assert len(json.loads(out.read_text())) < len(json.loads(transcript_file.read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["trajectories.worker.start:kill", "trajectories.worker.start:exit"])
def test_worker_that_dies_as_it_starts_is_never_taken_for_success(rows, tmp_path, fault):
    out = tmp_path / "out.jsonl"
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "midfold", "trajectories", rows, "-o", out, "--workers", "2"],
            env=os.environ | {"MIDFOLD_FAULT": fault},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("midfold: no worker can be started: it ")
        assert done.stderr.endswith("; continue with --resume\n")
        assert done.stderr.count("\n") == 1
        assert not out.exists()


def test_pipe_that_breaks_elsewhere_is_one_line_and_status_two():
    done = subprocess.run([sys.executable, "-c", BROKEN_ELSEWHERE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "begun\n")
    assert done.stderr == "midfold: a pipe to another process broke before the work was done\n"


def test_error_has_its_status_also_when_nobody_reads_it(tmp_path):
    assert run_closed("inspect", tmp_path / "nowhere.json", closed="stderr") == (2, "")


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_import_goes_on_and_keeps_its_status_whoever_reads(closed, tmp_path):
    files = []
    for number in range(6):
        path = tmp_path / f"{number}.json"
        text = json.dumps([{"role": "user", "content": f"talk {number}"}])
        path.write_text("{broken" if number in (1, 3) else text)
        files.append(path)
    status, _ = run_closed("sessions", "import", *files, closed=closed, PYTHONUNBUFFERED="1")
    assert status == 2
    with open_own_store(load_settings()) as store:
        assert len(store.sessions()) == 4
