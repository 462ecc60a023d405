"""Processes that fold one conversation at once, as workers of a gateway and sub-agents do."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.lossless_sharer import ROUNDS

from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.store import open_store
from midfold.testing import transcript

SHARER = Path(__file__).with_name("lossless_sharer.py")
PROCESSES = 3


@pytest.mark.slow
def test_processes_that_fold_at_once_lose_no_summary(tmp_path):
    with open_store(tmp_path / "s.db") as store:
        said = transcript("openai_chat", seed=1, turns=12, result_chars=2_000)
        session = store.create_session(dialect="openai_chat", messages=said).id
        sharers = [
            subprocess.Popen(
                [sys.executable, SHARER, tmp_path, session, str(100 * number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(PROCESSES)
        ]
        for each in sharers:
            assert each.stdout.readline() == "ready\n"
        for each in sharers:
            each.stdin.write("\n")
            each.stdin.flush()
        made = [each.communicate(timeout=60)[0].splitlines() for each in sharers]
        assert [each.returncode for each in sharers] == [0] * PROCESSES
        assert [len(lines) for lines in made] == [ROUNDS] * PROCESSES
        again = LosslessEngine.open(EngineSetup(key=store.conversation_key(session), store=store))
        again.on_session_start(session)
        assert set(again.memory.graph.nodes) == {
            name for lines in made for line in lines for name in line.split()
        }
