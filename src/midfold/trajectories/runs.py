"""The values of a run: what it is to do, and what it has done so far."""

from decimal import Decimal
from pathlib import Path

from midfold.late_dataclasses import dataclass, field, replace
from midfold.trajectories.chunks import START, Extent, ListedRow, Position
from midfold.trajectories.config import CompressionConfig
from midfold.trajectories.metrics import AggregateMetrics
from midfold.trajectories.sources import FileForm, SampleShare


@dataclass(frozen=True, slots=True)
class Batch:
    """The files to compress, and the settings; all rows unless `sample` is a share of them."""

    source: Path
    config: CompressionConfig = field(default_factory=CompressionConfig)
    sample: SampleShare | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """The work to be done with every chunk. `forms` says how the output of each file is packed.

    A dry run measures what would be done; no model is asked and nothing is written.
    """

    config: CompressionConfig
    forms: tuple[FileForm, ...]
    is_dry_run: bool = False

    @property
    def asks_model(self) -> bool:
        """Whether a model writes the summaries."""
        return self.config.summary_model is not None and not self.is_dry_run

    def shared_by(self, workers: int) -> "Task":
        """Return the task of one of several workers, which divide the requests that may be under way."""
        share = max(1, self.config.max_concurrent_requests // workers)
        return replace(self, config=replace(self.config, max_concurrent_requests=share))


@dataclass(frozen=True, slots=True)
class SummaryBill:
    """The models' calls for summaries, as far as they are known.

    `dollars` is the least it cost: calls whose price nobody knows are counted apart.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = Decimal(0)
    unpriced_calls: int = 0

    def __add__(self, other: "SummaryBill") -> "SummaryBill":
        return SummaryBill(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.dollars + other.dollars,
            self.unpriced_calls + other.unpriced_calls,
        )


NO_BILL = SummaryBill()


@dataclass(frozen=True, slots=True)
class ChunkResult:
    """A chunk that is done: what to append to the output, and what happened on the way."""

    extent: Extent
    output: bytes
    metrics: AggregateMetrics
    written: int = 0
    listed: tuple[ListedRow, ...] = ()
    bill: SummaryBill = NO_BILL
    turned_away: tuple[str, ...] = ()
    """why calls failed that would fail for any other row as well"""


@dataclass(slots=True)
class RunTotals:
    """Everything up to `position`."""

    position: Position = START
    read_bytes: int = 0
    """of the files as they lie on disk"""
    output_bytes: int = 0
    """as collected; columns are packed further in the end"""
    written: int = 0
    listed: int = 0
    metrics: AggregateMetrics = field(default_factory=AggregateMetrics)
    bill: SummaryBill = NO_BILL


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """The progress of a run. `part` is of the bytes to read; seconds and rates are of this run alone."""

    totals: RunTotals
    part: float
    seconds: float
    rows_per_second: float
    tokens_per_second: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """The result of a run. `listed` is the file with the rows that somebody should know about, if any."""

    totals: RunTotals
    outputs: tuple[Path, ...]
    listed: Path | None
    examples: tuple[ListedRow, ...]
    """the first that were listed in this run"""
    files: int
    resumed_rows: int
    progress: BatchProgress
