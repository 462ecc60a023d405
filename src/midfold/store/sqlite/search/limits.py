"""Bounds the time that a question to the database may take, and keeps what it answered until then."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

# Often enough to keep the time, rarely enough to cost nothing.
_OPCODES_PER_LOOK = 2_000

T = TypeVar("T")


class Clock:
    """Says when time is over, and remembers that it said so."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.is_over = False

    def look(self) -> bool:
        """Return whether time is over."""
        self.is_over = self.is_over or time.monotonic() >= self._end
        return self.is_over


@contextmanager
def time_limit(connection: sqlite3.Connection, seconds: float) -> Iterator[Clock]:
    """Interrupt what the connection does for longer than this."""
    clock = Clock(seconds)
    connection.set_progress_handler(clock.look, _OPCODES_PER_LOOK)
    try:
        yield clock
    finally:
        connection.set_progress_handler(None, 0)


def rows_in_time(
    connection: sqlite3.Connection,
    clock: Clock,
    read: Callable[..., T],
    statement: str,
    parameters: dict[str, object],
) -> Iterator[T]:
    """Yield the rows of an answer, each through `read`, as far as they come in time."""
    try:
        for row in connection.execute(statement, parameters):
            yield read(*row)
    except connection.OperationalError:
        if not clock.is_over:
            raise
