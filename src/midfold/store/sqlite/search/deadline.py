"""The deadline of a question to the database, and the rows that it answered until then."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

# Often enough to keep the time, rarely enough to cost nothing.
_OPCODES_PER_LOOK = 2_000

T = TypeVar("T")


class Deadline:
    """Says when time is over, and remembers that it said so."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.is_over = False

    def has_passed(self) -> bool:
        """Return whether time is over."""
        self.is_over = self.is_over or time.monotonic() >= self._end
        return self.is_over


@contextmanager
def time_limit(connection: sqlite3.Connection, seconds: float | Deadline) -> Iterator[Deadline]:
    """Interrupt what the connection does for longer than this, or beyond a deadline that is set already."""
    deadline = seconds if isinstance(seconds, Deadline) else Deadline(seconds)
    connection.set_progress_handler(deadline.has_passed, _OPCODES_PER_LOOK)
    try:
        yield deadline
    finally:
        connection.set_progress_handler(None, 0)


def rows_in_time(
    connection: sqlite3.Connection,
    deadline: Deadline,
    read: Callable[..., T],
    statement: str,
    parameters: dict[str, object],
) -> Iterator[T]:
    """Yield the rows of an answer, each through `read`, as far as they come in time."""
    try:
        for row in connection.execute(statement, parameters):
            yield read(*row)
    except connection.OperationalError:
        if not deadline.is_over:
            raise
