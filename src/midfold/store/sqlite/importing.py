"""Writes a whole conversation in one transaction: a process that is killed meanwhile leaves nothing of it."""

import sqlite3
from collections.abc import Sequence

from midfold.store.dated import Run
from midfold.store.sqlite import writing
from midfold.store.sqlite.sessions import NewSession, insert_session


def write_runs(
    connection: sqlite3.Connection,
    tenant: str,
    new: NewSession,
    runs: Sequence[Run],
    quota: int | None,
    started_at: float | None,
    now: float,
) -> None:
    """Open a session and write what was said in it, dated as it was said."""
    insert_session(connection, tenant, new, now if started_at is None else started_at)
    for run in runs:
        at = now if run.at is None else run.at
        writing.append(connection, tenant, new.id, run.prepared, quota, at)
