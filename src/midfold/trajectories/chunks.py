"""Pieces of files: what one worker takes at once.

Where a chunk ends depends on the file and these limits alone, never on who works or on where a run was
stopped, so that any two runs write the same bytes.
"""

from midfold.late_dataclasses import dataclass
from midfold.trajectories.metrics import RowStatus

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """The size of a chunk, and the length of a line beyond which it is refused unread."""

    chunk_bytes: int = MEGABYTE // 2
    chunk_rows: int = 512
    line_bytes: int = 32 * MEGABYTE


DIGEST_LIMITS = ChunkLimits()
# A chunk is answered as a whole: with models there must be enough rows in it to keep many requests under way,
# and few enough that a kill does not throw much away that was paid for.
MODEL_LIMITS = ChunkLimits(chunk_bytes=8 * MEGABYTE, chunk_rows=128)


@dataclass(frozen=True, slots=True)
class Position:
    """Where to read on: the file, the bytes or rows of it that are done, and the number of the next row."""

    file: int = 0
    offset: int = 0
    row: int = 1


START = Position()


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row that somebody should know about, by file and line. One that is rejected is not written."""

    file: str
    line: int
    status: RowStatus
    reason: str


@dataclass(frozen=True, slots=True)
class UnreadableRow:
    """Stands where a line, or a value of a column, holds no row."""

    reason: str


@dataclass(frozen=True, slots=True)
class JsonLines:
    """Rows as lines of JSON, each with its number."""

    numbers: tuple[int, ...]
    lines: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Columns:
    """Rows as a table in Arrow's stream format, with their numbers; `column` holds the trajectories."""

    numbers: tuple[int, ...]
    table: bytes
    column: str


@dataclass(frozen=True, slots=True)
class Extent:
    """The part of a file that a chunk is.

    `start` and `stop` are bytes of the unpacked file, or rows of a Parquet file. `rows` counts all rows
    between them, also those outside the sample. `read_bytes` is how far that is in the file on disk.
    """

    file: int
    start: int
    stop: int
    first_row: int
    rows: int
    is_last: bool
    read_bytes: int

    @property
    def next(self) -> Position:
        """Where the chunk after this one begins."""
        if self.is_last:
            return Position(self.file + 1)
        return Position(self.file, self.stop, self.first_row + self.rows)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows to work on, and what was found wrong with others while reading them."""

    extent: Extent
    name: str
    payload: JsonLines | Columns
    listed: tuple[ListedRow, ...] = ()


def refuse_rest(name: str, at: Position, file_bytes: int, reason: str) -> Chunk:
    """Return the last chunk of a file that cannot be read from `at` on: one row that is listed."""
    extent = Extent(at.file, at.offset, at.offset, at.row, 1, True, file_bytes)
    return Chunk(extent, name, JsonLines((), ()), (ListedRow(name, at.row, RowStatus.REJECTED, reason),))
