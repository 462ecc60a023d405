"""Recovers a chunk whose worker died: a fresh process tries its rows one by one, then all together.

    worker dies ─▶ row, row, row ✗ ─▶ row ✗ again: rejected ─▶ row, row, all that are left ─▶ answer
                   fresh process      fresh process            fresh process

A row is rejected when it has ended two fresh processes, the second with nothing before it: whatever was
killed from outside, or for the memory that others took, is simply done again. No model is asked row by row.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from midfold.errors import MidfoldError
from midfold.faults import faultpoint
from midfold.late_dataclasses import dataclass, field, replace
from midfold.trajectories.chunks import Chunk, Columns, Extent, JsonLines, ListedRow, Position
from midfold.trajectories.metrics import RowStatus
from midfold.trajectories.reader import Selection, load_columns, read_file
from midfold.trajectories.runs import ChunkResult, Task
from midfold.trajectories.work import process
from midfold.trajectories.workers import (
    Pipe,
    Worker,
    WorkerEnded,
    WorkerFailed,
    WorkerHealth,
    cannot_work,
    send_answer,
    start_worker,
)

_MOST_DEATHS_OF_A_ROW = 2
_MOST_DEATHS_TOGETHER = 2


@dataclass(frozen=True, slots=True)
class _Trial:
    """The task of a fresh process: try the rows from this number on, then answer the chunk."""

    chunk: Chunk
    first_row: int


@dataclass(frozen=True, slots=True)
class _TrialNotice:
    """The fresh process is about to try this row, or without one all rows together."""

    row: int | None


@dataclass(frozen=True, slots=True)
class _Death:
    """The end of a process, and the row it ended over; `None` where all were tried together."""

    how: str
    row: int | None


@dataclass(slots=True)
class _FailedChunk:
    """The known facts about a chunk: which rows ended how many processes, and where to go on."""

    chunk: Chunk
    next_row: int
    deaths: Counter[int | None] = field(default_factory=Counter)
    rejected: dict[int, ListedRow] = field(default_factory=dict)

    def note(self, death: _Death, health: WorkerHealth) -> None:
        """Take a death down; raises `MidfoldError` where no row explains it, or too many die."""
        health.note_death(death.how)
        self.deaths[death.row] += 1
        if death.row is None:
            self._go_on_without_a_culprit(death.how)
            return
        self.next_row = death.row
        if self.deaths[death.row] >= _MOST_DEATHS_OF_A_ROW:
            reason = f"it ends the process that works on it: {death.how}"
            self.rejected[death.row] = ListedRow(self.chunk.name, death.row, RowStatus.REJECTED, reason)
            health.note_rejected_row(f"{self.chunk.name}:{death.row}", death.how)

    def make_trial(self) -> _Trial:
        """Return what is left to be tried."""
        numbers = self.chunk.payload.numbers
        left = [index for index, number in enumerate(numbers) if number not in self.rejected]
        listed = (*self.chunk.listed, *self.rejected.values())
        return _Trial(
            replace(self.chunk, payload=_pick(self.chunk.payload, left), listed=listed), self.next_row
        )

    def _go_on_without_a_culprit(self, how: str) -> None:
        extent = self.chunk.extent
        self.next_row = extent.first_row + extent.rows
        if self.deaths[None] >= _MOST_DEATHS_TOGETHER:
            rows = f"{self.chunk.name}:{extent.first_row}-{self.next_row - 1}"
            raise MidfoldError(
                f"{rows}: these rows end their worker together, though none does alone: {how}; "
                "continue with --resume, with fewer --workers or more memory"
            )


def recover(
    task: Task, selection: Selection, extent: Extent, health: WorkerHealth, *, start_seconds: float
) -> ChunkResult:
    """Answer a chunk whose worker died, without the rows that end every process; those are listed.

    Raises `MidfoldError` where the machine is to blame, and nothing else is under way meanwhile.
    """
    failed = _FailedChunk(read_again(selection, extent), extent.first_row)
    while True:
        found = _try_once(task, failed.make_trial(), health, start_seconds)
        if isinstance(found, ChunkResult):
            return found
        if found is not None:
            failed.note(found, health)


def read_again(selection: Selection, extent: Extent) -> Chunk:
    """Read the chunk that is this part of a file; raises `MidfoldError` where the file has changed."""
    begin = Position(extent.file, extent.start, extent.first_row)
    chunk = next(read_file(replace(selection, begin=begin), extent.file), None)
    if chunk is None or chunk.extent != extent:
        raise cannot_work("the file has changed while it was read")
    return chunk


def _try_once(
    task: Task, trial: _Trial, health: WorkerHealth, start_seconds: float
) -> ChunkResult | _Death | None:
    """Have a fresh process do a trial; nothing comes of one that ends before it has begun."""
    try:
        worker = start_worker(task, partial(_work_with_care, task=task))
    except OSError as error:
        health.note_failed_start(error.strerror or str(error))
        return None
    try:
        trouble = worker.greet(start_seconds)
        if trouble is not None:
            health.note_failed_start(trouble)
            return None
        with suppress(OSError):  # that it ended is read from the pipe
            worker.pipe.send(trial)
        return _watch(worker, trial, health)
    finally:
        worker.end()


def _watch(worker: Worker, trial: _Trial, health: WorkerHealth) -> ChunkResult | _Death | None:
    trying: _TrialNotice | None = None
    while True:
        answer = worker.receive()
        if isinstance(answer, _TrialNotice):
            if trying is None:
                health.note_start()
            else:
                health.note_row()
            trying = answer
        elif isinstance(answer, ChunkResult) and answer.extent == trial.chunk.extent:
            return answer
        elif isinstance(answer, WorkerEnded) and trying is not None:
            return _Death(answer.how, trying.row)
        elif isinstance(answer, WorkerEnded):
            health.note_failed_start(answer.how)
            return None
        else:
            raise cannot_work(
                answer.reason if isinstance(answer, WorkerFailed) else "it answered something else"
            )


def _work_with_care(pipe: Pipe, task: Task) -> None:
    """Try rows one by one, each announced, so that it is known over which of them this process ended."""
    trial = pipe.recv()
    if not isinstance(trial, _Trial):
        return
    without_model = replace(task, config=replace(task.config, summary_model=None, base_url=None))
    for index, number in enumerate(trial.chunk.payload.numbers):
        if number >= trial.first_row:
            pipe.send(_TrialNotice(number))
            faultpoint("trajectories.recovery", number)
            alone = replace(trial.chunk, payload=_pick(trial.chunk.payload, [index]), listed=())
            process(without_model, alone)
    pipe.send(_TrialNotice(None))
    send_answer(pipe, partial(process, task, trial.chunk))


def _pick(payload: JsonLines | Columns, indices: Sequence[int]) -> JsonLines | Columns:
    """Return some rows of a chunk; all of them are the chunk as it was, to the byte."""
    if len(indices) == len(payload.numbers):
        return payload
    if isinstance(payload, Columns):
        picked: Columns = load_columns().pick_rows(payload, indices)
        return picked
    return JsonLines(
        tuple(payload.numbers[index] for index in indices), tuple(payload.lines[index] for index in indices)
    )
