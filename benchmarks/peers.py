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
TURN_MESSAGES = 10
# Wide enough for the messages: a far smaller one makes an emergency of the fold, and no model is asked.
WINDOW = 6_000_000


def _long_summary() -> str:
    """Return a summary as long as a model's, about 1,500 tokens, with names of files and commands in it."""
    sections = ("Goal", "Decisions", "Files", "Commands", "Errors", "Open")
    line = "- meter {n}: `src/meters/zone_{n}.py` reads the tariff of zone {n}; `make check-{n}` passed"
    numbered = [line.format(n=number) for number in range(len(sections) * 8)]
    parts = [
        "\n".join([f"## {name}", *numbered[place * 8 : place * 8 + 8]]) for place, name in enumerate(sections)
    ]
    return "\n\n".join(parts)


SUMMARY = repr(_long_summary())

OURS = f"""
import json, sys, time
from midfold import CompressionPolicy, ContextCompressor
from midfold.folding import Strategy
messages = json.load(open(sys.argv[1]))
policy = CompressionPolicy(strategy=Strategy.FOLD)
asked = []
def summarize(request):
    asked.append(request)
    return {SUMMARY}
engine = ContextCompressor({WINDOW}, policy=policy, summarizer=summarize, prepare_ahead=False)
start = time.process_time()
for stop in range({TURN_MESSAGES}, len(messages) * int(sys.argv[2]), {TURN_MESSAGES}):
    engine.should_compress_preflight(messages[:stop])
if int(sys.argv[2]):
    engine.should_compress_preflight(messages)
read = time.process_time()
out = engine.compress(messages, focus_topic="tariff")
assert asked, "no model was asked"
print(time.process_time() - read, read - start)
"""
PEER = f"""
import json, logging, sys, time
logging.disable(logging.CRITICAL)
from types import SimpleNamespace as N
import agent.context_compressor as module
reply = N(choices=[N(message=N(content={SUMMARY}), finish_reason="stop")], usage=None)
module.call_llm = lambda *args, **options: reply
messages = json.load(open(sys.argv[1]))
engine = module.ContextCompressor("gpt-4o", quiet_mode=True, config_context_length={WINDOW})
start = time.process_time()
out = engine.compress(messages, current_tokens=5_000_000, focus_topic="tariff")
print(time.process_time() - start, 0)
"""


def main() -> None:
    """Print seconds for both, their ratios, and where the peer wins."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.json"
        path.write_text(json.dumps(_session()), "utf-8")
        # In turn, so that both meet the machine in the same moods; the best of three each.
        runs = [
            (
                _run(Path(sys.executable), OURS, path, in_session=True),
                _run(Path(sys.executable), OURS, path, in_session=False),
                _run(PEER_PYTHON, PEER, path, in_session=False) if PEER_PYTHON.exists() else None,
            )
            for _ in range(3)
        ]
    session, reading = min(run for run, _, _ in runs)
    nothing, _ = min(run for _, run, _ in runs)
    report("midfold: compress 10,000 messages, read turn by turn before", f"{session:.2f} s", "1.0 s")
    report("midfold: reading them turn by turn, all turns together", f"{reading:.2f} s", "-")
    report("midfold: the same from nothing", f"{nothing:.2f} s", "2.5 s")
    peers = [peer for _, _, peer in runs if peer is not None]
    if not peers:
        print(f"no peer at {PEER_PYTHON}; run `make bench-peers`")
        return
    peer, _ = min(peers)
    report("hermes-agent 0.19: the same, stubbed model", f"{peer:.2f} s", "-")
    report_ratio("compress in a session", peer / session, "3 x")
    report_ratio("compress from nothing", peer / nothing, "-")


def report_ratio(name: str, ratio: float, goal: str) -> None:
    """Print how many times longer the peer takes, and say so where it wins."""
    report(f"hermes-agent against midfold: {name}", f"{ratio:.1f} x", goal)
    if ratio < 1:
        print(f"THE PEER WINS: {name}, by {1 / ratio:.1f} x")


def _session() -> list[object]:
    """Return real agent conversations one after another where there are any, else made ones."""
    real = [
        json.loads(gzip.decompress(path.read_bytes()))["messages"] for path in sorted(DATA.glob("*.json.gz"))
    ]
    items = [item for messages in real for item in messages]
    return (items or transcript(turns=MESSAGES // 4, result_chars=3_000))[:MESSAGES]


def _run(python: Path, code: str, path: Path, *, in_session: bool) -> tuple[float, float]:
    """Return the CPU seconds of compressing, and those of reading before it."""
    environment = {**os.environ, "HERMES_HOME": str(path.parent / "peer-home")}
    done = subprocess.run(
        [python, "-c", code, path, str(int(in_session))],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    compressing, reading = map(float, done.stdout.split()[-2:])
    return compressing, reading


if __name__ == "__main__":
    main()
