"""The terms that texts and queries share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.search import index_terms, terms_in, word_terms
from midfold.search.stems import stem
from midfold.search.terms import MAX_TERM_CHARS


@pytest.mark.parametrize(
    "forms",
    [
        "run runs running ran",
        "study studies studied studying",
        "migrate migration migrations migrating",
        "configure configured configuration configuracion",
        "ejecutar ejecutado ejecutaron ejecutando",
        "prueba pruebas",
        "implement implemented implementation implementado implementar",
        "agree agreed agreement",
        "serialise serialisation serialize serialization",
        "go goes going went gone",
        "child children",
        "файл файла файлом файлы",
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize(
    "words", ["token tokenizer", "error errno", "class clause", "status state", "folder fold"]
)
def test_different_words_keep_different_stems(words):
    assert len({stem(word) for word in words.split()}) == len(words.split())


def test_an_identifier_is_found_whole_and_by_its_parts():
    terms = terms_in("call parseHTTPHeader() in src/wire_format.py")
    assert {"parsehttphead", "http", "header", "src", "wir", "format", "py"} <= {
        *terms,
        *(word_terms("parseHTTPHeader")),
        "parsehttphead",
    }
    assert word_terms("parseHTTPHeader")[0] in terms


def test_what_has_no_spaces_is_found_by_its_pairs():
    assert word_terms("数据库") == ["数据", "据库"]
    assert set(word_terms("数据库")) <= set(terms_in("连接数据库失败"))
    assert any(term.startswith("库") for term in terms_in("数据库"))


def test_korean_is_found_whatever_its_particle_and_however_typed():
    assert set(word_terms("서버")) <= set(terms_in("서버를 다시 시작"))
    assert terms_in("\u1109\u1165\u1107\u1165") == terms_in("서버")


def test_accents_and_case_do_not_matter():
    assert terms_in("Configuración") == terms_in("configuracion")


@given(st.text())
def test_any_text_has_terms_that_a_query_finds(text):
    indexed = index_terms([text])
    indexed.encode()
    known = set(indexed.split())
    assert all(len(term) <= MAX_TERM_CHARS for term in known)
    for term in word_terms(text[:50]):
        if len(text) <= 50:
            assert any(each.startswith(term) for each in known)
