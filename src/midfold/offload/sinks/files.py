"""Offloaded output in files: one folder for each session, which no other user and no other session reaches.

root/tenant-<hash>/session-<hash>/terminal-<hash>.txt
"""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from midfold.faults import faultpoint
from midfold.files import write_atomically
from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.offload.names import is_reference, name_folder, name_owner
from midfold.offload.outputs import Output, OutputInfo, read_slice
from midfold.offload.safe_text import sanitize
from midfold.offload.sinks.directories import private_directory
from midfold.offload.sinks.disk_usage import DiskUsage, OffloadedFile, Quotas, SessionFolder, walk
from midfold.offload.sinks.records import SUFFIX, make_record, open_record, read_store
from midfold.redact import redact as hide_credentials

# What the names of files begin with that are still being written.
_TEMPORARY = ".tmp-"
_SWEEP_SECONDS = 3600.0
# Nothing is written for so long: its writer is gone.
_TEMPORARY_SECONDS = 3600.0
_IS_TEMPORARY = compile_late(rf"{re.escape(_TEMPORARY)}[0-9a-f]{{16}}", re.ASCII)
_DAY_SECONDS = 86_400.0
_DEFAULT_QUOTAS = Quotas()


@dataclass(frozen=True, slots=True)
class SweptFiles:
    """The files that a sweep removed."""

    files: int = 0
    bytes: int = 0


