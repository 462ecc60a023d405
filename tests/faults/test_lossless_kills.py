"""Killing a process that folds with the lossless engine: nothing is lost, and nothing is paid twice."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.lossless_worker import SESSION, said

from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.engines.lossless.layers import list_nodes
from midfold.engines.lossless.node_batches import NodeBatches
from midfold.folding import CompressionPolicy
from midfold.store import open_store
from midfold.store.sqlite.health import find_problems
from midfold.wire import parse

WORKER = Path(__file__).with_name("lossless_worker.py")
POINTS = (
    "lcm.leaf:kill",
    "lcm.leaf:kill:3",
    "lcm.condense:kill",
    "lcm.assemble:kill",
    "lcm.save.before:kill",
    "lcm.save.after:kill",
    "store.continue.linked:kill",
)


@pytest.fixture(scope="module")
def workers():
    """Yield a function that folds in a process of its own and returns how that ended."""
    with subprocess.Popen(
        [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def run(folder, fault="-"):
            process.stdin.write(f"{folder} {fault}\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield run
        process.stdin.close()


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_after_a_kill_the_next_process_folds_from_what_was_paid_for(point, workers, tmp_path):
    assert workers(tmp_path, point) == -signal.SIGKILL
    paid = _asked(tmp_path)
    assert paid
    assert workers(tmp_path) == 0
    asked = _asked(tmp_path)
    assert asked[: len(paid)] == paid
    assert len(set(asked)) == len(asked)
    _check(tmp_path)


def _asked(folder):
    return (folder / "asked").read_text().split()


def _check(folder):
    """Check that every message is there, each summary once, and all of them can be looked up."""
    with open_store(folder / "sessions.db") as store:
        assert store._database.write(find_problems) == []
        tip = store.get_compression_tip(SESSION)
        assert tip != SESSION
        assert [record.item for record in store.history(tip)] == said()
        batches = [nodes for number in range(9) if (nodes := NodeBatches(store, tip).load(number))]
        saved = [node.id for nodes in batches for node in nodes]
        assert len(set(saved)) == len(saved)
        key = store.conversation_key(tip)
        engine = LosslessEngine.open(EngineSetup(CompressionPolicy(), key=key, store=store))
        engine.on_session_start(tip)
        shown = list_nodes(parse(store.messages(tip), "openai_chat"), key)
        assert {node.id for node in shown} <= set(engine.memory.graph.nodes)
        covered = [number for node in shown for span in node.spans for number in span]
        assert covered
        assert len(set(covered)) == len(covered)
