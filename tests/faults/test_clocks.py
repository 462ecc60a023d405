"""Clocks that jump: chains, order and leases do not hang on them."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import midfold
from midfold.store import SessionKind, open_store

STEPS = (-3600.0, -1.0, -0.01, 0.0, 10 * 365 * 86400.0)
MESSAGES: list[object] = [
    {"role": "user" if index % 2 == 0 else "assistant", "content": f"{index} about the harbour office " * 30}
    for index in range(30)
]


class Clock:
    """A clock that is set before every look at it."""

    def __init__(self, seed: int) -> None:
        self.now = 1_700_000_000.0
        self._rng = random.Random(seed)

    def __call__(self) -> float:
        self.now += self._rng.choice(STEPS)
        return self.now


@pytest.mark.timeout(300)
def test_a_clock_that_jumps_at_every_step_changes_nothing(tmp_path: Path, rounds: int) -> None:
    """Chains are resolved, messages are in order, and nobody waits for a lease for ever."""
    result = midfold.compress(MESSAGES, max_tokens=1_500, strategy="fold")
    with open_store(tmp_path / "s.db", synchronous="NORMAL", clock=(clock := Clock(0))) as store:
        for number in range(rounds):
            clock.__init__(number)  # type: ignore[misc]
            root = store.create_session(dialect="openai_chat").id
            store.append(root, MESSAGES)
            helper = store.create_session(parent_id=root, kind=SessionKind.SUBAGENT).id
            child = store.continue_session(root, result.messages, result)
            branch = store.create_session(parent_id=root, kind=SessionKind.BRANCH).id
            store.append(child, {"role": "user", "content": "on"})
            again = store.undo_continuation(root)
            assert [store.get_compression_tip(each) for each in (root, child, again)] == [again] * 3
            assert [store.get_compression_tip(each) for each in (helper, branch)] == [helper, branch]
            assert store.messages(again) == [*MESSAGES, {"role": "user", "content": "on"}]
            assert [each.id for each in store.chain(child)] == [root, again]
            assert [each.id for each in store.sessions(limit=5)] == [again, branch, child, helper, root]
        assert store.check() == []


@pytest.mark.parametrize("step", [step for step in STEPS if step < -0.5 or step > 60])
def test_no_lease_outlives_its_holder_whatever_the_clock_does(tmp_path: Path, step: float) -> None:
    """Somebody who died is not waited for much longer than a lease lasts."""
    now = [1_700_000_000.0]
    with open_store(tmp_path / "s.db", synchronous="NORMAL", clock=lambda: now[0]) as store:
        session = store.create_session().id
        dead = store.acquire_lease(session, "dead", seconds=45)
        now[0] += step
        assert _wait(lambda: store.acquire_lease(session, "heir"), now) <= 50
        with pytest.raises(midfold.MidfoldError):
            store.renew_lease(dead)


def _wait(acquire: Callable[[], object], now: list[float]) -> float:
    """Try every second of that clock; return how many it took."""
    for second in range(100):
        try:
            acquire()
        except midfold.MidfoldError:
            now[0] += 1
        else:
            return second
    return 100
