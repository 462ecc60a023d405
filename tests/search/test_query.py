"""What people type, the tree that it is, and what the database is asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.search.query import (
    MAX_QUERY_CHARS,
    MAX_QUERY_WORDS,
    STOP_WEIGHT,
    AllOf,
    AnyOf,
    Phrase,
    Term,
    Without,
    read_query,
)


def show(node):
    """Write a tree down."""
    match node:
        case None:
            return ""
        case Phrase(text, is_prefix, is_exact):
            return f"'{text}'" if is_exact else f'"{text}"{" *" if is_prefix else ""}'
        case AllOf(parts):
            return f"({' AND '.join(map(show, parts))})"
        case AnyOf(parts):
            return f"({' OR '.join(map(show, parts))})"
        case Without(wanted, unwanted):
            return f"({show(wanted)} NOT {show(unwanted)})"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("login error", '("login" AND "error")'),
        ("login AND error", '("login" AND "error")'),
        ('"connection reset"', "'connection reset'"),
        ("comp*", '"comp" *'),
        ("fold OR prune", '("fold" OR "prune")'),
        ("error -timeout", '("error" NOT "timeout")'),
        ("error NOT timeout", '("error" NOT "timeout")'),
        ("-timeout error", '("error" NOT "timeout")'),
        ('error -"read timeout"', "(\"error\" NOT 'read timeout')"),
        ("error -(a OR b)", '("error" NOT ("a" OR "b"))'),
        ("(fold OR prune) cache", '(("fold" OR "prune") AND "cache")'),
        ("a OR b c", '("a" OR ("b" AND "c"))'),
        ("userName", '("userName" OR "user Name")'),
        ("getUs*", '("getUs" * OR "get Us" *)'),
        ("src/midfold/wire.py", '"src/midfold/wire.py"'),
        ("安装", '"安装"'),
        ("same same", '"same"'),
    ],
)
def test_the_language(text, match):
    assert show(read_query(text).tree) == match


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
    assert show(read_query(text).tree) == match


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
    assert read_query("安" * 50).terms[0] == Term(("安",) * MAX_QUERY_WORDS)
    assert not read_query("short").is_cut


def test_what_a_hit_cannot_show_is_no_term():
    assert read_query("error -timeout").terms == (Term(("error",), stem="error"),)


@pytest.mark.parametrize(
    ("text", "loose"),
    [
        ("why did login fail", '("why" OR "did" OR "login" OR "fail")'),
        ('"connection reset" nginx', "'connection reset'"),
        ("login AND error nginx", '("login" AND "error")'),
        ("login error -timeout", '(("login" OR "error") NOT "timeout")'),
        ("fold OR prune", '("fold" OR "prune")'),
        ("(fold OR prune) cache", '("fold" OR "prune")'),
    ],
)
def test_words_are_wished_for_unless_they_are_required(text, loose):
    assert show(read_query(text).loose) == loose


def test_words_that_only_ask_count_little():
    keys = {key.term: key.weight for key in read_query("why did login fail").keys}
    assert keys["why"] == STOP_WEIGHT
    assert keys["login"] == 1.0


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [("a b", True), ('"a b"', False), ("a -b", False), ("ab*", False), ("a OR b", False), ("OR b", True)],
)
def test_a_question_requires_nothing(text, is_plain):
    assert read_query(text).is_plain is is_plain


@given(st.text(st.sampled_from('ab安"*()- :^{}+,.AND\0\ud800ORNT')) | st.text(st.characters()))
def test_no_text_is_an_error_and_all_of_it_can_be_stored(text):
    query = read_query(text)
    show(query.tree).encode()
    "".join(key.term for key in query.keys).encode()
    assert (query.tree is None) == (query.loose is None) == (not query.keys)
    assert sum(len(term.words) for term in query.terms) <= 18 * MAX_QUERY_WORDS
