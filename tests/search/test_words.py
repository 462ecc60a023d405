"""What a message is found by."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.search.words import (
    _COMMON_NOISE,
    MAX_INDEXED_CHARS,
    WORD,
    _plain_run,
    find_identifiers,
    index_words,
    segment,
    split_identifier,
)
from support.pace import is_linear


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("camelCase", "camel Case"),
        ("HTTPServer", "HTTP Server"),
        ("parseHTTPHeader2", "parse HTTP Header 2"),
        ("URLs", "URL s"),
        ("getUs", "get Us"),
        ("sha256", "sha 256"),
        ("utf8", "utf 8"),
        ("64bit", "64 bit"),
        ("JSON2CSV", "JSON 2 CSV"),
    ],
)
def test_an_identifier_is_found_by_its_parts(word, parts):
    assert split_identifier(word) == parts
    assert index_words([f"call {word}()"]) == f"call {word}()\n{parts}"


@pytest.mark.parametrize(
    "word", ["plain", "Capital", "SHOUTED", "42", "v2", "a1b2c3d4", "3f2a9bcd", "aB" * 40]
)
def test_what_has_no_parts_worth_naming_stays_whole(word):
    assert index_words([word]) == word


@given(st.text(st.sampled_from("aaabXYZ019 _/.-é→中\u0301")))
def test_identifiers_are_the_words_in_which_one_kind_of_character_follows_another(text):
    words = re.findall("[A-Za-z0-9]+", segment(text))
    changing = "[a-z][A-Z0-9]|[A-Z][0-9]|[0-9][A-Za-z]|[A-Z][A-Z][a-z]"
    assert find_identifiers(segment(text)) == list(
        dict.fromkeys(word for word in words if re.search(changing, word))
    )


def test_common_signs_are_taken_away_as_any_noise_is():
    for sign in _COMMON_NOISE:
        assert _plain_run(sign) == " "
        assert index_words([f"one{sign}two"]) == "one two"


def test_a_text_is_indexed_up_to_a_bound():
    assert index_words(["word", "x" * MAX_INDEXED_CHARS, "beyond"]) == "word\n" + "x" * (
        MAX_INDEXED_CHARS - 5
    )


def test_the_parts_of_an_identifier_are_named_once():
    assert index_words(["fooBar fooBar", "fooBar"]).count("foo Bar") == 1


def test_characters_of_scripts_without_spaces_are_words():
    assert segment("请用parseArgs函数").split() == ["请", "用", "parseArgs", "函", "数"]
    assert segment("ひらカナ 한글 ภาษา ລາວ").split() == list("ひらカナ한글ภาษาລາວ")


@pytest.mark.parametrize(
    ("typed", "usual"),
    [("ｆｕｌｌ", "full"), ("ﾊﾟｿ", "パ ソ"), ("か\u3099", "が"), ("\u1112\u1161\u11ab", "한")],
)
def test_a_word_is_the_same_however_it_was_typed(typed, usual):
    assert segment(typed).strip() == usual


@pytest.mark.parametrize("glued", ["done🫡now", "done\ue0b0now", "done\0now", "done\ud800now", "done…now"])
def test_what_is_no_letter_ends_a_word(glued):
    assert WORD.findall(index_words([glued])) == ["done", "now"]


@given(st.lists(st.text(st.characters())))
def test_any_text_can_be_stored(texts):
    assert "\0" not in index_words(texts)
    index_words(texts).encode()


@pytest.mark.parametrize(
    "piece", ["a", "aA", "aB cD ", "A1", "中", "か\u3099", "\u1112\u1161", "🫡", "\ud800"]
)
def test_time_grows_with_the_text_and_not_faster(piece):
    assert is_linear(lambda count: index_words([piece * count]), 80_000)
