"""Holding a session while it is folded: a lease that is renewed for as long as the work takes.

A summary may take minutes and a lease lasts seconds, so that a process that died is not waited for. In
between a thread of its own renews it. Who loses it anyway, as when a machine slept, cannot commit under it.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from types import TracebackType

from midfold.errors import SessionBusy, StoreError
from midfold.store.base import Leases
from midfold.store.values import LEASE_SECONDS, Lease

RENEW_SECONDS = 15.0


class HeldLease:
    """Takes a session's lease and keeps it until the end of the block.

    Entering raises `SessionBusy` when somebody else has it. `lease` is to be given to `continue_session`,
    which refuses one that was lost. `on_lost` is called once, from another thread, as soon as that is known,
    so that nobody pays for a summary that cannot be used.
    """

    def __init__(
        self,
        store: Leases,
        session_id: str,
        *,
        holder: str | None = None,
        seconds: float = LEASE_SECONDS,
        renew_seconds: float = RENEW_SECONDS,
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        self._store = store
        self._session_id = session_id
        self._holder = holder or name_holder()
        self._seconds = seconds
        self._renew_seconds = renew_seconds
        self._on_lost = on_lost
        self._lease: Lease | None = None
        self._is_over = threading.Event()
        self._is_lost = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def lease(self) -> Lease:
        """The lease as it was renewed last."""
        if self._lease is None:
            raise StoreError("the session is not held yet; use this in a with block")
        return self._lease

    @property
    def is_lost(self) -> bool:
        """Whether somebody else took the session over."""
        return self._is_lost.is_set()

    def __enter__(self) -> "HeldLease":
        self._lease = self._store.acquire_lease(self._session_id, self._holder, self._seconds)
        self._thread = threading.Thread(target=self._keep, name="midfold-lease", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
        if not self.is_lost:
            self._release()

    def _keep(self) -> None:
        while not self._is_over.wait(self._renew_seconds):
            try:
                self._lease = self._store.renew_lease(self.lease, self._seconds)
            except SessionBusy:
                self._is_lost.set()
                if self._on_lost is not None:
                    self._on_lost()
                return
            except StoreError:
                # No room or a locked file: the next beat may get through, and the epoch guards until then.
                continue

    def _release(self) -> None:
        try:
            self._store.release_lease(self.lease)
        except StoreError:
            # It runs out by itself; what was done under it stays done.
            return


def name_holder() -> str:
    """Name the holder of a lease, for people and so that no two are alike."""
    return f"{socket.gethostname()}/{os.getpid()}/{threading.get_ident()}/{time.monotonic_ns()}"
