"""The one loop that repeats calls, with a clock and dice of our own."""

import asyncio
from collections.abc import Callable
from itertools import repeat

import pytest

from midfold.errors import ProviderUnavailable, RateLimited
from midfold.providers import Retries
from midfold.providers.failures import read_retry_after
from midfold.providers.retry import CallFailed


def unavailable(*, may_pass: bool = True, retry_after: float | None = None) -> CallFailed:
    return CallFailed(ProviderUnavailable("down", retry_after=retry_after), may_pass=may_pass)


def run(failures, *, dice: Callable[[float, float], float] = max, **options) -> list[float]:
    """Run the loop over failures, then success; return the waits."""
    waits: list[float] = []
    left = iter(failures)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def call() -> str:
        failure = next(left, None)
        if failure:
            raise failure
        return "done"

    assert asyncio.run(Retries(sleep=sleep, uniform=dice, **options).run(call)) == "done"
    return waits


def test_success_waits_for_nothing():
    assert run([]) == []


def test_waits_double():
    assert run([unavailable()] * 3) == [0.5, 1.0, 2.0]


def test_waits_are_spread():
    assert run([unavailable()] * 3, dice=min) == [0.25, 0.5, 1.0]


def test_waits_are_bounded():
    assert run([unavailable()] * 3, longest_wait_seconds=0.75) == [0.5, 0.75, 0.75]


@pytest.mark.parametrize(("dice", "seconds"), [(min, 10.0), (max, 11.0)])
def test_provider_that_says_how_long_is_never_asked_earlier(dice, seconds):
    assert run([unavailable(retry_after=10)], dice=dice) == pytest.approx([seconds])


def test_zero_seconds_are_an_answer_too():
    assert run([unavailable(retry_after=0)]) == [0.0]


@pytest.mark.parametrize(
    "failures",
    [
        repeat(unavailable(), 4),
        [unavailable(may_pass=False)],
        [unavailable(retry_after=61)],
        [unavailable(), unavailable(may_pass=False)],
    ],
)
def test_last_error_is_raised_where_no_further_call_helps(failures):
    with pytest.raises(ProviderUnavailable, match="down"):
        run(failures)


def test_error_keeps_what_the_provider_asked_for():
    failure = CallFailed(RateLimited("slow down", retry_after=900), may_pass=True)
    with pytest.raises(RateLimited) as caught:
        run([failure])
    assert caught.value.retry_after == 900


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("12", 12.0),
        (" 1.5 ", 1.5),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Foo 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2026 07:29:00 GMT", 60.0),
        ("Wednesday, 21-Oct-26 07:29:00 GMT", 60.0),
        ("Wed, 21 Oct 2026 07:29:00", 60.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value, seconds):
    assert read_retry_after({"Retry-After": value, "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}) == seconds


def test_milliseconds_are_more_exact_and_come_first():
    assert read_retry_after({"retry-after-ms": "1250", "Retry-After": "2"}) == 1.25


def test_nothing_asked_is_nothing():
    assert read_retry_after({}) is None
