"""What a query says about the message that is looked for, beside its words."""

import pytest

from midfold.search import Document, SearchIndex
from midfold.search.query_hints import Ordinal, find_author, find_ordinal


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("which colour does the user want", "user"),
        ("where the report goes according to the customer", "user"),
        ("用户对日志的要求", "user"),
        ("what the user told the assistant about tariffs", "user"),
        ("the explanation that was sent to the user", "assistant"),
        ("qué se le dijo al usuario", "assistant"),
        ("给用户的说明", "assistant"),
        ("ユーザーに送った説明", "assistant"),
        ("사용자에게 보낸 설명", "assistant"),
        ("the assistant asks for the number of the user", "assistant"),
        ("tariff of the night", ""),
    ],
)
def test_a_query_may_say_who_spoke(query, role):
    assert find_author(query) == role


@pytest.mark.parametrize(
    ("query", "ordinal"),
    [
        ("first run of the checks", Ordinal.EARLY),
        ("最初のビルド", Ordinal.EARLY),
        ("último resultado de las pruebas", Ordinal.LATE),
        ("最后一次测试", Ordinal.LATE),
        ("마지막 배포", Ordinal.LATE),
        ("the first and the last run", Ordinal.ANY),
        ("a firsthand lasting report", Ordinal.ANY),
    ],
)
def test_a_query_may_say_which_of_several_is_meant(query, ordinal):
    assert find_ordinal(query) is ordinal


BETWEEN = Document(("The sea is calm, and nobody is at the pier.",), "assistant")


@pytest.mark.parametrize(("asked", "best"), [("first", 1), ("last", 7)])
def test_of_several_that_say_the_same_the_one_that_is_meant_comes_first(asked, best):
    said = [
        f"The {zone} meters were checked, and a tray was bent." for zone in ("north", "east", "west", "south")
    ]
    index = SearchIndex(
        [BETWEEN, *(each for text in said for each in (Document((text,), "assistant"), BETWEEN))]
    )
    assert index.search(f"{asked} time the meters were checked", 1)[0].number == best


def test_what_was_told_to_the_person_is_not_what_the_person_said():
    words = ("The harbour meters lose coins.",)
    index = SearchIndex(
        [BETWEEN, Document(words, "user"), BETWEEN, BETWEEN, Document(words, "assistant"), BETWEEN]
    )
    told = index.search("explanation to the user about the harbour meters and their coins", 1)
    said = index.search("what the user said about harbour meters and coins", 1)
    assert (told[0].number, said[0].number) == (4, 1)
