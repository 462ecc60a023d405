"""A small pool of connections that only read, so that no reader waits for a writer or for another reader."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from midfold.errors import StoreUnavailable
from midfold.store.sqlite.driver import roll_back, translated

_MAX_READERS = 8


class Readers:
    """Lends connections; opens one where none is free, up to a bound."""

    def __init__(self, path: Path, open_one: Callable[[], sqlite3.Connection]) -> None:
        self._path = path
        self._open = open_one
        self._free: list[sqlite3.Connection] = []
        self._slots = threading.BoundedSemaphore(_MAX_READERS)
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """Give a connection for one look at the database: everything read in it belongs together."""
        with self._slots:
            connection = self._take()
            try:
                with translated(self._path):
                    connection.execute("BEGIN")
                    yield connection
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Close the free connections; those still lent are closed when they come back."""
        with self._lock:
            self._is_closed = True
            free, self._free = self._free, []
        for connection in free:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._is_closed:
                raise StoreUnavailable("it is closed")
            if self._free:
                return self._free.pop()
        return self._open()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        roll_back(connection)
        with self._lock:
            if not self._is_closed:
                self._free.append(connection)
                return
        connection.close()
