"""Brings a file to the schema of this version: numbered steps, each in one transaction with its number."""

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from midfold.errors import SchemaTooNew, StoreUnavailable
from midfold.faults import faultpoint
from midfold.store.sqlite import schema_2, schema_3
from midfold.store.sqlite.driver import APPLICATION_ID, roll_back

_UPGRADES = {2: schema_2.upgrade, 3: schema_3.upgrade}


@dataclass(frozen=True, slots=True)
class Migration:
    """One step, from the version before it to `version`."""

    version: int
    statements: tuple[str, ...]
    upgrade: Callable[[sqlite3.Connection], None] | None = None
    """what SQL alone cannot do, after the statements"""


def migrate(connection: sqlite3.Connection) -> int:
    """Apply what is missing and return the version; a killed run leaves the old version or the new one.

    Raises `SchemaTooNew` for a file that a later version wrote.
    """
    for step in load_migrations():
        if _version_of(connection) < step.version:
            _apply(connection, step)
    check_version(connection)
    return _version_of(connection)


def check_version(connection: sqlite3.Connection) -> None:
    """Raise `SchemaTooNew` for a later version, `StoreUnavailable` for one not brought up to date yet."""
    newest = load_migrations()[-1].version
    found = _version_of(connection)
    if found > newest:
        raise SchemaTooNew(found, newest)
    if found < newest:
        raise StoreUnavailable(f"it has schema {found} and cannot be brought to {newest} for now")


@cache
def load_migrations() -> tuple[Migration, ...]:
    """Read the numbered SQL files that come with the package."""
    folder = files("midfold.store.sqlite") / "sql"
    found = sorted(
        (each for each in folder.iterdir() if each.name.endswith(".sql")), key=lambda each: each.name
    )
    return tuple(
        Migration(
            int(each.name[:4]), split_statements(each.read_text("utf-8")), _UPGRADES.get(int(each.name[:4]))
        )
        for each in found
    )


def split_statements(text: str) -> tuple[str, ...]:
    """Split a script at semicolons; comments go. Our scripts hold no text with a semicolon in it."""
    bare = re.sub(r"--[^\n]*", "", text)
    return tuple(statement.strip() for statement in bare.split(";") if statement.strip())


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited for the lock.
        if _version_of(connection) < step.version:
            for statement in step.statements:
                faultpoint("store.migrate.statement")
                connection.execute(statement)
            if step.upgrade is not None:
                step.upgrade(connection)
                faultpoint("store.migrate.upgraded")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step.version}")
        faultpoint("store.migrate.before_commit")
        connection.execute("COMMIT")
        faultpoint("store.migrate.after_commit")
    except BaseException:
        roll_back(connection)
        raise
