"""What a person waits for before anything happens: the first compress of a process, and commands.

Each in processes of its own, with bytecode, CPU of user and system; the best of several runs.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.timing import report
from midfold.testing import transcript
from midfold.testing.upstream import Reply, Upstream

RUNS = 5
FIRST = """
import json, sys, time
messages = json.load(open(sys.argv[1]))
import midfold
midfold.compress(messages, max_tokens=2_000)
"""


def main() -> None:
    """Print the CPU of each."""
    with tempfile.TemporaryDirectory() as name, Upstream(Reply("Noted.")) as up:
        folder = Path(name)
        small = folder / "small.json"
        small.write_text(json.dumps(transcript(turns=20, result_chars=1_500, last="Go on.")), "utf-8")
        bare = _measure(folder, "-c", "import json, sys, time")
        first = _measure(folder, "-c", FIRST, str(small)) - bare
        report("the first midfold.compress of a process", f"{first * 1000:.0f} ms", "150 ms")
        for words, goal in (
            (("compress", str(small), "--max-tokens", "2000"), "300 ms"),
            (("--help",), "250 ms"),
            (("compress", "--help"), "300 ms"),
            (("trajectories", "--help"), "300 ms"),
            (("chat", "-p", "hello", "--model", "local/scripted", "--base-url", up.url), "600 ms"),
        ):
            seconds = _measure(folder, "-m", "midfold", *words)
            shown = " ".join(word for word in words if word not in (str(small), up.url))
            report(f"midfold {shown}", f"{seconds * 1000:.0f} ms", goal)


def _measure(folder: Path, *words: str) -> float:
    """Return the CPU seconds of the fastest of some processes; the first writes bytecode and is not one."""
    environment = {
        **os.environ,
        "MIDFOLD_HOME": str(folder / "home"),
        "PYTHONPYCACHEPREFIX": str(folder / "code"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    seconds = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *words], cwd=folder, env=environment, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds[1:])


if __name__ == "__main__":
    main()
