"""Times and sizes, as people write and read them."""

import time
from decimal import Decimal

import click
import pytest

from midfold.cli.options import read_moment, read_size
from midfold.cli.render.format import format_dollars, format_size, format_time

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("2h", 7_200), ("7d", 604_800), ("1w", 604_800)]
)
def test_an_age_is_so_long_ago(text, seconds):
    assert abs(time.time() - seconds - read_moment(text)) < 5


@pytest.mark.parametrize(
    ("text", "moment"),
    [("2026-01-02T03:04:05Z", 1_767_323_045), ("2026-01-02T03:04:05+02:00", 1_767_315_845)],
)
def test_a_date_may_name_its_zone(text, moment):
    assert read_moment(text) == moment


def test_a_bare_date_is_local():
    assert time.localtime(read_moment("2026-01-02"))[:5] == (2026, 1, 2, 0, 0)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4_096),
        ("0", 0),
        ("5 B", 5),
        ("2KB", 2_000),
        ("2kib", 2_048),
        ("1GB", 10**9),
        ("3T", 3 * 10**12),
    ],
)
def test_a_size_has_a_unit_or_is_bytes(text, size):
    assert read_size(text) == size


@pytest.mark.parametrize("text", ["", "1.5GB", "GB", "-1", "1PB", "9" * 30])
def test_what_is_no_size_is_bad_usage(text):
    with pytest.raises(click.BadParameter):
        read_size(text)


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (5, "just now"),
        (61, "1 min ago"),
        (7_300, "2 h ago"),
        (3 * 86_400, "3 d ago"),
        (20 * 86_400, "2026-12-2"),
    ],
)
def test_what_is_near_is_told_as_an_age(age, told):
    assert format_time(NOW - age, NOW).startswith(told)


def test_what_is_yet_to_come_is_told_as_a_date():
    assert format_time(NOW + 100 * 86_400, NOW).startswith("2027-04")
    assert format_time(1e300, NOW) == "unknown"


@pytest.mark.parametrize(
    ("count", "told"),
    [(0, "0 bytes"), (999, "999 bytes"), (4_100, "4.1 KB"), (33_000_000, "33 MB"), (5e15, "5000 TB")],
)
def test_sizes_are_told_in_three_digits(count, told):
    assert format_size(count) == told


def test_yesterday_is_a_time():
    midnight = time.mktime((*time.localtime()[:3], 0, 0, 0, 0, 0, -1))
    assert read_moment("today") == midnight
    assert 23 * 3_600 <= midnight - read_moment("Yesterday") <= 25 * 3_600


def test_a_price_too_small_to_show_is_not_nothing():
    assert format_dollars(Decimal("0.000012")) == "<$0.0001"
    assert format_dollars(Decimal("0")) == "$0.00"
    assert format_dollars(Decimal("0.00011")) == "$0.0001"
