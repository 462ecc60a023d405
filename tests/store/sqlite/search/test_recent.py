"""Prefixes are looked for among the newest messages first: the same is found, only sooner."""

import random
from unittest.mock import patch

import pytest

from midfold.search import read_query
from midfold.store.codec import DamagedRow, stored_texts
from midfold.store.sqlite.search import recent
from midfold.store.sqlite.search.conditions import MessageFilters
from midfold.store.sqlite.search.find import Coverage, find
from midfold.store.values import Order

WORDS = (
    *("compress", "compact", "count", "cache", "Ärger", "arm", "arc", "naïve", "安装依赖", "parseArgs"),
    *("src/midfold/wire.py", "HTTP2", "the", "of", "fold"),
)
QUERIES = (
    "co*",
    "comp*",
    "ca* OR fo*",
    "co* the",
    "co* -fold",
    "ar*",
    "na*",
    "pa*",
    "安*",
    '"of the" co*',
    "zz*",
)


def broken(_dialect, _body):
    raise DamagedRow("a stored message cannot be read")


def refused(_dialect, _body):
    raise AssertionError("nothing is read where the index is asked")


@pytest.fixture
def long_shelf(shelf):
    source = random.Random(3)
    for number in range(900):
        words = " ".join(source.choices(WORDS, k=source.randint(1, 9)))
        shelf.say(
            words,
            session=f"s{number % 3}",
            role=("user", "assistant")[number % 2],
            origin="copy" if number % 11 == 0 else "said",
        )
    return shelf


def page(shelf, text, *, texts=None, filters=MessageFilters(""), **options):  # noqa: B008 - it is frozen
    """Search with what reads texts of the newest messages; without, the index alone is asked."""
    name, stand_in = ("stored_texts", texts) if texts else ("_has_prefix", lambda *_: False)
    with patch.object(recent, name, stand_in):
        return find(shelf.connection, read_query(text), filters, **options)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    "filters",
    [
        MessageFilters(""),
        MessageFilters("", sessions=("s1",), role="user"),
        MessageFilters("", before=700),
        MessageFilters("other"),
    ],
    ids=["all", "one session", "before", "another tenant"],
)
def test_newest_first_finds_what_the_index_finds(long_shelf, query, filters):
    for offset in (0, 7):
        quick = page(long_shelf, query, texts=stored_texts, filters=filters, offset=offset)
        assert quick == page(long_shelf, query, filters=filters, offset=offset)


def test_a_prefix_is_answered_without_the_index(long_shelf):
    long_shelf.connection.execute("INSERT INTO message_words (message_words) VALUES ('delete-all')")
    assert page(long_shelf, "co*").rows == ()
    assert len(page(long_shelf, "co*", texts=stored_texts).rows) == 20


def test_the_best_of_a_short_prefix_are_those_of_the_newest_and_that_is_said(long_shelf):
    quick = page(long_shelf, "co*", texts=stored_texts, order=Order.RELEVANCE)
    assert quick.coverage is Coverage.NEWEST
    assert len(quick.rows) == 20
    assert min(row.id for row in quick.rows) > 400


@pytest.mark.parametrize("query", ["comp*", "the", "fold"])
def test_what_is_no_short_prefix_is_compared_by_the_index(long_shelf, query):
    best = page(long_shelf, query, texts=refused, order=Order.RELEVANCE)
    assert best == page(long_shelf, query, order=Order.RELEVANCE)


def test_words_are_left_to_the_index(long_shelf):
    assert page(long_shelf, "fold the", texts=refused) == page(long_shelf, "fold the")


@pytest.mark.parametrize("order", Order)
def test_where_the_newest_are_not_enough_the_index_is_asked(long_shelf, order):
    found = page(long_shelf, "co*", texts=stored_texts, order=order, limit=300)
    assert found == page(long_shelf, "co*", order=order, limit=300)


@pytest.mark.parametrize("order", Order)
def test_a_message_that_cannot_be_read_or_is_endless_leaves_it_to_the_index(long_shelf, order):
    long_shelf.say("compress " * 20_000)
    plain = page(long_shelf, "co*", order=order)
    assert page(long_shelf, "co*", texts=stored_texts, order=order) == plain
    assert page(long_shelf, "co*", texts=broken, order=order) == plain


def test_a_small_store_is_searched_as_a_whole(shelf):
    for number in range(40):
        shelf.say(f"compress {number}")
    assert page(shelf, "co*", texts=refused, order=Order.RELEVANCE).coverage is Coverage.WHOLE
