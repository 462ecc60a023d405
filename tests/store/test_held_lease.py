"""A session that is being folded is held for as long as that takes, and a loss is told."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from midfold.errors import SessionBusy, SessionEnded, StoreError, StoreUnavailable
from midfold.store import Lease, open_store
from midfold.store.held_lease import HeldLease, name_holder
from midfold.store.sqlite.store import SqliteStore

BEAT = 0.02


class Flaky:
    """A store whose renewals fail as often as it is told."""

    def __init__(self, store: SqliteStore, failures: int) -> None:
        self.store = store
        self.failures = failures
        self.renewed = threading.Event()

    def acquire_lease(self, session_id: str, holder: str, seconds: float = 45.0) -> Lease:
        return self.store.acquire_lease(session_id, holder, seconds)

    def renew_lease(self, lease: Lease, seconds: float = 45.0) -> Lease:
        if self.failures:
            self.failures -= 1
            raise StoreUnavailable("the disk is full")
        renewed = self.store.renew_lease(lease, seconds)
        self.renewed.set()
        return renewed

    def release_lease(self, lease: Lease) -> None:
        self.store.release_lease(lease)


def test_a_held_session_is_kept_past_its_lease_and_freed_at_the_end(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", synchronous="NORMAL") as store:
        session = store.create_session().id
        with HeldLease(store, session, seconds=5 * BEAT, renew_seconds=BEAT) as held:
            first = held.lease
            wait_until(lambda: held.lease.expires_at > first.expires_at + 10 * BEAT)
            with pytest.raises(SessionBusy):
                store.acquire_lease(session, "another")
            assert held.lease.epoch == first.epoch
        assert store.acquire_lease(session, "another").epoch == first.epoch + 1


def test_somebody_who_takes_over_is_told_to_the_loser_once(store: SqliteStore, clock: object) -> None:
    session = store.create_session().id
    lost = threading.Event()
    with HeldLease(store, session, seconds=45, renew_seconds=BEAT, on_lost=lost.set) as held:
        old = held.lease
        clock.now += 3600  # type: ignore[attr-defined]
        taken = take_over(store, session, clock)
        assert lost.wait(5)
        assert held.is_lost
        assert taken.epoch > old.epoch
    with pytest.raises(SessionBusy):  # leaving the block took nothing away from the winner
        store.acquire_lease(session, "third")


def test_a_beat_that_fails_for_want_of_room_is_no_loss(store: SqliteStore) -> None:
    session = store.create_session().id
    flaky = Flaky(store, failures=3)
    with HeldLease(flaky, session, renew_seconds=BEAT) as held:
        assert flaky.renewed.wait(5)
        assert not held.is_lost


def test_a_session_that_ended_is_not_held(store: SqliteStore) -> None:
    session = store.create_session().id
    store.end_session(session)
    with pytest.raises(SessionEnded), HeldLease(store, session):
        pass


def test_the_lease_is_there_inside_the_block_only(store: SqliteStore) -> None:
    held = HeldLease(store, store.create_session().id)
    with pytest.raises(StoreError, match="with block"):
        _ = held.lease


def test_no_two_holders_have_the_same_name() -> None:
    assert name_holder() != name_holder()


def take_over(store: SqliteStore, session: str, clock: object) -> Lease:
    """Take the lease as soon as it has run out between two beats."""
    while True:
        clock.now += 3600  # type: ignore[attr-defined]
        try:
            return store.acquire_lease(session, "another")
        except SessionBusy:
            continue


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 5
    while not is_so():
        assert time.monotonic() < until
        threading.Event().wait(BEAT / 4)
