"""The work of a worker, wherever it runs: one chunk of rows in, one chunk of packed output out.

The answer depends on the chunk and the task alone, so this machine and a cluster give the same bytes. Where a
model writes the summaries, several chunks are under way at once, finished in the order they were begun: there
are enough requests to ask for, and one slow answer does not leave all others waiting.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Self

import msgspec

from midfold.faults import faultpoint
from midfold.late_dataclasses import dataclass
from midfold.trajectories.chunks import Chunk, Columns, JsonLines, ListedRow, UnreadableRow
from midfold.trajectories.compressor import TrajectoryCompressor
from midfold.trajectories.config import CompressionConfig
from midfold.trajectories.lines import pack
from midfold.trajectories.metrics import AggregateMetrics, RowStatus, TrajectoryMetrics
from midfold.trajectories.reader import load_columns
from midfold.trajectories.rows import RowResult
from midfold.trajectories.runs import NO_BILL, ChunkResult, SummaryBill, Task
from midfold.transcripts import decode_json

if TYPE_CHECKING:
    from midfold.providers.summarizers import SummaryCall


_REASON_CHARS = 200
# No key, no right, no such model, nobody there. Nobody charges for an answer that is an error either.
_TURNED_AWAY = re.compile(r" answered 40[134]: |: cannot connect to ")
_UNPAID = re.compile(r" answered [45]\d\d: |: cannot connect to ")
_OUR_MISTAKE = "internal error"
_UNREMARKABLE = (RowStatus.COMPRESSED, RowStatus.SKIPPED)
# In real data a fifth of the 128 rows of a chunk is too long, and each asks once.
_REQUESTS_OF_A_CHUNK = 25
# Each chunk holds up to 8 MB of rows.
_MOST_LANES = 20


@dataclass(frozen=True, slots=True)
class _Answers:
    """One result for each row, and the calls that they took."""

    results: list[RowResult]
    calls: "tuple[SummaryCall, ...]"


def process(task: Task, chunk: Chunk) -> ChunkResult:
    """Compress the rows of a chunk; those that cannot be are listed and stop nothing."""
    rows = _read_rows(chunk.payload)
    if task.asks_model:
        slots = asyncio.Semaphore(task.config.max_concurrent_requests)
        return _finish(task, chunk, rows, asyncio.run(_answer_together(task.config, rows, slots)))
    with TrajectoryCompressor(task.config) as compressor:
        act = compressor.measure_row if task.is_dry_run else compressor.compress_row
        answers = _Answers([_answer_one(act, row) for row in rows], ())
    return _finish(task, chunk, rows, answers)


async def process_awaited(task: Task, chunk: Chunk, slots: asyncio.Semaphore) -> ChunkResult:
    """Do what `process` does with a model; chunks that are under way at the same time share `slots`."""
    rows = _read_rows(chunk.payload)
    return _finish(task, chunk, rows, await _answer_together(task.config, rows, slots))


def _finish(task: Task, chunk: Chunk, rows: Sequence[object], answers: _Answers) -> ChunkResult:
    if task.is_dry_run:
        results, output = answers.results, b""
    elif isinstance(chunk.payload, Columns):
        written_rows = _write_columns(chunk.payload, answers.results)
        results, output = written_rows.results, written_rows.output
    else:
        written_rows = _write_lines(chunk.payload, rows, answers.results)
        results, output = written_rows.results, pack(written_rows.output, task.forms[chunk.extent.file])
    listed = [*chunk.listed, *_list(chunk, results)]
    return ChunkResult(
        chunk.extent,
        output,
        _add_up(results, len(chunk.listed)),
        written=sum(result.status is not RowStatus.REJECTED for result in results),
        listed=tuple(sorted(listed, key=lambda each: each.line)),
        bill=sum(map(_bill, answers.calls), NO_BILL),
        turned_away=tuple(filter(_TURNED_AWAY.search, [call.failure or "" for call in answers.calls])),
    )


def _read_rows(payload: JsonLines | Columns) -> list[object]:
    if isinstance(payload, Columns):
        return [*load_columns().take_trajectories(payload)]
    return [_read_row(line) for line in payload.lines]


def _read_row(line: bytes) -> object:
    if not line.strip():
        return UnreadableRow("the line is empty")
    try:
        return decode_json(line)
    except UnicodeDecodeError:
        return UnreadableRow(f"byte {_find_bad_byte(line)} is not UTF-8")
    except RecursionError:
        return UnreadableRow("the JSON is nested too deeply")
    except ValueError as error:
        return UnreadableRow(f"it is not JSON: {error}")


def _find_bad_byte(line: bytes) -> int:
    """Return where a line ceases to be UTF-8; a reader of JSON counts from the start of a text in it."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


async def _answer_together(
    config: CompressionConfig, rows: Sequence[object], slots: asyncio.Semaphore
) -> _Answers:
    """Have as many requests under way as there are slots."""
    async with TrajectoryCompressor(config, slots=slots) as compressor:
        results = await asyncio.gather(*(_answer_awaited(compressor, row) for row in rows))
        return _Answers(results, compressor.calls)


def _answer_one(act: Callable[[object], RowResult], row: object) -> RowResult:
    if isinstance(row, UnreadableRow):
        return _reject(row.reason)
    faultpoint("trajectories.row", row)
    try:
        return act(row)
    except Exception as error:  # noqa: BLE001 - one row in a million must not end the others
        return _keep(row, error)