class FileSink:
    """All output that is offloaded below `root`, a directory of its own that need not exist.

    Threads and processes may share it. With `store`, the id of the store of its sessions, output stays
    as long as they do: the caller that deletes a session clears its output. Without, it goes when it is too
    old. That and what a killed process left behind is swept when something is written, once an hour at most.
    """

    def __init__(
        self,
        root: Path,
        *,
        store: str = "",
        quotas: Quotas = _DEFAULT_QUOTAS,
        redact: Callable[[str], str] = hide_credentials,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - a link in its place must be seen, not resolved
        self.store = store
        self.redact = redact
        self.clock = clock
        self.usage = DiskUsage(self.root, quotas, clock)
        self._quotas = quotas
        self._swept_at: float | None = None

    def session(self, session: str, *, tenant: str = "") -> "FileSession":
        """Return the sink of one session; the names may be any text."""
        return FileSession(self, session, tenant)

    def sweep(self) -> SweptFiles:
        """Remove what is older than its time and no store's; what cannot be removed waits for the next."""
        now = self._swept_at = self.clock()
        old = [file for file, age in _ages(walk(self.root), now) if age > self._max_age(file)]
        unowned = [file for file in old if is_temporary(file.name) or self.store_of(file) == ""]
        gone = [file for file in unowned if self.remove(file)]
        for folder in {file.folder for file in gone}:
            self.remove_folder(folder)
        if gone:
            self.usage.forget()
        return SweptFiles(len(gone), sum(file.size for file in gone))

    def sweep_if_due(self) -> None:
        """Sweep unless that was done within the hour."""
        if self._swept_at is None or abs(self.clock() - self._swept_at) >= _SWEEP_SECONDS:
            self.sweep()

    def remove_folder(self, folder: SessionFolder) -> None:
        """Remove the folder of a session if it is empty."""
        with suppress(OSError), private_directory(self.root, folder.tenant) as tenant:
            os.rmdir(folder.session, dir_fd=tenant)

    def store_of(self, file: OffloadedFile) -> str | None:
        """Return the store of the session of a file, empty for none; `None` if the file is none of ours."""
        try:
            with private_directory(self.root, file.folder.tenant, file.folder.session) as directory:
                return read_store(directory, file.name)
        except OSError:
            return None

    def remove(self, file: OffloadedFile) -> bool:
        """Remove a file, and say whether that was possible."""
        try:
            with private_directory(self.root, file.folder.tenant, file.folder.session) as directory:
                os.unlink(file.name, dir_fd=directory)
        except OSError:
            return False
        return True

    def _max_age(self, file: OffloadedFile) -> float:
        return _TEMPORARY_SECONDS if is_temporary(file.name) else self._quotas.max_age_seconds


def is_temporary(name: str) -> bool:
    """Whether this is the name of a file that is still being written."""
    return _IS_TEMPORARY.fullmatch(name) is not None


def _ages(files: Iterable[OffloadedFile], now: float) -> Iterator[tuple[OffloadedFile, float]]:
    """Yield files with how old they are, the newest first.

    Between one and the next a day counts at most. A clock that is set ahead would make everything old at
    once, and what is swept then does not come back with it.
    """
    age, later = 0.0, now
    for file in sorted(files, key=lambda each: each.modified_seconds, reverse=True):
        age += min(max(later - file.modified_seconds, 0.0), _DAY_SECONDS)
        later = file.modified_seconds
        yield file, age


class FileSession:
    """The output of one session. It finds no other session's, whatever reference it is given."""

    def __init__(self, sink: FileSink, session: str, tenant: str) -> None:
        self._sink = sink
        self._owner = name_owner(tenant, session)
        self._folder = SessionFolder(name_folder("tenant", tenant), name_folder("session", session))

    def write(self, key: str, text: str, *, tool: str = "") -> str:
        """Keep a text, credentials replaced; raises `OSError`, `EDQUOT` where a quota is used up."""
        sink = self._sink
        record = make_record(
            self._owner,
            sanitize(key, sink.redact),
            sanitize(text, sink.redact),
            tool=sanitize(tool, sink.redact),
            at_seconds=sink.clock(),
            store=sink.store,
        )
        sink.sweep_if_due()
        name = record.reference + SUFFIX
        with self._directory(create=True) as directory:
            if _is_kept(directory, record.reference, self._owner):
                # What is still in use does not grow old.
                os.utime(name, (sink.clock(), sink.clock()), dir_fd=directory)
            else:
                with sink.usage.reserve(self._folder, record.size):
                    _write_record(directory, name, record.parts)
        return record.reference

    def read(self, reference: str, offset: int = 0, limit: int | None = None) -> str:
        """Return a part of an offloaded text, of which no more is read than it takes."""
        with self.open(reference) as output:
            return read_slice(output, offset, output.info.chars if limit is None else limit).text

    def holds(self, reference: str) -> bool:
        """Whether this session keeps something under that reference."""
        try:
            with self.open(reference):
                return True
        except OSError:
            return False

    @contextmanager
    def open(self, reference: str) -> Iterator[Output]:
        """Open an offloaded text for the block."""
        with self._directory() as directory, open_record(directory, reference, self._owner) as output:
            yield output

    def outputs(self) -> list[OutputInfo]:
        """Return the offloaded texts, the newest first; damaged ones are left out."""
        try:
            with self._directory() as directory:
                found = list(_read_infos(directory, self._owner))
        except FileNotFoundError:
            return []
        return sorted(found, key=lambda info: (-info.at_seconds, info.reference))

    def path_of(self, reference: str) -> str:
        """Return the file of a reference that this session gave."""
        if not is_reference(reference):
            raise ValueError(f"not a reference: {reference!r}")
        folder = self._folder
        return str(self._sink.root / folder.tenant / folder.session / (reference + SUFFIX))

    def clear(self) -> None:
        """Remove all that this session keeps, and nothing else."""
        with suppress(FileNotFoundError), self._directory() as directory:
            for name in _list(directory):
                os.unlink(name, dir_fd=directory)
        self._sink.remove_folder(self._folder)
        self._sink.usage.forget()

    @contextmanager
    def _directory(self, *, create: bool = False) -> Iterator[int]:
        names = (self._folder.tenant, self._folder.session)
        with private_directory(self._sink.root, *names, create=create) as directory:
            yield directory


def _write_record(directory: int, name: str, parts: Sequence[bytes]) -> None:
    write_atomically(
        name,
        parts,
        temporary=f"{_TEMPORARY}{secrets.token_hex(8)}",
        folder=directory,
        syncs_folder=True,
        checkpoint=lambda step: faultpoint(f"sink.{step}"),
    )


def _is_kept(directory: int, reference: str, owner: str) -> bool:
    try:
        with open_record(directory, reference, owner):
            return True
    except OSError:
        return False


def _read_infos(directory: int, owner: str) -> Iterator[OutputInfo]:
    for name in _list(directory):
        reference = name.removesuffix(SUFFIX)
        if name.endswith(SUFFIX) and is_reference(reference):
            with suppress(OSError), open_record(directory, reference, owner) as output:
                yield output.info


def _list(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]
