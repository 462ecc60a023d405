"""The audit log: changes of conversations and of keys, by whom and when; never what was said."""

import json
import os
import threading
import time
from pathlib import Path

from midfold.late_dataclasses import dataclass, field

AUDIT_FILE = "admin-audit.jsonl"


@dataclass(frozen=True, slots=True)
class AuditLog:
    """Who changed what and when, one JSON line each; never what it says. `path` is `None` in memory only."""

    path: Path | None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self) -> None:
        """Raise `OSError` where no line can be added."""
        if self.path is not None:
            os.close(self._open(self.path))

    def write(self, action: str, session_id: str = "", **facts: object) -> None:
        """Add a line; raises `OSError`."""
        if self.path is None:
            return
        about = {"session": session_id} if session_id else {}
        entry = {"at": round(time.time(), 3), "action": action, **about, **facts}
        line = json.dumps(entry).encode() + b"\n"
        with self._lock:
            # One write to a file that is only appended to: lines of several processes do not mix.
            file = self._open(self.path)
            try:
                os.write(file, line)
            finally:
                os.close(file)

    @staticmethod
    def _open(path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0), 0o600)
