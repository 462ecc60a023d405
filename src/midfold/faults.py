"""Named points at which a test can make the world fail, in this process or in one it starts.

`MIDFOLD_FAULT=store.commit.before:kill` ends the process there, `:exit` and `:abort` do so in other ways;
`:raise` and `:enospc` raise `OSError`, `:sleep` waits a minute. More can follow:

- a number picks the n-th time that a process passes the point: `sink.rename.before:kill:3`
- `about=TEXT` picks what is worked on: `trajectories.row:kill:about=poison`
- `once=FILE` picks the first of all processes: the one that removes that file
- a comma begins another fault

Without the variable a point costs one comparison.
"""

import errno
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from midfold.late_dataclasses import dataclass

_SLEEP_SECONDS = 60.0
_EXIT_STATUS = 3


@dataclass(slots=True)
class _Armed:
    name: str
    act: Callable[[], None]
    passes_left: int = 1
    about: str = ""
    once: Path | None = None

    def is_due(self, about: object) -> bool:
        """Count a pass, and say whether it is the one to fail at; with `about`, every one that fits is."""
        if self.about:
            return self.about in str(about) and self._is_first()
        self.passes_left -= 1
        return self.passes_left == 0 and self._is_first()

    def _is_first(self) -> bool:
        if self.once is None:
            return True
        try:
            self.once.unlink()
        except FileNotFoundError:
            return False
        return True


def faultpoint(name: str, about: object = "") -> None:
    """Fail here when `MIDFOLD_FAULT` says so; nothing otherwise. `about` is what is worked on."""
    if _armed is not None:
        for armed in _armed:
            if armed.name == name and armed.is_due(about):
                armed.act()


def arm(faults: str | None) -> None:
    """Set the faults of this process, each `name:action[:nth][:about=TEXT][:once=FILE]`; `None` disarms."""
    global _armed
    _armed = tuple(map(_read, faults.split(","))) if faults else None


def _read(fault: str) -> _Armed:
    name, action, *more = fault.split(":")
    armed = _Armed(name, _ACTIONS[action])
    for each in more:
        key, _, value = each.rpartition("=")
        if key == "about":
            armed.about = value
        elif key == "once":
            armed.once = Path(value)
        else:
            armed.passes_left = int(value)
    return armed


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _exit() -> NoReturn:
    os._exit(_EXIT_STATUS)


def _fail() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _fill_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sleep() -> None:
    time.sleep(_SLEEP_SECONDS)


_ACTIONS = {
    "kill": _kill,
    "exit": _exit,
    "abort": os.abort,
    "raise": _fail,
    "enospc": _fill_disk,
    "sleep": _sleep,
}
_armed: tuple[_Armed, ...] | None = None
arm(os.environ.get("MIDFOLD_FAULT"))
