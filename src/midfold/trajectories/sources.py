"""Chooses the files to read, and the rows of them.

What a file is, its first bytes say; names are only asked where a folder holds other things as well. Whether a
row is in a sample depends on the seed, its file and its number alone, so the choice is the same in whatever
order rows are read, and nothing has to be remembered for it.
"""

import heapq
import os
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path

from midfold.errors import ConfigError
from midfold.files import refuse_store_file
from midfold.late_dataclasses import dataclass

_EDGE_BYTES = 64 * 1024
_FIRST_LINE_BYTES = 64


class FileForm(StrEnum):
    """The layout of rows in a file."""

    LINES = ".jsonl"
    GZIP = ".jsonl.gz"
    ZSTD = ".jsonl.zst"
    PARQUET = ".parquet"


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file of rows. `name` is its path below what was asked for, with slashes on every system."""

    path: Path
    name: str
    form: FileForm
    size: int
    problem: str | None = None
    """why it cannot be opened; it is listed then, and the others of its folder are read"""


_ENDINGS = {
    ".jsonl": FileForm.LINES,
    ".ndjson": FileForm.LINES,
    ".jsonl.gz": FileForm.GZIP,
    ".ndjson.gz": FileForm.GZIP,
    ".jsonl.zst": FileForm.ZSTD,
    ".ndjson.zst": FileForm.ZSTD,
    ".parquet": FileForm.PARQUET,
}
_MAGIC = {b"\x1f\x8b": FileForm.GZIP, b"\x28\xb5\x2f\xfd": FileForm.ZSTD, b"PAR1": FileForm.PARQUET}
# Packers write and readers skip what is begun or meant for others: `.cache`, `_SUCCESS`.
_HIDDEN = (".", "_")


def find_sources(path: Path) -> tuple[InputFile, ...]:
    """Return the file, or those of a folder in the order of their names; `ConfigError` if there are none."""
    if path.is_dir():
        found = tuple(_as_member(file, file.relative_to(path).as_posix()) for file in _walk(path))
    elif path.is_file():
        found = (_as_source(path, path.name),)
        _refuse_array(found[0])
    else:
        found = ()
    if not found:
        raise ConfigError("IN", str(path), hint=f"a file, or a folder of {', '.join(FileForm)} files")
    return found


def fingerprint(source: InputFile) -> str:
    """Return the facts by which a file is still the one it was: its name, size, time of change and both ends.

    The whole of it is not read, which would take as long as counting it.
    """
    digest = blake2b(f"{source.name}\n{source.size}\n".encode("utf-8", "surrogateescape"), digest_size=16)
    if source.problem is not None:
        return digest.hexdigest()
    with source.path.open("rb") as file:
        digest.update(b"%d\n" % os.fstat(file.fileno()).st_mtime_ns)
        digest.update(file.read(_EDGE_BYTES))
        file.seek(max(0, source.size - _EDGE_BYTES))
        digest.update(file.read(_EDGE_BYTES))
    return digest.hexdigest()


def form_for(output: Path, source: InputFile) -> FileForm:
    """Choose by its name how a file is to be written; lines stay lines, and columns stay columns."""
    name = output.name.lower()
    form = next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), None)
    if form is None:
        packed = {".gz": FileForm.GZIP, ".zst": FileForm.ZSTD}.get(output.suffix.lower(), FileForm.LINES)
        form = FileForm.PARQUET if source.form is FileForm.PARQUET else packed
    if (form is FileForm.PARQUET) != (source.form is FileForm.PARQUET):
        hint = f"a name that ends in {source.form}, for rows are written in the form they are read in"
        raise ConfigError("OUT", str(output), hint=hint)
    return form


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of rows below a folder, sorted; hidden ones, and links to folders, are left out."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        for name in sorted(names):
            if name.lower().endswith(tuple(_ENDINGS)) and not name.startswith(_HIDDEN):
                yield Path(parent) / name


def _refuse_array(source: InputFile) -> None:
    """Raise `ConfigError` for a JSON array over many lines, each of which would be listed as broken."""
    with source.path.open("rb") as file:
        if source.form is FileForm.LINES and file.readline(_FIRST_LINE_BYTES).strip() == b"[":
            hint = "one row a line, as jq -c '.[]' writes them from a JSON array"
            raise ConfigError("IN", str(source.path), hint=hint)


def _as_member(path: Path, name: str) -> InputFile:
    """Describe a file of a folder, also one that cannot be opened: a link to nowhere, one of others."""
    try:
        return _as_source(path, name)
    except OSError as error:
        form = next(form for ending, form in _ENDINGS.items() if name.lower().endswith(ending))
        return InputFile(path, name, form, 0, error.strerror or type(error).__name__)


def _as_source(path: Path, name: str) -> InputFile:
    refuse_store_file(path)
    with path.open("rb") as file:
        start = file.read(4)
        size = os.fstat(file.fileno()).st_size
    # What is called Parquet and is not was damaged, and is listed as such.
    plain = FileForm.PARQUET if path.name.lower().endswith(FileForm.PARQUET) else FileForm.LINES
    form = next((form for magic, form in _MAGIC.items() if start.startswith(magic)), plain)
    return InputFile(path, name, form, size)


_HASH_BYTES = 8
_ALL = 1 << (8 * _HASH_BYTES)
_HINT = "a part such as 10% or 0.1, or a number of rows such as 500"


@dataclass(frozen=True, slots=True)
class SampleShare:
    """Rows to take: a part of them all, or this many."""

    part: float | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Sampler:
    """Takes the rows whose number, shuffled by the seed, is below a bound."""

    seed: int = 0
    below: int = _ALL

    def pick(self, name: str, numbers: Sequence[int]) -> list[int]:
        """Return the numbers, of these rows of the file called `name`, that are in the sample."""
        if self.below == _ALL:
            return list(numbers)
        key = _key(self.seed, name)
        return [number for number in numbers if _shuffled(key, number) < self.below]


EVERYTHING = Sampler()


def read_share(text: str) -> SampleShare:
    """Read `10%`, `0.1` or `500`; `ConfigError` for anything else."""
    try:
        if text.endswith("%"):
            return _as_part(float(text[:-1]) / 100, text)
        if "." in text:
            return _as_part(float(text), text)
        rows = int(text)
    except ValueError:
        raise ConfigError("--sample", text, hint=_HINT) from None
    if rows < 1:
        raise ConfigError("--sample", text, hint=_HINT)
    return SampleShare(rows=rows)


def sample_part(part: float, seed: int) -> Sampler:
    """Return what takes about this part of the rows."""
    return Sampler(seed, int(part * _ALL))


def sample_rows(rows: int, seed: int, counts: Mapping[str, int]) -> Sampler:
    """Return what takes exactly this many rows; `counts` says how many each file has, by its name."""
    lowest = heapq.nsmallest(rows + 1, _shuffle_all(seed, counts))
    return Sampler(seed, lowest[rows] if len(lowest) > rows else _ALL)


def _as_part(part: float, text: str) -> SampleShare:
    if not 0 < part <= 1:
        raise ConfigError("--sample", text, hint=_HINT)
    return SampleShare(part=part)


def _shuffle_all(seed: int, counts: Mapping[str, int]) -> Iterator[int]:
    for name, rows in counts.items():
        key = _key(seed, name)
        for number in range(1, rows + 1):
            yield _shuffled(key, number)


def _key(seed: int, name: str) -> bytes:
    return blake2b(f"{seed}\n{name}".encode("utf-8", "surrogateescape"), digest_size=16).digest()


def _shuffled(key: bytes, number: int) -> int:
    hashed = blake2b(number.to_bytes(8), key=key, digest_size=_HASH_BYTES).digest()
    return int.from_bytes(hashed)
