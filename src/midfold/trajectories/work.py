"""What a worker does, wherever it runs: one chunk of rows in, one chunk of packed output out.

The answer depends on the chunk and the task alone, so this machine and a cluster give the same bytes.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from midfold.faults import faultpoint
from midfold.trajectories.compressor import TrajectoryCompressor
from midfold.trajectories.config import CompressionConfig
from midfold.trajectories.files import Chunk, Columns, Extent, Form, Lines, Listed, Unreadable
from midfold.trajectories.files.lines import pack
from midfold.trajectories.files.reading import load_columns
from midfold.trajectories.metrics import AggregateMetrics, TrajectoryMetrics
from midfold.trajectories.rows import RowResult, RowStatus
from midfold.trajectories.totals import NO_BILL, Bill
from midfold.transcripts import decode_json

if TYPE_CHECKING:
    from midfold.providers.summarizers import SummaryCall

_REASON_CHARS = 200
# No key, no right, no such model, nobody there. Nobody charges for an answer that is an error either.
_TURNED_AWAY = re.compile(r" answered 40[134]: |: cannot connect to ")
_UNPAID = re.compile(r" answered [45]\d\d: |: cannot connect to ")
_OUR_MISTAKE = "internal error"
_UNREMARKABLE = (RowStatus.COMPRESSED, RowStatus.SKIPPED)


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done with every chunk. `forms` says how the output of each file is packed.

    A rehearsal measures what would be done; no model is asked and nothing is written.
    """

    config: CompressionConfig
    forms: tuple[Form, ...]
    is_rehearsal: bool = False

    @property
    def asks_model(self) -> bool:
        """Whether a model writes the summaries."""
        return self.config.model is not None and not self.is_rehearsal


@dataclass(frozen=True, slots=True)
class Finished:
    """A chunk that is done: what to append to the output, and what happened on the way."""

    extent: Extent
    output: bytes
    metrics: AggregateMetrics
    written: int = 0
    listed: tuple[Listed, ...] = ()
    bill: Bill = NO_BILL
    turned_away: tuple[str, ...] = ()
    """why calls failed that would fail for any other row as well"""


@dataclass(frozen=True, slots=True)
class _Answers:
    """One result for each row, and the calls that they took."""

    results: list[RowResult]
    calls: "tuple[SummaryCall, ...]"


def process(task: Task, chunk: Chunk) -> Finished:
    """Compress the rows of a chunk; those that cannot be are listed and stop nothing."""
    rows = _read_rows(chunk.payload)
    if task.asks_model:
        slots = asyncio.Semaphore(task.config.max_concurrent_requests)
        return _finish(task, chunk, rows, asyncio.run(_answer_together(task.config, rows, slots)))
    with TrajectoryCompressor(task.config) as compressor:
        act = compressor.measure_row if task.is_rehearsal else compressor.compress_row
        answers = _Answers([_answer_one(act, row) for row in rows], ())
    return _finish(task, chunk, rows, answers)


async def process_awaited(task: Task, chunk: Chunk, slots: asyncio.Semaphore) -> Finished:
    """Do what `process` does with a model; chunks that are under way at the same time share `slots`."""
    rows = _read_rows(chunk.payload)
    return _finish(task, chunk, rows, await _answer_together(task.config, rows, slots))


def _finish(task: Task, chunk: Chunk, rows: Sequence[object], answers: _Answers) -> Finished:
    if task.is_rehearsal:
        results, output = answers.results, b""
    elif isinstance(chunk.payload, Columns):
        spelt = _spell_columns(chunk.payload, answers.results)
        results, output = spelt.results, spelt.output
    else:
        spelt = _spell_lines(chunk.payload, rows, answers.results)
        results, output = spelt.results, pack(spelt.output, task.forms[chunk.extent.file])
    listed = [*chunk.listed, *_list(chunk, results)]
    return Finished(
        chunk.extent,
        output,
        _add_up(results, len(chunk.listed)),
        written=sum(result.status is not RowStatus.REJECTED for result in results),
        listed=tuple(sorted(listed, key=lambda each: each.line)),
        bill=sum(map(_bill, answers.calls), NO_BILL),
        turned_away=tuple(filter(_TURNED_AWAY.search, [call.failure or "" for call in answers.calls])),
    )


def _read_rows(payload: Lines | Columns) -> list[object]:
    if isinstance(payload, Columns):
        return [*load_columns().take_trajectories(payload)]
    return [_read_row(line) for line in payload.lines]


def _read_row(line: bytes) -> object:
    if not line.strip():
        return Unreadable("the line is empty")
    try:
        return decode_json(line)
    except UnicodeDecodeError:
        return Unreadable(f"byte {_find_bad_byte(line)} is not UTF-8")
    except RecursionError:
        return Unreadable("the JSON is nested too deeply")
    except ValueError as error:
        return Unreadable(f"it is not JSON: {error}")


def _find_bad_byte(line: bytes) -> int:
    """Return where a line ceases to be UTF-8; whoever reads JSON counts from the start of a text in it."""
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
    if isinstance(row, Unreadable):
        return _reject(row.reason)
    faultpoint("trajectories.row", row)
    try:
        return act(row)
    except Exception as error:  # noqa: BLE001 - one row in a million must not end the others
        return _keep(row, error)


async def _answer_awaited(compressor: TrajectoryCompressor, row: object) -> RowResult:
    if isinstance(row, Unreadable):
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
class _Spelt:
    """Rows as they are written, and what became of each, for some cannot be."""

    output: bytes
    results: list[RowResult]


def _spell_lines(lines: Lines, rows: Sequence[object], results: Sequence[RowResult]) -> _Spelt:
    """Spell rows as lines; one in which nothing changed is the line that was read, to the byte."""
    written: list[bytes] = []
    final: list[RowResult] = []
    for line, row, result in zip(lines.lines, rows, results, strict=True):
        try:
            if result.status is not RowStatus.REJECTED:
                written.append(line if result.row is row else _encode(result.row))
            final.append(result)
        except (RecursionError, TypeError, ValueError):
            final.append(_reject("it cannot be written as JSON"))
    return _Spelt(b"".join(line + b"\n" for line in written), final)


def _encode(row: object) -> bytes:
    """Spell what was read from a line and changed."""
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


def _spell_columns(columns: Columns, results: Sequence[RowResult]) -> _Spelt:
    # What was not converted may be of another type than the column that is written.
    final = [
        _reject(result.reason or "") if (result.reason or "").startswith(_OUR_MISTAKE) else result
        for result in results
    ]
    # A row of a table is handed in with one value, its trajectory, under whatever name.
    kept = {
        place: value
        for place, result in enumerate(final)
        if isinstance(result.row, dict)
        for value in result.row.values()
    }
    put = load_columns().put_trajectories(columns, list(kept), list(kept.values()))
    for place in put.refused:
        final[place] = _reject("it cannot be written as Parquet: half an emoji, or a value of another type")
    return _Spelt(put.frame, final)


def _list(chunk: Chunk, results: Sequence[RowResult]) -> Iterator[Listed]:
    for number, result in zip(chunk.payload.numbers, results, strict=True):
        if result.status not in _UNREMARKABLE:
            reason = " ".join((result.reason or "no reason is known").split())[:_REASON_CHARS]
            yield Listed(chunk.name, number, result.status, reason)


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


def _bill(call: "SummaryCall") -> Bill:
    is_priced = call.cost.is_complete or _UNPAID.search(call.failure or "") is not None
    return Bill(
        1,
        call.usage.prompt_tokens,
        call.usage.output_tokens,
        call.cost.dollars or Decimal(0),
        0 if is_priced else 1,
    )
