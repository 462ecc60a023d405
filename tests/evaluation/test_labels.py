"""Labels are read from files; a fault in one is told with its place."""

import json

import pytest

from midfold.errors import UnreadableTranscript
from midfold.evaluation import find_labels, read_labels
from midfold.provenance import Author

WHOLE = {
    "authors": [
        {"index": 0, "author": "person", "segments": [{"starts": "<env>", "author": "host"}]},
        {"index": 2, "author": "summary"},
    ],
    "rules": [{"index": 0, "text": "Never push.", "by": "person", "holds_at_end": False}],
    "not_rules": [{"index": 1, "text": "You must retry.", "why": "an error text"}],
    "facts": [{"index": 1, "question": "?", "answer": "7 tests", "category": "result", "importance": 3}],
    "stale": [{"question": "?", "current": "b", "current_index": 2, "outdated": "a", "outdated_index": 1}],
    "open_at_end": [{"index": 2, "text": "not merged", "evidence": "merge?"}],
    "closed": [{"index": 1, "text": "it failed", "evidence": "boom", "closed_index": 2}],
    "queries": [{"index": 1, "query": "how many tests"}],
}


@pytest.fixture
def write(tmp_path):
    def write(value):
        path = tmp_path / "labels.json"
        path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
        return path

    return write


def test_every_list_is_read(write):
    labels = read_labels(write(WHOLE), 3)
    assert labels.authors[0].segments[0].author is Author.HOST
    assert labels.authors[2].author is Author.SUMMARY
    assert not labels.rules[0].holds_at_end
    assert labels.non_rules[0].why == "an error text"
    assert labels.facts[0].importance == 3
    assert labels.changes[0].outdated == "a"
    assert labels.open[0].evidence == "merge?"
    assert labels.closed[0].closed_index == 2
    assert labels.queries[0].query == "how many tests"


def test_lists_that_are_not_there_are_empty(write):
    assert read_labels(write({}), 1).rules == ()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("no json", "no labels can be read"),
        ([], "it is no object"),
        ({"rules": {}}, "it has no list 'rules'"),
        ({"rules": [{"index": 0, "by": "person"}]}, "rules[0] has no text 'text'"),
        ({"rules": [{"index": 0, "text": "x", "by": "nobody"}]}, "rules[0] names an unknown author"),
        ({"queries": [{"index": 3, "query": "x"}]}, "queries[0] names message 3, and there are 3"),
        ({"facts": [{"index": -1, "answer": "x", "importance": 1}]}, "facts[0] has no number 'index'"),
    ],
)
def test_a_fault_is_told_with_its_place(write, value, told):
    with pytest.raises(UnreadableTranscript) as caught:
        read_labels(write(value), 3)
    assert told in caught.value.reason


def test_labels_lie_beside_the_folder_of_the_transcript_or_where_it_is_said(tmp_path):
    for folder in ("corpus", "gold", "other"):
        (tmp_path / folder).mkdir()
    transcript = tmp_path / "corpus" / "talk.json.gz"
    assert find_labels(transcript, "talk") is None
    (tmp_path / "gold" / "talk.json").write_text("{}")
    assert find_labels(transcript, "talk") == tmp_path / "gold" / "talk.json"
    assert find_labels(transcript, "talk", tmp_path / "other") is None
