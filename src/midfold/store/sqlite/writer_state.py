"""Whether the writer may write; if not, why, and when it may try again.

A small write that works is no proof that there is room again, so a larger one is tried beside the file first.
"""

import os
import threading
import time
from pathlib import Path

from midfold.errors import StoreCorrupt, StoreError, StoreReplaced, StoreUnavailable
from midfold.store.sqlite.driver import is_corrupt, is_out_of_space, name_damage

_PROBE_BYTES = 1 << 20
_PROBE_SECONDS = 1.0
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_PRIVATE_FILE = 0o600


class WriterState:
    """The state of a writer: fine, without room for now, or stopped: the file is damaged, or another one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._next_probe = 0.0
        self._is_damage = False
        self._replaced: StoreReplaced | None = None
        self.reason: str | None = None

    def note(self, error: BaseException) -> None:
        """Take an error of SQLite into account."""
        if is_corrupt(error):
            self.stop(name_damage(error))
        elif is_out_of_space(error):
            with self._lock:
                self._next_probe = time.monotonic() + _PROBE_SECONDS
                self.reason = self.reason or str(error)

    def stop(self, reason: str) -> None:
        """Write nothing any more: the file is damaged."""
        with self._lock:
            self._is_damage, self.reason = True, reason

    def end(self, replaced: StoreReplaced) -> None:
        """Write nothing any more: what is open is not the file that people find."""
        with self._lock:
            self._replaced, self.reason = replaced, str(replaced)

    def resume(self) -> None:
        """Write again: the damage was in the index alone."""
        with self._lock:
            self._is_damage, self.reason = False, None if self._replaced is None else str(self._replaced)

    @property
    def error(self) -> StoreError | None:
        """The error for callers while nothing can be written."""
        if self.reason is None:
            return None
        if self._replaced is not None:
            return StoreReplaced(self._replaced.path, self._replaced.reason, self._replaced.kept_as)
        if self._is_damage:
            return StoreCorrupt(str(self._path), self.reason)
        return StoreUnavailable(f"{self._path}: {self.reason}")

    def check(self) -> None:
        """Raise while writing is off; look for room again now and then."""
        if self.reason is None:
            return
        with self._lock:
            is_final = self._is_damage or self._replaced is not None
            if not is_final and time.monotonic() >= self._next_probe:
                self._next_probe = time.monotonic() + _PROBE_SECONDS
                self.reason = None if self._has_room() else self.reason
        if self.error is not None:
            raise self.error

    def _has_room(self) -> bool:
        probe = self._path.with_name(f".{self._path.name}.probe-{os.getpid()}-{id(self):x}")
        try:
            handle = os.open(probe, _NEW_FILE, _PRIVATE_FILE)
        except OSError:
            return False
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(bytes(_PROBE_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            return False
        finally:
            probe.unlink(missing_ok=True)
        return True
