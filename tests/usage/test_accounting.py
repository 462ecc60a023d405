"""Sums equal what was recorded, whatever died in between and however often it was tried again."""

import json
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.store import open_store
from midfold.tokens import CanonicalUsage
from midfold.usage import add_up, count_calls, make_bill, make_call

WORKER = Path(__file__).with_name("accounting_worker.py")
POINTS = ("store.begin.after", "store.commit.before", "store.commit.after")

TOKENS = st.integers(0, 200_000)
REPORT = st.fixed_dictionaries(
    {
        "input_tokens": TOKENS,
        "output_tokens": TOKENS,
        "cache_read_input_tokens": TOKENS,
        "cache_creation_input_tokens": TOKENS,
    }
)


class Workers:
    """Records calls in processes that die."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def record(self, job: dict[str, Any]) -> list[str]:
        """Return the ids that were promised before the worker ended."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        promised = []
        while (line := self._process.stdout.readline().strip()) != "ended":
            assert line, "the nursery died"
            promised.append(line)
        return promised

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    started = Workers()
    yield started
    started.close()


@pytest.mark.slow
@settings(max_examples=10)
@given(
    reports=st.lists(REPORT, min_size=1, max_size=8),
    deaths=st.lists(st.tuples(st.sampled_from(POINTS), st.integers(1, 6)), max_size=4),
    repeated=st.integers(0, 8),
)
def test_sums_equal_the_recorded_usages_after_kills_and_retries(
    workers: Workers, reports: list[dict[str, int]], deaths: list[tuple[str, int]], repeated: int
) -> None:
    """Invariant 38: a worker is killed between recording and telling so, and another tries again."""
    calls = {f"call-{number}": report for number, report in enumerate(reports)}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sessions.db"
        with open_store(path, synchronous="NORMAL") as store:
            session = store.create_session(source="chat").id
        promised: set[str] = set()
        for fault in [*(f"{point}:kill:{nth}" for point, nth in deaths), None]:
            waiting = [call_id for call_id in calls if call_id not in promised]
            again = [*list(calls)[:repeated], *waiting]
            job = {
                "store": str(path),
                "session": session,
                "calls": [[call_id, calls[call_id]] for call_id in again],
                "fault": fault,
            }
            promised |= set(workers.record(job))
        assert promised == set(calls)
        with open_store(path, synchronous="NORMAL") as store:
            made = [make_call(report, "claude-sonnet-4-5") for report in reports]
            total = reduce(add, [call.usage for call in made])
            assert store.usage() == store.usage(session) == total
            recorded = store.calls(session)
            assert sorted(call.id or "" for call in recorded) == sorted(calls)
            assert make_bill(recorded) == make_bill(made)
            assert add_up(count_calls(recorded)).usage == total


@given(
    st.lists(st.tuples(REPORT, st.sampled_from(["claude-sonnet-4-5", "gpt-5-mini", "nobody-s"])), max_size=12)
)
def test_no_call_is_lost_or_doubled_by_adding_up(reported: list[tuple[dict[str, int], str]]) -> None:
    calls = [make_call(report, model) for report, model in reported]
    totals = add_up(count_calls(calls))
    assert totals.calls == len(calls)
    assert totals.usage == reduce(add, [call.usage for call in calls], CanonicalUsage())
    bill = totals.bill
    assert bill.reported + bill.computed + bill.partial + bill.unknown == len(calls)
    known = [call.cost for call in calls if call.cost is not None]
    assert bill.dollars == (sum(known, Decimal(0)) if known else None)
