"""What a hostile file cannot do: limits, and tables that nobody but SQLite writes to."""

import sqlite3

import pytest

from midfold.store.sqlite.driver import guard, unguarded


class Recording:
    """A connection of a driver that can be told to defend itself."""

    def __init__(self) -> None:
        self.told: list[tuple[int, bool]] = []

    def setconfig(self, option: int, is_on: bool) -> None:
        self.told.append((option, is_on))


def test_statements_are_bounded_and_no_other_file_is_attached() -> None:
    """Size limits."""
    connection = sqlite3.connect(":memory:")
    guard(connection)
    with pytest.raises(sqlite3.OperationalError, match="too many attached"):
        connection.execute("ATTACH ':memory:' AS other")
    with pytest.raises(sqlite3.Error):
        connection.execute(f"SELECT '{'x' * 200_000}'")
    connection.close()


def test_the_tables_of_the_index_are_protected_but_for_the_mending_of_it() -> None:
    """SQLITE_DBCONFIG_DEFENSIVE, where the driver offers it."""
    connection = Recording()
    guard(connection)  # type: ignore[arg-type]
    with unguarded(connection):  # type: ignore[arg-type]
        assert connection.told == [(1010, True), (1010, False)]
    assert connection.told[-1] == (1010, True)
