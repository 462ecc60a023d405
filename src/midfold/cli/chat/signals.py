"""Signals that end a chat: what it started ends with it, and the session is closed as after a farewell."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
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
    previous = {number: signal.getsignal(number) for number in _known()}
    for number, handler in previous.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)


@contextmanager
def ended_after(interrupt: Callable[[], bool]) -> Iterator[None]:
    """Let a signal that would end the chat interrupt the work of the block first, and leave behind it.

    An error that is raised in the middle of it could be lost: Python drops those of weak references.
    `interrupt` returns false where there is no work.
    """
    received: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        if not interrupt():
            _leave(number, frame)
        received.append(number)
        _prepare_to_leave(number)

    own = [number for number in _known() if signal.getsignal(number) is _leave]
    for number in own:
        signal.signal(number, stop)
    try:
        yield
    finally:
        if received:
            sys.exit(_STATUS_BASE + received[0])
        for number in own:
            signal.signal(number, _leave)


def _known() -> list[int]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]


def _leave(number: int, _frame: FrameType | None) -> None:
    _prepare_to_leave(number)
    sys.exit(_STATUS_BASE + number)


def _prepare_to_leave(number: int) -> None:
    """Let a second signal end the process at once."""
    for known in _known():
        signal.signal(known, signal.SIG_DFL)
    if number == getattr(signal, "SIGHUP", None):
        _drop_terminal()


def _drop_terminal() -> None:
    """Write nothing more to a terminal that is gone."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            if stream.isatty():
                os.dup2(nowhere, stream.fileno())
