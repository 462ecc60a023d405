"""What `import midfold` costs on an installed wheel with bytecode, above an interpreter without it."""

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from benchmarks.timing import report

ROOT = Path(__file__).parents[1]
RUNS = 15


def main() -> None:
    """Build the wheel, unpack it, and compare processes."""
    with tempfile.TemporaryDirectory() as folder:
        site = _unpack_wheel(Path(folder))
        bare = [_run(site, "pass") for _ in range(RUNS)]
        with_import = [_run(site, "import midfold") for _ in range(RUNS)]
    cpu = statistics.median(run[0] for run in with_import) - statistics.median(run[0] for run in bare)
    memory = statistics.median(run[1] for run in with_import) - statistics.median(run[1] for run in bare)
    report("import midfold: CPU", f"{max(cpu, 0) * 1000:.1f} ms", "80 ms")
    report("import midfold: memory", f"{max(memory, 0) / 1024:.1f} MB", "15 MB")


def _unpack_wheel(folder: Path) -> Path:
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        ".",
    ]
    subprocess.run(build, cwd=ROOT, check=True, stderr=subprocess.DEVNULL)
    site = folder / "site"
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    compileall.compile_dir(site, quiet=1)
    return site


def _run(site: Path, code: str) -> tuple[float, int]:
    """Return CPU seconds and peak kilobytes of a fresh interpreter."""
    measure = "import resource; r = resource.getrusage(0); print(r.ru_utime + r.ru_stime, r.ru_maxrss)"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"{code}\n{measure}"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    cpu, memory = done.stdout.split()
    return float(cpu), int(memory)


if __name__ == "__main__":
    main()
