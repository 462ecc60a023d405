"""The same work next to the best-known system of this kind, in one run, each in its own interpreter.

`make bench-peers` installs the peer into `.venv-hermes`; nothing of it is imported here.
"""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import report
from midfold.testing import transcript

ROOT = Path(__file__).parents[1]
PEER_PYTHON = Path(os.environ.get("MIDFOLD_HERMES_PYTHON", ROOT / ".venv-hermes" / "bin" / "python"))
DATA = Path(os.environ.get("MIDFOLD_DATA", ROOT.parent / "shared" / "data")) / "corpus"
MESSAGES = 10_000
SUMMARY = "## Goal\\nKeep the meters running."

OURS = f"""
import json, sys, time
from midfold import CompressionPolicy, ContextCompressor
from midfold.folding import Strategy
messages = json.load(open(sys.argv[1]))
policy = CompressionPolicy(strategy=Strategy.FOLD)
engine = ContextCompressor(200_000, policy=policy, summarizer=lambda r: "{SUMMARY}")
start = time.process_time()
engine.should_compress_preflight(messages)
read = time.process_time()
out = engine.compress(messages, focus_topic="tariff")
print(time.process_time() - read, read - start)
"""
PEER = f"""
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from types import SimpleNamespace as N
import agent.context_compressor as module
reply = N(choices=[N(message=N(content="{SUMMARY}"), finish_reason="stop")], usage=None)
module.call_llm = lambda *args, **options: reply
messages = json.load(open(sys.argv[1]))
engine = module.ContextCompressor("gpt-4o", quiet_mode=True, config_context_length=200_000)
start = time.process_time()
out = engine.compress(messages, current_tokens=1_000_000, focus_topic="tariff")
print(time.process_time() - start, 0)
"""


def main() -> None:
    """Print seconds for both and their ratio."""
    if not PEER_PYTHON.exists():
        print(f"no peer at {PEER_PYTHON}; run `make bench-peers`")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.json"
        path.write_text(json.dumps(_session()), "utf-8")
        # In turn, so that both meet the machine in the same moods; the best of three each.
        runs = [(_run(Path(sys.executable), OURS, path), _run(PEER_PYTHON, PEER, path)) for _ in range(3)]
    ours, reading = min(run for run, _ in runs)
    peer, _ = min(run for _, run in runs)
    report("hermes-agent 0.19: compress 10,000 messages, stubbed model", f"{peer:.2f} s", "-")
    report("midfold: the same, messages read turn by turn before", f"{ours:.2f} s", "-")
    report("midfold: reading and counting them all at once", f"{reading:.2f} s", "-")
    report("hermes-agent against midfold in a session", f"{peer / ours:.1f} x", "3 x")
    report("hermes-agent against midfold from nothing", f"{peer / (ours + reading):.1f} x", "-")


def _session() -> list[object]:
    """Return real agent conversations one after another where there are any, else made ones."""
    real = [
        json.loads(gzip.decompress(path.read_bytes()))["messages"] for path in sorted(DATA.glob("*.json.gz"))
    ]
    items = [item for messages in real for item in messages]
    return (items or transcript(turns=MESSAGES // 4, result_chars=3_000))[:MESSAGES]


def _run(python: Path, code: str, path: Path) -> tuple[float, float]:
    """Return the CPU seconds of compressing, and those of reading before it."""
    environment = {**os.environ, "HERMES_HOME": str(path.parent / "peer-home")}
    done = subprocess.run(
        [python, "-c", code, path], capture_output=True, text=True, check=True, env=environment
    )
    compressing, reading = map(float, done.stdout.split()[-2:])
    return compressing, reading


if __name__ == "__main__":
    main()
