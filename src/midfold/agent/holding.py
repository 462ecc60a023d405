"""Holding the right to fold a session, also where somebody who had it is dead."""

import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from midfold.concurrency import run_in_thread, shield_until_done
from midfold.errors import SessionBusy
from midfold.store import Holding, Lease, Store


@asynccontextmanager
async def hold(store: Store, session_id: str) -> AsyncIterator[Lease]:
    """Hold a session until the end of the block; raises `SessionBusy` where somebody alive has it."""
    holding = Holding(store, session_id)
    try:
        await shield_until_done(run_in_thread(_enter, store, session_id, holding))
        yield holding.lease
    finally:
        await shield_until_done(run_in_thread(holding.__exit__, None, None, None))


def _enter(store: Store, session_id: str, holding: Holding) -> None:
    try:
        holding.__enter__()
    except SessionBusy as busy:
        if not _is_dead(busy.holder):
            raise
        # In its name, the lease is ours to give back; who is quicker than we are here is not disturbed.
        store.release_lease(store.acquire_lease(session_id, busy.holder))
        holding.__enter__()


def _is_dead(holder: str) -> bool:
    """Whether a holder was a process of this machine that is no more; see `store.leasing.name_holder`."""
    host, _, rest = holder.partition("/")
    process = rest.partition("/")[0]
    if host != socket.gethostname() or not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # it is somebody else's, and lives
        return False
    return False
