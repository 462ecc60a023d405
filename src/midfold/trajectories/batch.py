"""Compresses files of trajectories into others: everything, or a sample, all at once or resumed.

sources ─▶ chunks ─▶ engine: workers here or on a cluster ─▶ work folder ─▶ output
             ▲                                                   │
             └──────────────── position, when resumed ◀──────────┘
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from midfold.errors import ConfigError, MidfoldError
from midfold.files import refuse_store_file
from midfold.late_dataclasses import dataclass, replace
from midfold.trajectories.chunks import DIGEST_LIMITS, MODEL_LIMITS, ListedRow
from midfold.trajectories.compressor import TrajectoryCompressor
from midfold.trajectories.manifest import make_entry
from midfold.trajectories.pool import run_pool
from midfold.trajectories.reader import Selection, check_extras, make_sampler, read_chunks
from midfold.trajectories.runs import (
    Batch,
    BatchProgress,
    BatchResult,
    ChunkResult,
    RunTotals,
    SummaryBill,
    Task,
)
from midfold.trajectories.sources import FileForm, InputFile, find_sources, fingerprint, form_for
from midfold.trajectories.tokenizer import fingerprint_tokenizer
from midfold.trajectories.work import process, run_lanes
from midfold.trajectories.work_folder import WorkFolder

FORMAT = 1
_MOST_EXAMPLES = 10
_MOST_IN_VAIN = 5
"""Calls after which a model that turned away all of them is not asked again."""

Watch = Callable[["BatchProgress"], None]
Engine = Callable[[Task, Selection], Iterator[ChunkResult]]
"""Does the work: yields the result of each chunk, in order."""


@dataclass(frozen=True, slots=True)
class LocalEngine:
    """Works on this machine; one worker is this process itself."""

    workers: int = 1

    def __call__(self, task: Task, selection: Selection) -> Iterator[ChunkResult]:
        if self.workers == 1 and task.asks_model:
            return run_lanes(task, read_chunks(selection))
        if self.workers == 1:
            return (process(task, chunk) for chunk in read_chunks(selection))
        return run_pool(task.shared_by(self.workers), selection, self.workers)


def compress_files(
    batch: Batch,
    output: Path,
    *,
    engine: Engine = LocalEngine(),  # noqa: B008 - a frozen value
    resume: bool = False,
    watch: Watch | None = None,
    on_bill: Callable[[SummaryBill], None] | None = None,
) -> BatchResult:
    """Compress a file into a file, or each file of a folder into one of the same name in another folder.

    No output is there before all of it is done. Until then the work lies in `OUTPUT.work`, and `resume`
    goes on with it after whatever ended it. `watch` gets the progress after each chunk, `on_bill` what its
    summaries cost. Raises `ConfigError`, `ExtraMissing` and `OSError`; what rows hold raises nothing.
    """
    output = _settle(output)
    sources = find_sources(batch.source)
    targets = _find_targets(batch.source, output, sources)
    for target in targets:
        refuse_store_file(target)
    forms = tuple(form_for(target, source) for target, source in zip(targets, sources, strict=True))
    _check(batch, sources, forms)
    selection = _select(batch, sources)
    with WorkFolder(_side_path(output, ".work")) as folder:
        header = _describe(batch, selection, forms)
        if resume:
            folder.resume(header)
        else:
            folder.begin(header)
        run = _Run(selection, folder.totals, watch)
        if not folder.is_complete:
            selection = replace(selection, begin=folder.totals.position)
            for finished in run.follow(engine(Task(batch.config, forms), selection)):
                if on_bill is not None and finished.bill.calls:
                    on_bill(finished.bill)  # first, for it is paid whether or not the chunk can be written
                folder.commit(finished)
            folder.complete()
        for file, (source, form, target) in enumerate(zip(sources, forms, targets, strict=True)):
            folder.deliver(file, source, form, target)
        listed = _side_path(output, ".rejects.jsonl")
        folder.deliver_listed(listed)
        folder.remove()
    return run.conclude(targets, listed if folder.totals.listed else None)


def measure_files(
    batch: Batch,
    *,
    engine: Engine = LocalEngine(),  # noqa: B008 - a frozen value
    watch: Watch | None = None,
) -> BatchResult:
    """Find out what `compress_files` would do: count and plan every row; nothing is asked or written."""
    sources = find_sources(batch.source)
    forms = tuple(source.form for source in sources)
    _check(replace(batch, config=replace(batch.config, summary_model=None, base_url=None)), sources, forms)
    selection = _select(batch, sources)
    run = _Run(selection, RunTotals(), watch)
    for finished in run.follow(engine(Task(batch.config, forms, is_dry_run=True), selection)):
        make_entry(finished).add_to(run.totals)
    return run.conclude((), None)


class _Run:
    """One run as its watcher sees it."""

    def __init__(self, selection: Selection, totals: RunTotals, watch: Watch | None) -> None:
        self.totals = totals
        self._sizes = [source.size for source in selection.sources]
        self._watch = watch
        self._started = time.monotonic()
        self._rows = totals.metrics.rows
        self._tokens = totals.metrics.original_tokens
        self._part = self._measure_part()
        self._examples: list[ListedRow] = []
        self._calls = 0
        self._turned_away = 0

    def follow(self, work: Iterator[ChunkResult]) -> Iterator[ChunkResult]:
        """Pass chunks on; when the next is asked for, the last one is in the totals."""
        for finished in work:
            self._refuse_if_in_vain(finished)
            room = _MOST_EXAMPLES - len(self._examples)
            self._examples += finished.listed[:room]
            yield finished
            if self._watch:
                self._watch(self.progress())

    def _refuse_if_in_vain(self, finished: ChunkResult) -> None:
        """Raise `MidfoldError` where a model has turned away every call of this run so far.

        It would do so with all others. The chunk is not committed, so that it is asked for again when the run
        is resumed.
        """
        self._turned_away += len(finished.turned_away)
        self._calls += finished.bill.calls
        if finished.turned_away and _MOST_IN_VAIN <= self._calls == self._turned_away:
            reason = f"all {self._calls:,} calls failed: {finished.turned_away[0]}"
            raise MidfoldError(f"{reason}; finished rows are kept; continue with --resume")

    def progress(self) -> BatchProgress:
        seconds = max(time.monotonic() - self._started, 1e-6)
        part = self._measure_part()
        done = part - self._part
        return BatchProgress(
            self.totals,
            part,
            seconds,
            (self.totals.metrics.rows - self._rows) / seconds,
            (self.totals.metrics.original_tokens - self._tokens) / seconds,
            seconds * (1 - part) / done if done > 0 else None,
        )

    def conclude(self, outputs: tuple[Path, ...], listed: Path | None) -> BatchResult:
        written = tuple(path for path in outputs if path.exists())
        return BatchResult(
            self.totals, written, listed, tuple(self._examples), len(self._sizes), self._rows, self.progress()
        )

    def _measure_part(self) -> float:
        position = self.totals.position
        read = sum(self._sizes[: position.file]) + self.totals.read_bytes
        return read / max(1, sum(self._sizes))


def _select(batch: Batch, sources: tuple[InputFile, ...]) -> Selection:
    limits = MODEL_LIMITS if batch.config.summary_model else DIGEST_LIMITS
    return Selection(sources, make_sampler(batch.sample, batch.seed, sources), limits)


def _check(batch: Batch, sources: tuple[InputFile, ...], forms: tuple[FileForm, ...]) -> None:
    """Raise now what would end a run in the middle."""
    check_extras([*forms, *(source.form for source in sources)])
    with TrajectoryCompressor(batch.config) as compressor:
        compressor.check()


def _find_targets(source: Path, output: Path, sources: tuple[InputFile, ...]) -> tuple[Path, ...]:
    """Return where the output of each file belongs; `ConfigError` where something else is in the way."""
    here, there = source.resolve(), output.resolve()
    if here == there or here in there.parents:
        raise ConfigError("OUT", str(output), hint="a place outside of IN")
    if not source.is_dir():
        if output.is_dir():
            raise ConfigError("OUT", str(output), hint="a file, for IN is one")
        return (output,)
    if output.exists() and not output.is_dir():
        raise ConfigError("OUT", str(output), hint="a folder, for IN is one")
    targets = tuple(output / each.name for each in sources)
    if any(here in target.resolve().parents for target in targets):
        raise ConfigError("OUT", str(output), hint="a folder in which no file of IN would be replaced")
    return targets


def _settle(output: Path) -> Path:
    """Return where the output really is: the work has to be on the same disk, whatever links lead there."""
    if output.is_symlink() or output.name in ("", ".."):
        output = output.resolve()
    if not output.parent.is_dir():
        raise ConfigError(
            "OUT", str(output), hint=f"a place in a folder that is there; {output.parent} is not"
        )
    return output


def _side_path(output: Path, ending: str) -> Path:
    """Return a path next to the output, inside of one that is a disk of its own.

    Beside that is another disk, in a container one that does not outlive it. Readers of folders leave out
    names that begin with an underscore.
    """
    if os.path.ismount(output):
        return output / f"_midfold{ending}"
    return output.with_name(output.name + ending)


# These change how long a run takes and not what it writes.
_FREE_TO_CHANGE = ("max_concurrent_requests", "max_retries", "timeout_seconds")


def _describe(batch: Batch, selection: Selection, forms: tuple[FileForm, ...]) -> dict[str, object]:
    """Return what must be the same when a run is resumed."""
    config = {
        f"trajectories.{name}": value
        for name, value in batch.config.to_shown().items()
        if name not in _FREE_TO_CHANGE
    }
    return {
        "format": FORMAT,
        "midfold": version("midfold"),
        "IN": [fingerprint(source) for source in selection.sources],
        "OUT": list(forms),
        "--sample": asdict(batch.sample) if batch.sample else None,
        "--seed": batch.seed,
        "--tokenizer": fingerprint_tokenizer(batch.config.tokenizer),
        **config,
    }
