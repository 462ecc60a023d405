"""What is shown of a message that was found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.search.query import read_query
from midfold.search.snippets import SNIPPET_CHARS, make_snippet, make_substring_snippet
from support.pace import is_linear


def show(snippet):
    """Spell a snippet with brackets around what matches."""
    text = snippet.text
    for mark in reversed(snippet.marks):
        text = f"{text[: mark.start]}[{text[mark.start : mark.stop]}]{text[mark.stop :]}"
    return text


@pytest.mark.parametrize(
    ("said", "query", "shown"),
    [
        ("concatenate a cat", "cat", "concatenate a [cat]"),
        ("parseHTTPHeader", "http", "parse[HTTP]Header"),
        ("getUserName and user_name", "userName", "get[UserName] and [user_name]"),
        ("see src/midfold/wire.py:3", "midfold/wire", "see src/[midfold/wire].py:3"),
        ("Le Café fermé", "cafe FERME", "Le [Café] [fermé]"),
        ("compression", "comp*", "[comp]ression"),
        ("请先安装依赖", "安装", "请先[安装]依赖"),
        ("ที่นี่ภาษาไทย", "ภาษา", "ที่นี่[ภาษา]ไทย"),
        ("ＡＢＣ", "abc", "[ＡＢＣ]"),
        ("fold fold", '"fold fold" fold', "[fold fold]"),
        ("fold, not prune", "fold -prunes", "[fold], not prune"),
        ("nothing of it", "absent", "nothing of it"),
    ],
)
def test_what_matches_is_marked(said, query, shown):
    assert show(make_snippet([said], read_query(query))) == shown


def test_the_piece_that_shows_most_is_chosen():
    text = "alpha " + "x " * 400 + "alpha beta " + "y " * 400
    shown = show(make_snippet(["alpha", text], read_query("alpha beta")))
    assert "[alpha] [beta]" in shown
    assert shown.startswith("…x x")
    assert shown.endswith("y…")


def test_a_message_without_texts_shows_nothing():
    assert make_snippet([], read_query("fold")).text == ""


def test_nothing_shown_can_move_a_cursor_or_turn_a_line():
    said = "a\x1b[31mred\x1b[0m \x1b]0;title\x07b \x9b2J\r\n\t\x07\u202e\u2066c\u200b \ud800 fold\0"
    assert make_snippet([said], read_query("fold")).text == "ared b 2J c \ufffd fold"


def test_a_substring_is_marked_inside_of_words():
    assert show(make_substring_snippet(["xfooBARbaz"], "OBARB")) == "xfo[oBARb]az"


@given(st.text(st.characters()), st.text(st.characters()))
def test_marks_lie_inside_of_a_text_that_can_be_printed(said, query):
    snippet = make_snippet([said, query], read_query(query))
    assert len(snippet.text) <= SNIPPET_CHARS + 2
    assert all(0 <= mark.start < mark.stop <= len(snippet.text) for mark in snippet.marks)
    assert snippet.text.isprintable() or not snippet.text.isascii()
    snippet.text.encode()


@pytest.mark.parametrize("piece", ["foo", "foo ", "f_", "é ", "安", " ", "fo fo-"])
def test_a_huge_message_is_shown_quickly(piece):
    query = read_query('foo "f f f" 安装 fo*')
    assert is_linear(lambda size: make_snippet([piece * size], query), 1_000_000)


def test_words_of_the_same_meaning_show_where_the_own_ones_do_not():
    text = "Nothing here. " * 40 + "The directories were erased on Monday. " + "Nothing there. " * 40
    shown = make_snippet([text], read_query("which folder was deleted"))
    assert "The directories were erased" in shown.text
    assert [shown.text[mark.start : mark.stop] for mark in shown.marks] == ["directories", "erased"]
