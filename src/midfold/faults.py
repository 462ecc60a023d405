"""Named points at which a test can make the world fail, in this process or in one it starts.

`MIDFOLD_FAULT=store.commit.before:kill` ends the process there; `:raise` and `:enospc` raise `OSError`,
`:sleep` waits a minute. A number behind the action picks the n-th time the point is passed:
`sink.rename.before:kill:3`. Without the variable a point costs one comparison.
"""

import errno
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

_SLEEP_SECONDS = 60.0


@dataclass(slots=True)
class _Armed:
    name: str
    act: Callable[[], None]
    passes_left: int


def faultpoint(name: str) -> None:
    """Fail here when `MIDFOLD_FAULT` says so; nothing otherwise."""
    if _armed is not None and _armed.name == name:
        _armed.passes_left -= 1
        if _armed.passes_left == 0:
            _armed.act()


def arm(fault: str | None) -> None:
    """Set the fault of this process, as `name:action[:nth]`; `None` disarms."""
    global _armed
    if not fault:
        _armed = None
        return
    name, action, *nth = fault.split(":")
    _armed = _Armed(name, _ACTIONS[action], int(nth[0]) if nth else 1)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _fail() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _fill_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _sleep() -> None:
    time.sleep(_SLEEP_SECONDS)


_ACTIONS = {"kill": _kill, "raise": _fail, "enospc": _fill_disk, "sleep": _sleep}
_armed: _Armed | None = None
arm(os.environ.get("MIDFOLD_FAULT"))
