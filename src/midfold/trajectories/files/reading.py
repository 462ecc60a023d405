"""Reading of files, whatever their form, from any place on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

from midfold.errors import ExtraMissing
from midfold.trajectories.files import lines
from midfold.trajectories.files.chunks import DIGEST_LIMITS, START, Chunk, Limits, Position, refuse_rest
from midfold.trajectories.files.sampling import EVERYTHING, Sampler, Share, sample_part, sample_rows
from midfold.trajectories.files.sources import Form, Source


@dataclass(frozen=True, slots=True)
class Selection:
    """What is read: these files, of them these rows, in chunks of this size, from here on."""

    sources: tuple[Source, ...]
    sampler: Sampler = EVERYTHING
    limits: Limits = DIGEST_LIMITS
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
    elif source.form is Form.PARQUET:
        yield from load_columns().read_columns(source, begin, selection.sampler, selection.limits)
    else:
        yield from lines.read_lines(source, begin, selection.sampler, selection.limits)


def make_sampler(share: Share | None, seed: int, sources: Sequence[Source]) -> Sampler:
    """Return what takes that share of the rows. For a number of rows all are counted first, once."""
    if share is None:
        return EVERYTHING
    if share.rows is not None:
        return sample_rows(share.rows, seed, {source.name: count_rows(source) for source in sources})
    return sample_part(share.part or 0.0, seed)


def count_rows(source: Source) -> int:
    """Count the rows of a file, good or bad."""
    if source.problem is not None:
        return 1
    if source.form is Form.PARQUET:
        count: int = load_columns().count_rows(source)
        return count
    return lines.count_lines(source)


def check_extras(forms: Sequence[Form]) -> None:
    """Raise `ExtraMissing` now, rather than in the middle, where a form needs what is not installed."""
    if Form.PARQUET in forms:
        load_columns()
    if Form.ZSTD in forms:
        lines.load_zstandard()


def load_columns() -> ModuleType:
    """Return what reads and writes Parquet."""
    try:
        from midfold.trajectories.files import columns
    except ModuleNotFoundError as error:
        raise ExtraMissing("Parquet files", "parquet") from error
    return columns
