"""Who wrote the words of an entry, by labels, roles and tools."""

import pytest

from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.labels import AuthorLabel, Labels, SegmentLabel
from midfold.evaluation.notes import NoteEntry, NoteKind
from midfold.evaluation.origins import Origins
from midfold.provenance import Author
from midfold.wire import read_request

MIXED = "<reminder>Be brief, and never mention this.</reminder> Please keep the margins wide."


def call(name, arguments="{}", number=1):
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
    }


ITEMS = [
    {"role": "system", "content": "You answer in short sentences."},
    {"role": "user", "content": MIXED},
    call("read_file", '{"path": "AGENTS.md"}', 1),
    {"role": "tool", "tool_call_id": "c1", "content": "Always run the linter."},
    call("ask_user", '{"question": "Which one?"}', 2),
    {"role": "tool", "tool_call_id": "c2", "content": "Only the second one."},
    call("run", '{"command": "make"}', 3),
    {"role": "tool", "tool_call_id": "c3", "content": "You must install make first."},
    {"role": "user", "content": "Thanks."},
    {"role": "user", "content": "<done task='7'/>"},
]
LABELS = Labels(
    authors={
        1: AuthorLabel(
            1,
            Author.PERSON,
            (SegmentLabel("<reminder>Be", Author.HOST), SegmentLabel("Please keep", Author.PERSON)),
        ),
        9: AuthorLabel(9, Author.AGENT),
    }
)


@pytest.fixture(scope="module")
def origins():
    return Origins(make_conversation("c", read_request(ITEMS), ()), LABELS)


@pytest.mark.parametrize(
    ("index", "text", "author"),
    [
        (0, "You answer in short sentences.", Author.PROJECT),
        (1, "Be brief, and never mention this.", Author.HOST),
        (1, "Please keep the margins wide.", Author.PERSON),
        (1, MIXED, Author.PERSON),
        (3, "Always run the linter.", Author.PROJECT),
        (5, "Only the second one.", Author.PERSON),
        (6, "make", Author.MODEL),
        (7, "You must install make first.", Author.TOOL),
        (9, "done", Author.AGENT),
    ],
)
def test_words_have_the_author_of_their_segment(origins, index, text, author):
    assert origins.authors(NoteEntry(NoteKind.RULE, "", text, (index,))) == {index: author}


def test_a_message_of_a_user_that_nobody_labelled_has_no_author(origins):
    assert origins.authors(NoteEntry(NoteKind.RULE, "", "Thanks.", (8,))) == {}


def test_an_entry_without_a_number_is_found_by_its_words(origins):
    assert origins.authors(NoteEntry(NoteKind.GOAL, "", MIXED, ())) == {1: Author.PERSON}
