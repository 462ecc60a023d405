"""Reads files of any form in chunks, from any position on."""

from collections.abc import Iterator, Sequence
from types import ModuleType

from midfold.errors import ExtraMissing
from midfold.late_dataclasses import dataclass
from midfold.trajectories.chunks import DIGEST_LIMITS, START, Chunk, ChunkLimits, Position, refuse_rest
from midfold.trajectories.lines import count_lines, load_zstandard, read_lines
from midfold.trajectories.sources import (
    EVERYTHING,
    FileForm,
    InputFile,
    Sampler,
    SampleShare,
    sample_part,
    sample_rows,
)


@dataclass(frozen=True, slots=True)
class Selection:
    """The rows to read: these files, of them these rows, in chunks of this size, from here on."""

    sources: tuple[InputFile, ...]
    sampler: Sampler = EVERYTHING
    limits: ChunkLimits = DIGEST_LIMITS
    begin: Position = START

    def files_left(self) -> range:
        """The numbers of the files that are not done."""
        return range(self.begin.file, len(self.sources))


def read_chunks(selection: Selection) -> Iterator[Chunk]:
    """Yield all that is left to read, file by file."""
    for file in selection.files_left():
        yield from read_file(selection, file)


def read_file(selection: Selection, file: int) -> Iterator[Chunk]:
    """Yield what is left of one file."""
    source = selection.sources[file]
    begin = selection.begin if selection.begin.file == file else Position(file)
    if source.problem is not None:
        yield refuse_rest(source.name, begin, source.size, f"the file cannot be opened: {source.problem}")
    elif source.form is FileForm.PARQUET:
        yield from load_columns().read_columns(source, begin, selection.sampler, selection.limits)
    else:
        yield from read_lines(source, begin, selection.sampler, selection.limits)


def make_sampler(share: SampleShare | None, seed: int, sources: Sequence[InputFile]) -> Sampler:
    """Return what takes that share of the rows. For a number of rows all are counted first, once."""
    if share is None:
        return EVERYTHING
    if share.rows is not None:
        return sample_rows(share.rows, seed, {source.name: count_rows(source) for source in sources})
    return sample_part(share.part or 0.0, seed)


def count_rows(source: InputFile) -> int:
    """Count the rows of a file, good or bad."""
    if source.problem is not None:
        return 1
    if source.form is FileForm.PARQUET:
        count: int = load_columns().count_rows(source)
        return count
    return count_lines(source)


def check_extras(forms: Sequence[FileForm]) -> None:
    """Raise `ExtraMissing` now, rather than in the middle, where a form needs what is not installed."""
    if FileForm.PARQUET in forms:
        load_columns()
    if FileForm.ZSTD in forms:
        load_zstandard()


def load_columns() -> ModuleType:
    """Return what reads and writes Parquet."""
    try:
        from midfold.trajectories import columns
    except ModuleNotFoundError as error:
        raise ExtraMissing("Parquet files", "parquet") from error
    return columns
