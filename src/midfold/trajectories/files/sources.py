"""Which files are read: one, or all that hold trajectories in a folder and the folders below it.

What a file is, its first bytes say; names are only asked where a folder holds other things as well.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path

from midfold.errors import ConfigError

_EDGE_BYTES = 64 * 1024
_FIRST_LINE_BYTES = 64


class Form(StrEnum):
    """How rows lie in a file."""

    LINES = ".jsonl"
    GZIP = ".jsonl.gz"
    ZSTD = ".jsonl.zst"
    PARQUET = ".parquet"


@dataclass(frozen=True, slots=True)
class Source:
    """One file of rows. `name` is its place below what was asked for, with slashes on every system."""

    path: Path
    name: str
    form: Form
    size: int
    problem: str | None = None
    """why it cannot be opened; it is listed then, and the others of its folder are read"""


_ENDINGS = {
    ".jsonl": Form.LINES,
    ".ndjson": Form.LINES,
    ".jsonl.gz": Form.GZIP,
    ".ndjson.gz": Form.GZIP,
    ".jsonl.zst": Form.ZSTD,
    ".ndjson.zst": Form.ZSTD,
    ".parquet": Form.PARQUET,
}
_MAGIC = {b"\x1f\x8b": Form.GZIP, b"\x28\xb5\x2f\xfd": Form.ZSTD, b"PAR1": Form.PARQUET}
# Packers write and readers skip what is begun or meant for others: `.cache`, `_SUCCESS`.
_HIDDEN = (".", "_")


def find_sources(path: Path) -> tuple[Source, ...]:
    """Return the file, or those of a folder in the order of their names; `ConfigError` if there are none."""
    if path.is_dir():
        found = tuple(_as_member(file, file.relative_to(path).as_posix()) for file in _walk(path))
    elif path.is_file():
        found = (_as_source(path, path.name),)
        _refuse_array(found[0])
    else:
        found = ()
    if not found:
        raise ConfigError("IN", str(path), hint=f"a file, or a folder of {', '.join(Form)} files")
    return found


def fingerprint(source: Source) -> str:
    """Return what tells that a file is still the one it was: its name, size, time of change and both ends.

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


def form_for(output: Path, source: Source) -> Form:
    """Tell from its name how a file is to be written; lines stay lines, and columns stay columns."""
    name = output.name.lower()
    form = next((form for ending, form in _ENDINGS.items() if name.endswith(ending)), None)
    if form is None:
        packed = {".gz": Form.GZIP, ".zst": Form.ZSTD}.get(output.suffix.lower(), Form.LINES)
        form = Form.PARQUET if source.form is Form.PARQUET else packed
    if (form is Form.PARQUET) != (source.form is Form.PARQUET):
        hint = f"a name that ends in {source.form}, for rows are written in the form they are read in"
        raise ConfigError("OUT", str(output), hint=hint)
    return form


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files of rows below a folder, sorted; hidden ones, and links to folders, are left out."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(_HIDDEN))
        for name in sorted(names):
            if name.lower().endswith(tuple(_ENDINGS)) and not name.startswith(_HIDDEN):
                yield Path(place) / name


def _refuse_array(source: Source) -> None:
    """Raise `ConfigError` for a JSON array over many lines, each of which would be listed as broken."""
    with source.path.open("rb") as file:
        if source.form is Form.LINES and file.readline(_FIRST_LINE_BYTES).strip() == b"[":
            hint = "one row a line, as jq -c '.[]' writes them from a JSON array"
            raise ConfigError("IN", str(source.path), hint=hint)


def _as_member(path: Path, name: str) -> Source:
    """Describe a file of a folder, also one that cannot be opened: a link to nowhere, one of others."""
    try:
        return _as_source(path, name)
    except OSError as error:
        form = next(form for ending, form in _ENDINGS.items() if name.lower().endswith(ending))
        return Source(path, name, form, 0, error.strerror or type(error).__name__)


def _as_source(path: Path, name: str) -> Source:
    with path.open("rb") as file:
        start = file.read(4)
        size = os.fstat(file.fileno()).st_size
    # What is called Parquet and is not was damaged, and is listed as such.
    plain = Form.PARQUET if path.name.lower().endswith(Form.PARQUET) else Form.LINES
    form = next((form for magic, form in _MAGIC.items() if start.startswith(magic)), plain)
    return Source(path, name, form, size)