async def _answer_awaited(compressor: TrajectoryCompressor, row: object) -> RowResult:
    if isinstance(row, UnreadableRow):
        return _reject(row.reason)
    faultpoint("trajectories.row", row)
    try:
        return await compressor.compress_row_async(row)
    except Exception as error:  # noqa: BLE001 - one row in a million must not end the others
        return _keep(row, error)


def _keep(row: object, error: Exception) -> RowResult:
    """Pass a row on as it was where a mistake of ours keeps it from being compressed."""
    reason = f"{_OUR_MISTAKE}: {type(error).__name__}"
    return RowResult(RowStatus.KEPT, row, reason, TrajectoryMetrics(0, 0, 0, 0, failure=reason))


def _reject(reason: str) -> RowResult:
    return RowResult(RowStatus.REJECTED, None, reason, None)


@dataclass(frozen=True, slots=True)
class _Written:
    """Rows as they are written, and what became of each, for some cannot be."""

    output: bytes
    results: list[RowResult]


def _write_lines(lines: JsonLines, rows: Sequence[object], results: Sequence[RowResult]) -> _Written:
    """Write rows as lines; one in which nothing changed is the line that was read, to the byte."""
    written: list[bytes] = []
    final: list[RowResult] = []
    for line, row, result in zip(lines.lines, rows, results, strict=True):
        try:
            if result.status is not RowStatus.REJECTED:
                written.append(line if result.row is row else _encode(result.row))
            final.append(result)
        except (RecursionError, TypeError, ValueError):
            final.append(_reject("it cannot be written as JSON"))
    return _Written(b"".join(line + b"\n" for line in written), final)


def _encode(row: object) -> bytes:
    """Write a row that was read from a line and changed."""
    try:
        if _has_odd_number(row):
            return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()
        return msgspec.json.encode(row)
    except (UnicodeEncodeError, OverflowError):  # half an emoji, or a number of more than 64 bits
        return json.dumps(row, separators=(",", ":")).encode()


def _has_odd_number(row: object) -> bool:
    """Whether a row holds what is no number, or was too large for one: it would be written as null."""
    waiting = [row]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            continue
        if isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, float) and not isfinite(value):
            return True
    return False


def _write_columns(columns: Columns, results: Sequence[RowResult]) -> _Written:
    # What was not converted may be of another type than the column that is written.
    final = [
        _reject(result.reason or "") if (result.reason or "").startswith(_OUR_MISTAKE) else result
        for result in results
    ]
    # A row of a table is handed in with one value, its trajectory, under whatever name.
    kept = {
        row: value
        for row, result in enumerate(final)
        if isinstance(result.row, dict)
        for value in result.row.values()
    }
    put = load_columns().put_trajectories(columns, list(kept), list(kept.values()))
    for row in put.refused:
        final[row] = _reject("it cannot be written as Parquet: half an emoji, or a value of another type")
    return _Written(put.frame, final)


def _list(chunk: Chunk, results: Sequence[RowResult]) -> Iterator[ListedRow]:
    for number, result in zip(chunk.payload.numbers, results, strict=True):
        if result.status not in _UNREMARKABLE:
            reason = " ".join((result.reason or "no reason is known").split())[:_REASON_CHARS]
            yield ListedRow(chunk.name, number, result.status, reason)


def _add_up(results: Sequence[RowResult], unread: int) -> AggregateMetrics:
    total = AggregateMetrics()
    total.add_rejected(unread)
    for result in results:
        if result.metrics is None:
            total.add_rejected()
        else:
            total.add(result.metrics)
            total.add_remarks(result.lost_kinds, result.speakers)
    return total


def _bill(call: "SummaryCall") -> SummaryBill:
    is_priced = call.cost.is_complete or _UNPAID.search(call.failure or "") is not None
    return SummaryBill(
        1,
        call.usage.prompt_tokens,
        call.usage.output_tokens,
        call.cost.dollars or Decimal(0),
        0 if is_priced else 1,
    )


def count_lanes(task: Task) -> int:
    """Return how many chunks a worker has under way: enough for its requests, and one more to begin early."""
    if not task.asks_model:
        return 1
    return min(_MOST_LANES, 1 + -(-task.config.max_concurrent_requests // _REQUESTS_OF_A_CHUNK))


def run_lanes(task: Task, chunks: Iterable[Chunk]) -> Iterator[ChunkResult]:
    """Yield what becomes of every chunk, in order."""
    with Lanes(task) as lanes:
        for chunk in chunks:
            lanes.begin(chunk)
            if lanes.is_full:
                yield lanes.finish()
        while lanes.is_busy:
            yield lanes.finish()


class Lanes:
    """The chunks under way in one event loop, which share the requests that are allowed."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._most = count_lanes(task)
        self._slots = asyncio.Semaphore(task.config.max_concurrent_requests)
        self._runner = asyncio.Runner()
        self._under_way: deque[asyncio.Task[ChunkResult]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.close()

    @property
    def is_busy(self) -> bool:
        return bool(self._under_way)

    @property
    def is_full(self) -> bool:
        return len(self._under_way) >= self._most

    def begin(self, chunk: Chunk) -> None:
        """Begin a chunk; it goes on whenever an earlier one is waited for."""
        work = process_awaited(self._task, chunk, self._slots)
        self._under_way.append(self._runner.get_loop().create_task(work))

    def finish(self) -> ChunkResult:
        """Wait for the chunk that was begun first."""
        return self._runner.run(_wait_for(self._under_way.popleft()))


async def _wait_for(work: "asyncio.Task[ChunkResult]") -> ChunkResult:
    return await work
