"""Messages that say when something happens, in several languages."""

import pytest

from midfold.search import Document, SearchIndex
from midfold.search.terms import terms_in
from midfold.search.time_words import says_when


@pytest.mark.parametrize(
    "text",
    [
        "We leave on Friday.",
        "la reunión es mañana",
        "am Dienstag",
        "à partir de février",
        "во вторник",
        "昨天到的",
        "来週です",
        "released in 2024",
        "3月15日",
        "어제는 쉬었다",
    ],
)
def test_a_word_for_a_time_is_known_by_its_terms(text):
    assert says_when(frozenset(terms_in(text)))


def test_other_words_name_no_time():
    assert not says_when(frozenset(terms_in("You may run the tests; they march on.")))


def test_a_question_for_a_time_prefers_the_message_that_has_one():
    said = [
        "The parcel with the red lamp comes on Tuesday.",
        "Wonderful.",
        "Shall we eat?",
        "The parcel with the red lamp comes by truck.",
    ]
    index = SearchIndex(Document((text,), role="user") for text in said)
    assert index.search("When does the parcel with the lamp come?")[0].number == 0
    assert index.search("Does the parcel with the lamp come?")[0].number == 3
