"""The folder beside the output in which a run collects its chunks until all of them are there.

    OUT.work/
    ├── manifest.jsonl   what the run is about, and what is done
    ├── 00000.part       the output of the first file so far, and so on
    └── listed.part      rows that somebody should know about

When all chunks are there the manifest is renamed to complete.jsonl; from then on parts are moved into place
and nothing is read again, however often that is interrupted.
"""

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Self

from midfold.errors import ConfigError
from midfold.faults import faultpoint
from midfold.files import replace_file, write_atomically
from midfold.trajectories.chunks import MEGABYTE, START
from midfold.trajectories.lines import finish_gzip, pack_zstd
from midfold.trajectories.manifest import (
    Header,
    add_up,
    check_header,
    check_sizes,
    make_entry,
    make_line,
    make_listed_lines,
    restore,
)
from midfold.trajectories.reader import load_columns
from midfold.trajectories.runs import ChunkResult, RunTotals
from midfold.trajectories.sources import FileForm, InputFile

_MANIFEST = "manifest.jsonl"
_COMPLETE = "complete.jsonl"
_LISTED = "listed.part"
_LOCK = "lock"


class WorkFolder:
    """The work of one run: `begin` or `resume` it, `commit` chunks in order, `complete` it, `deliver` it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = _lock(path)
        self._part: BinaryIO | None = None
        self._part_file = -1
        self.totals = RunTotals()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in (self._part, self._lock):
            if file is not None:
                file.close()

    @property
    def is_complete(self) -> bool:
        """Whether every chunk is there, so that only placing is left."""
        return (self._path / _COMPLETE).exists()

    @property
    def is_begun(self) -> bool:
        return self.is_complete or (self._path / _MANIFEST).exists()

    def begin(self, header: Header) -> None:
        """Start; `ConfigError` where unfinished work is in the way."""
        if self.is_complete or (self.is_begun and add_up(self._path / _MANIFEST).position != START):
            hint = "no unfinished work there: continue with --resume, or remove that folder to start over"
            raise ConfigError("OUT", str(self._path), hint=hint)
        # A run that was killed within the first chunk leaves rows that are in no manifest.
        for left in (*self._path.glob("*.part"), *self._path.glob("*.sealed")):
            left.unlink()
        replace_file(self._path / _MANIFEST, make_line(header))
        (self._path / _LISTED).write_bytes(b"")

    def resume(self, header: Header) -> None:
        """Go on with what is done, or start where nothing is; `ConfigError` if it was another run's."""
        if self.is_complete:
            check_header(self._path / _COMPLETE, header)
            self.totals = add_up(self._path / _COMPLETE)
        elif self.is_begun:
            check_header(self._path / _MANIFEST, header)
            (self._path / _LISTED).touch()
            self.totals = restore(self._path / _MANIFEST, self._part_path, self._path / _LISTED)
        else:
            self.begin(header)

    def commit(self, finished: ChunkResult) -> None:
        """Keep a chunk: from here on it is done."""
        entry = make_entry(finished)
        faultpoint("trajectories.part.before")
        _append(self._open_part(finished.extent.file), finished.output)
        with (self._path / _LISTED).open("ab") as listed:
            _append(listed, make_listed_lines(finished))
        faultpoint("trajectories.manifest.before")
        with (self._path / _MANIFEST).open("ab") as manifest:
            _append(manifest, entry.to_line())
        faultpoint("trajectories.manifest.after")
        entry.add_to(self.totals)

    def complete(self) -> None:
        """Declare that every chunk is there; `MidfoldError` where there is anything else."""
        if self._part is not None:
            self._part.close()
        check_sizes(self._path / _MANIFEST, self._part_path, self._path / _LISTED)
        for path in (*self._path.glob("*.part"), self._path / _MANIFEST):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        faultpoint("trajectories.complete.before")
        (self._path / _MANIFEST).rename(self._path / _COMPLETE)

    def deliver(self, file: int, source: InputFile, form: FileForm, output: Path) -> None:
        """Move the output of one file to its path, in one step; nothing where it is there already."""
        part = self._part_path(file)
        if not part.exists():
            return
        faultpoint("trajectories.place.before")
        sealed = _seal(part, source, form)
        if sealed.exists():
            output.parent.mkdir(parents=True, exist_ok=True)
            _move(sealed, output)
        part.unlink(missing_ok=True)
        faultpoint("trajectories.place.after")

    def deliver_listed(self, output: Path) -> None:
        """Move the list of rows to its path; where nobody needs to know anything there is none."""
        listed = self._path / _LISTED
        if listed.exists() and listed.stat().st_size:
            _move(listed, output)
        elif listed.exists():
            output.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove what is left when all is moved; the mark that it was complete goes last."""
        faultpoint("trajectories.remove.before")
        for path in sorted(self._path.iterdir(), key=lambda path: path.name == _COMPLETE):
            path.unlink()
        self._path.rmdir()

    def _part_path(self, file: int) -> Path:
        return self._path / f"{file:05}.part"

    def _open_part(self, file: int) -> BinaryIO:
        if self._part is None or self._part_file != file:
            if self._part is not None:
                self._part.close()
            self._part = self._part_path(file).open("ab")
            self._part_file = file
        return self._part


def _seal(part: Path, source: InputFile, form: FileForm) -> Path:
    """Return the finished file, made from the part where that is not finished as it is."""
    if form is FileForm.LINES:
        return part
    if form is FileForm.GZIP:
        finish_gzip(part)
        return part
    sealed = part.with_suffix(".sealed")
    if form is FileForm.ZSTD:
        pack_zstd(part, sealed)
    else:
        load_columns().seal_columns(part, sealed, source)
    if sealed.exists():
        with sealed.open("rb") as file:
            os.fsync(file.fileno())
    return sealed


def _move(file: Path, target: Path) -> None:
    """Move a file to its path in one step; to another disk, which a link may lead to, by way of a copy."""
    try:
        file.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        near = target.with_name(f".{target.name}.midfold")
        near.unlink(missing_ok=True)  # of a run that was killed here
        with file.open("rb") as source:
            blocks = iter(lambda: source.read(MEGABYTE), b"")
            write_atomically(str(target), blocks, temporary=str(near), mode=None)


def _append(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()


def _lock(folder: Path) -> BinaryIO:
    """Keep other runs out of the folder for as long as the file is open, a killed process's not longer."""
    folder.mkdir(exist_ok=True)
    file = (folder / _LOCK).open("ab")
    with suppress(ImportError):  # Windows, where a folder with open files is not removed by another run
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise ConfigError("OUT", str(folder), hint="a folder in which no other run is at work") from None
    return file
