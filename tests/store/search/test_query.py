"""What people type, the tree that it is, and what the database is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.store.search.query import (
    MAX_QUERY_CHARS,
    MAX_QUERY_WORDS,
    AllOf,
    AnyOf,
    Phrase,
    Term,
    Without,
    read_query,
)
from midfold.store.sqlite.search.conditions import to_match


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("login error", '("login" AND "error")'),
        ("login AND error", '("login" AND "error")'),
        ('"connection reset"', '"connection reset"'),
        ("comp*", '"comp" *'),
        ("fold OR prune", '("fold" OR "prune")'),
        ("error -timeout", '("error" NOT "timeout")'),
        ("error NOT timeout", '("error" NOT "timeout")'),
        ("-timeout error", '("error" NOT "timeout")'),
        ('error -"read timeout"', '("error" NOT "read timeout")'),
        ("error -(a OR b)", '("error" NOT ("a" OR "b"))'),
        ("(fold OR prune) cache", '(("fold" OR "prune") AND "cache")'),
        ("a OR b c", '("a" OR ("b" AND "c"))'),
        ("userName", '("userName" OR "user Name")'),
        ("getUs*", '("getUs" * OR "get Us" *)'),
        ("src/midfold/wire.py", '"src/midfold/wire.py"'),
        ("安装", '"安 装"'),
        ("same same", '"same"'),
    ],
)
def test_the_language(text, match):
    assert to_match(read_query(text).tree) == match


def test_a_query_is_a_tree():
    tree = read_query("(fold OR prun*) -cache").tree
    assert tree == Without(AnyOf((Phrase("fold"), Phrase("prun", is_prefix=True))), Phrase("cache"))
    assert read_query("login error").tree == AllOf((Phrase("login"), Phrase("error")))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("AND", '"AND"'),
        ("OR error", '("OR" AND "error")'),
        ("error OR", '("error" AND "OR")'),
        ("NOT error", '("NOT" AND "error")'),
        ("-error", '"error"'),
        ("and or not", '("and" AND "or" AND "not")'),
        ("NEAR(a b, 5)", '("NEAR(a" AND "b," AND "5)")'),
        ("words:error", '"words:error"'),
        ("^error", '"^error"'),
        ("f(x)", '"f(x)"'),
        ("((error", '"error"'),
        ("error))", '"error))"'),
        ('"error', '"error"'),
        ('say "" error', '("say" AND "error")'),
        ("a*", '"a*"'),
        ("a NOT -b", '("a" NOT "b")'),
    ],
)
def test_what_does_not_fit_is_a_word_to_look_for(text, match):
    assert to_match(read_query(text).tree) == match


@pytest.mark.parametrize(
    "text", ["", "   ", "!!!", '"', '""', "()", "(" * 900, "- -", "*", "\0", "\ud800", "🫡"]
)
def test_a_text_without_words_asks_for_nothing(text):
    assert read_query(text).tree is None


def test_a_long_text_is_cut_and_says_so():
    query = read_query("x" * 2_000)
    assert query.is_cut
    assert query.tree == Phrase("x" * MAX_QUERY_CHARS, is_prefix=True)
    many = read_query(" ".join(f"w{number}" for number in range(40)))
    assert many.is_cut
    assert len(many.terms) == MAX_QUERY_WORDS
    assert read_query("安" * 50).terms == (Term(("安",) * MAX_QUERY_WORDS, is_prefix=False),)
    assert not read_query("short").is_cut


def test_what_a_hit_cannot_show_is_no_term():
    assert read_query("error -timeout").terms == (Term(("error",), is_prefix=False),)


@given(st.text(st.sampled_from('ab安"*()- :^{}+,.AND\0\ud800ORNT')) | st.text(st.characters()))
def test_no_text_is_an_error_and_all_of_it_is_quoted(text):
    match = to_match(read_query(text).tree)
    match.encode()
    bare = "".join(match.split('"')[::2])
    assert set(bare) <= set("() *ANDORT")
    assert sum(len(term.words) for term in read_query(text).terms) <= 9 * MAX_QUERY_WORDS
