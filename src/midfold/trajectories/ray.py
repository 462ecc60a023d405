"""The same work on Ray Data, on this machine or on a cluster, with the same bytes as a result.

Files are read where the cluster likes, chunks are worked on everywhere and come back here in order, to go
into the work folder. So a run that was begun here can be resumed there. Ray is imported when it is asked for.
"""

import logging
import os
import pickle
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from midfold.errors import ExtraMissing, MidfoldError
from midfold.late_dataclasses import dataclass
from midfold.trajectories.reader import Selection, read_file
from midfold.trajectories.runs import ChunkResult, Task
from midfold.trajectories.work import process

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

_COLUMN = "pickled"
_REASON_CHARS = 200
# A block is what Ray gives to a worker at once: about one chunk.
_BLOCK_BYTES = 1 << 19
# Reading needs little, and must not need what working needs, or Ray makes one task of both.
_READING_CORES = 0.25


@dataclass(frozen=True, slots=True)
class RayEngine:
    """Works on the cluster at `address`, else at that in `RAY_ADDRESS`, else on one that is started here."""

    address: str | None = None
    workers: int | None = None
    """how many cores a cluster that is started here has; all of them if not given"""

    def __post_init__(self) -> None:
        try:
            import ray.data  # type: ignore[import-not-found,import-untyped,unused-ignore]  # noqa: F401
        except ImportError as error:
            raise ExtraMissing("trajectories on Ray", "ray") from error

    def __call__(self, task: Task, selection: Selection) -> Iterator[ChunkResult]:
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]

        is_ours = not ray.is_initialized()
        if is_ours:
            self._start()
        try:
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            yield from _run(task.shared_by(cores), selection)
        finally:
            if is_ours:
                ray.shutdown()

    def _start(self) -> None:
        import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]

        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        is_remote = bool(self.address or os.environ.get("RAY_ADDRESS"))
        local = {} if is_remote else {"num_cpus": self.workers, "include_dashboard": False}
        try:
            ray.init(address=self.address, logging_level=logging.ERROR, log_to_driver=False, **local)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:_REASON_CHARS]
            raise MidfoldError(f"no Ray cluster at {self.address or 'this machine'}: {reason}") from error


def _run(task: Task, selection: Selection) -> Iterator[ChunkResult]:
    import ray.data  # type: ignore[import-not-found,import-untyped,unused-ignore]

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK_BYTES
    files = [{"file": file} for file in selection.files_left()]
    if not files:
        return
    done = (
        ray.data.from_items(files, override_num_blocks=len(files))
        .map_batches(
            partial(_read, selection=selection), batch_size=1, batch_format="pyarrow", num_cpus=_READING_CORES
        )
        .map_batches(partial(_work, task=task), batch_size=1, batch_format="pyarrow", num_cpus=1)
    )
    rows = iter(done.iter_rows())
    while (row := _next_row(rows)) is not None:
        finished = pickle.loads(row[_COLUMN])  # noqa: S301 - what our own workers made
        if isinstance(finished, ChunkResult):
            yield finished


def _next_row(rows: Iterator[dict[str, bytes]]) -> dict[str, bytes] | None:
    import ray  # type: ignore[import-not-found,import-untyped,unused-ignore]

    try:
        return next(rows, None)
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[-_REASON_CHARS:]
        raise MidfoldError(f"a worker failed: …{reason}; continue with --resume") from error


def _read(files: "pa.Table", *, selection: Selection) -> Iterator["pa.Table"]:
    """Yield the chunks of files, one a block."""
    for file in files.column("file").to_pylist():
        for chunk in read_file(selection, file):
            yield _as_table(chunk)


def _work(chunks: "pa.Table", *, task: Task) -> Iterator["pa.Table"]:
    for pickled in chunks.column(_COLUMN).to_pylist():
        yield _as_table(process(task, pickle.loads(pickled)))  # noqa: S301 - what our own reader made


def _as_table(value: object) -> "pa.Table":
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

    pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return pa.table({_COLUMN: pa.array([pickled], pa.large_binary())})
