"""Notes are read as a reader takes them: headings, bullets, numbers of messages."""

import pytest

from midfold.evaluation.notes import NoteKind, name_kind, read_notes, read_references

NOTES = """The frame of the notes.
<<<NOTES 1a2b>>>
## Active Task
Make the list shorter:
- without the blue one
- without the red one

## Constraints & Preferences
- [0] Never push.
- [4, 6] Write German.

## Pending User Asks
- [8] Please look at this list:
- first
- second [sic]
- [9] And at this one.

## Completed Actions
- bash [3]: make · values[0] is 7
- src/a.py (changed): edit [5-7]

## Folded Messages
- 1–9 ([n] names message n)
<<<END NOTES 1a2b>>>
"""


def entries(kind, notes=NOTES):
    return [entry for entry in read_notes(notes, 20) if entry.kind is kind]


def test_an_entry_has_its_words_and_the_messages_that_it_names():
    first, second = entries(NoteKind.RULE)
    assert (first.text, first.references) == ("Never push.", (0,))
    assert (second.text, second.references) == ("Write German.", (4, 6))


def test_bullets_inside_a_quoted_message_begin_no_entry():
    first, second = entries(NoteKind.PENDING)
    assert first.text.endswith("- second [sic]")
    assert second.references == (9,)


def test_a_section_that_begins_without_a_bullet_is_one_entry():
    [task] = entries(NoteKind.GOAL)
    assert task.text.endswith("without the red one")


def test_numbers_may_stand_anywhere_in_an_entry_but_an_index_of_a_program_is_none():
    assert [entry.references for entry in entries(NoteKind.OTHER)] == [(3,), (5, 6, 7)]


def test_the_frame_and_the_list_of_folded_messages_are_no_entries():
    assert entries(NoteKind.APPARATUS) == []
    assert all("frame" not in entry.text for entry in read_notes(NOTES, 20))


def test_a_third_level_is_a_section_only_under_a_name_that_says_what_it_claims():
    notes = "## Progress\n### Done\n- [1] a\n### Blocked\n- [2] b\n### Phase 1\n- [3] c"
    assert [entry.kind for entry in read_notes(notes, 9)] == [
        NoteKind.OTHER,
        NoteKind.BLOCKED,
        NoteKind.BLOCKED,
    ]


def test_brackets_with_a_number_that_no_message_has_name_none():
    assert read_references("the range is [1, 8192]", 100) == ()


def test_a_word_on_the_author_may_stand_beside_the_number():
    assert read_references("- [12 project] Run the linter.", 20) == (12,)


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Rules", NoteKind.RULE),
        ("Blocked", NoteKind.BLOCKED),
        ("Pending Questions", NoteKind.PENDING),
        ("Task Context", NoteKind.GOAL),
        ("Remaining Work", NoteKind.OPEN),
        ("Key Decisions", NoteKind.OTHER),
    ],
)
def test_a_heading_is_read_by_its_words(heading, kind):
    assert name_kind(heading) is kind
