"""Stores without an index of words answer queries by the same rules as the index does."""

import pytest

from midfold.search.matching import matches, words_in
from midfold.search.query import read_query


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("the harbour meter", "meter harbour"),
        ("the harbour meter", '"harbour meter"'),
        ("the harbour meter", "harb*"),
        ("the harbour meter", "quay OR meter"),
        ("the harbour meter", "meter -quay"),
        ("The Harbour METER", "harbour meter"),
        ("un café noir", "cafe"),
        ("parse_quarkHeader fails", "quark"),
        ("重要的客户反馈", "客户"),
    ],
)
def test_what_a_query_asks_for_is_found(said, query):
    tree = read_query(query).tree
    assert tree is not None
    assert matches(tree, words_in([said]))


@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("the harbour meter", '"meter harbour"'),
        ("the harbour meter", "harb"),
        ("the harbour meter", "meter -harbour"),
        ("the harbour meter", "meter quay"),
        ("重要的客户反馈", "户客"),
        ("", "meter"),
    ],
)
def test_what_it_does_not_ask_for_is_not(said, query):
    tree = read_query(query).tree
    assert tree is not None
    assert not matches(tree, words_in([said]))


@pytest.mark.parametrize(
    ("query", "fits"),
    [
        ('"the tide"', True),
        ('"tide the"', True),
        ('"tide tide"', False),
        ('"the the tide tu*"', False),
        ("tu*", False),
    ],
)
def test_words_next_to_each_other_are_found_where_the_first_comes_several_times(query, fits):
    tree = read_query(query).tree
    assert tree is not None
    assert matches(tree, words_in(["The the tide, the tide"])) is fits
