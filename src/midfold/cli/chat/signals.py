"""Signals that end a chat: what it started ends with it, and the session is closed as after a farewell."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_NAMES = ("SIGTERM", "SIGHUP", "SIGQUIT")
_STATUS_BASE = 128


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Leave the block by `SystemExit` at a signal that would end the process; a second one ends it at once.

    A signal that the caller has set to be ignored, as `nohup` does, stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in known}
    for number, handler in previous.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


def _leave(number: int, _frame: FrameType | None) -> None:
    for name in _NAMES:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if number == getattr(signal, "SIGHUP", None):
        _drop_terminal()
    sys.exit(_STATUS_BASE + number)


def _drop_terminal() -> None:
    """Write nothing more to a terminal that is gone."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            if stream.isatty():
                os.dup2(nowhere, stream.fileno())
