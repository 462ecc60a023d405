"""A full disk, a killed process, a failing step: what was promised is there, and nothing pretends to be."""

import json
import os
import subprocess
import sys

import pytest

from midfold import faults
from midfold.offload import FileSink, enforce

TEXT = "a line of output\n" * 8_000
HOUR = 3_600.0
POINTS = [
    f"sink.{step}.{when}"
    for step in ("write", "fsync", "rename", "dir_fsync")
    for when in ("before", "after")
]
KEEP = """
import sys
from pathlib import Path
from midfold.offload import FileSink
session = FileSink(Path(sys.argv[1])).session("s")
for number in range(3):
    print(session.write(str(number), "a line of output\\n" * 8_000), flush=True)
"""
FILL = """
import json, resource, sys
from pathlib import Path
from midfold.offload import FileSink, offload_result
session = FileSink(Path(sys.argv[1])).session("s")
text = "a line of output\\n" * 100_000
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, most))
full = offload_result(text, session, call_id="1")
small = offload_result(text[:200_000], session, call_id="2")
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
again = offload_result(text, session, call_id="1")
kept = [session.read(each.outcome.reference) for each in (small, again)]
print(json.dumps([len(full.text), full.outcome.reason, *map(len, kept)]))
"""


@pytest.fixture
def _disarmed():
    yield
    faults.arm(None)


def run(code, root, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, str(root)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_point_loses_nothing_that_was_promised(root, clock, point):
    killed = run(KEEP, root, MIDFOLD_FAULT=f"{point}:kill:2")
    assert killed.returncode == -9, killed.stderr
    promised = killed.stdout.split()
    sink = FileSink(root, clock=clock)
    session = sink.session("s")
    assert len(promised) == 1
    assert [session.read(reference) for reference in promised] == [TEXT]
    assert all(session.read(info.reference) == TEXT for info in session.outputs())
    clock.now += 2 * HOUR
    sink.sweep()
    assert list(root.rglob(".tmp-*")) == []
    again = run(KEEP, root)
    assert (len(again.stdout.split()), len(session.outputs())) == (3, 3)


@pytest.mark.parametrize("action", ["raise", "enospc"])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.usefixtures("_disarmed")
def test_a_step_that_fails_cuts_the_result_and_leaves_no_litter(root, turn, point, action):
    session = FileSink(root).session("s")
    faults.arm(f"{point}:{action}")
    failed = enforce(turn(TEXT), session)
    assert [len(failed.cut), len(failed.offloaded)] == [1, 0]
    assert list(root.rglob(".tmp-*")) == []
    worked = enforce(turn(TEXT), session)
    [kept] = worked.offloaded.values()
    assert session.read(kept.reference) == TEXT


def test_a_disk_without_room_cuts_and_is_used_again_when_there_is(root):
    done = run(FILL, root)
    assert done.returncode == 0, done.stderr
    left_chars, reason, *kept_chars = json.loads(done.stdout)
    assert left_chars <= 100_000
    assert reason == "File too large"
    assert kept_chars == [200_000, 1_700_000]
    assert list(root.rglob(".tmp-*")) == []
