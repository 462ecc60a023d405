"""Disk usage of each session, each tenant and in all, and the room for more."""

import errno
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from midfold.late_dataclasses import dataclass
from midfold.offload.names import is_folder_of

# Other processes may write below the same root: what they added is seen after this time.
_FRESH_SECONDS = 60.0
# A file takes whole blocks, so that many small ones do not pass for nothing.
_BLOCK_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class Quotas:
    """The most that is kept, in bytes, and for how long where no store keeps the session."""

    session_bytes: int = 256 << 20
    tenant_bytes: int = 1 << 30
    total_bytes: int = 4 << 30
    max_age_seconds: float = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """The folders of a session."""

    tenant: str
    session: str


@dataclass(frozen=True, slots=True)
class OffloadedFile:
    """A file below the folders of a session, temporary ones among them."""

    folder: SessionFolder
    name: str
    size: int
    modified_seconds: float


class DiskUsage:
    """Counts what lies below a root; counted anew from time to time."""

    def __init__(self, root: Path, quotas: Quotas, clock: Callable[[], float]) -> None:
        self._root = root
        self._quotas = quotas
        self._clock = clock
        self._lock = threading.Lock()
        self._counted_at: float | None = None
        self._sessions: Counter[SessionFolder] = Counter()
        self._tenants: Counter[str] = Counter()

    @contextmanager
    def reserve(self, folder: SessionFolder, size: int) -> Iterator[None]:
        """Count `size` bytes as used if the block succeeds; `EDQUOT` where there is no room for them."""
        size = _in_blocks(size)
        with self._lock:
            self._count_if_stale()
            if self._is_over(folder, size):
                raise OSError(errno.EDQUOT, "the quota for kept output is used up")
            self._add(folder, size)
        try:
            yield
        except BaseException:
            with self._lock:
                self._add(folder, -size)
            raise

    def forget(self) -> None:
        """Count anew next time, as something was removed."""
        with self._lock:
            self._counted_at = None

    def _is_over(self, folder: SessionFolder, size: int) -> bool:
        quotas = self._quotas
        return (
            self._sessions[folder] + size > quotas.session_bytes
            or self._tenants[folder.tenant] + size > quotas.tenant_bytes
            or self._tenants.total() + size > quotas.total_bytes
        )

    def _add(self, folder: SessionFolder, size: int) -> None:
        self._sessions[folder] += size
        self._tenants[folder.tenant] += size

    def _count_if_stale(self) -> None:
        now = self._clock()
        # A clock may be set back as well as forward.
        if self._counted_at is not None and abs(now - self._counted_at) < _FRESH_SECONDS:
            return
        self._sessions.clear()
        self._tenants.clear()
        for file in walk(self._root):
            self._add(file.folder, _in_blocks(file.size))
        self._counted_at = now


def _in_blocks(size: int) -> int:
    return -(-size // _BLOCK_BYTES) * _BLOCK_BYTES


def walk(root: Path) -> Iterator[OffloadedFile]:
    """Yield every file of every session below a root; what vanishes meanwhile is passed over, and so are
    folders that are not ours."""
    for tenant in _folders(root, "tenant"):
        for session in _folders(Path(tenant.path), "session"):
            for entry in _scan(Path(session.path)):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    folder = SessionFolder(tenant.name, session.name)
                    yield OffloadedFile(folder, entry.name, status.st_size, status.st_mtime)


def _folders(directory: Path, kind: str) -> Iterator[os.DirEntry[str]]:
    return (
        entry
        for entry in _scan(directory)
        if is_folder_of(kind, entry.name) and entry.is_dir(follow_symlinks=False)
    )


def _scan(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []
