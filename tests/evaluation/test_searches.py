"""How often a search finds what was asked for, beside a plain index."""

import json
from pathlib import Path

import pytest

from midfold.errors import UnreadableTranscript
from midfold.evaluation import find_misses, read_gates, score_locomo, summarize, summarize_studies
from midfold.evaluation.search_baseline import search_plainly

CHAT = {
    "conversation": {
        "speaker_a": "Ana",
        "session_2_date_time": "later",
        "session_2": [{"speaker": "Ben", "dia_id": "D2:1", "text": "My sister adopted a puppy."}],
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I went to the harbour yesterday."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "I stayed at home."},
        ],
    },
    "qa": [
        {"question": "When did Ana go to the harbour?", "evidence": ["D1:1"], "category": 2},
        {"question": "Whose dog is it?", "evidence": ["D2:1; D1:9"], "category": 1},
        {"question": "What was never said?", "evidence": [], "category": 5},
    ],
}


@pytest.fixture
def locomo(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([CHAT]), "utf-8")
    return path


def test_questions_of_a_chat_are_asked_of_both(locomo):
    [score] = score_locomo(locomo)
    assert (score.found.kept, score.found.asked) == (2, 2)
    assert score.plainly.asked == 2
    assert score.missed == ()


@pytest.mark.parametrize("text", ["", "[1]", '[{"qa": []}]', '[{"conversation": [], "qa": []}]'])
def test_what_is_no_locomo_file_is_said_in_a_line(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text, "utf-8")
    with pytest.raises(UnreadableTranscript, match="no LoCoMo file"):
        score_locomo(path)


def test_a_gate_fails_where_the_plain_index_is_better(locomo):
    studies = summarize_studies(searches=score_locomo(locomo))
    report = summarize([], [], [])
    assert find_misses(read_gates(["search=0.9", "search_lead=0"]), report, studies) == []
    [miss] = find_misses(read_gates(["search_lead=0.9"]), report, studies)
    assert "search_lead" in str(miss)


def test_the_plain_index_takes_any_word_and_the_best_first():
    texts = ["the harbour", "the harbour meters", "nothing", "\ud800"]
    assert search_plainly(texts, ["harbour meter", "?!"], 5) == [[1, 0], []]


# In two_cities hardly a question has a word of its answer.
@pytest.mark.parametrize(("chat", "least", "lead"), [("two_friends.json", 34, 8), ("two_cities.json", 12, 6)])
def test_questions_about_a_chat_of_two_friends_are_answered_better_than_by_a_plain_index(chat, least, lead):
    [score] = score_locomo(Path(__file__).with_name(chat))

    assert score.found.asked == 48
    assert score.found.kept >= least
    assert score.found.kept >= score.plainly.kept + lead


def test_questions_in_other_languages_are_answered_better_than_by_a_plain_index():
    scores = score_locomo(Path(__file__).with_name("five_languages.json"))

    assert [score.found.asked for score in scores] == [8] * 5
    assert sum(score.found.kept for score in scores) >= 18
    assert sum(score.plainly.kept for score in scores) <= 10
