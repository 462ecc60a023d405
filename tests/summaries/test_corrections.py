"""Corrections of notes: written into the summary, read back, and obeyed by the next fold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold import compress, notes
from midfold.errors import ConfigError, NoteNotFound
from midfold.summaries import NoteChange, read_notes
from midfold.summaries.corrections import (
    Correction,
    CorrectionKind,
    Corrections,
    read_corrections,
    write_corrections,
)

BODY = """## Active Task
Ship it.

## Goal
- [4] Mind the meters. Never touch config/prod.yaml.

## Constraints & Preferences
- [4] Never touch config/prod.yaml.
- [pinned] Answer in English.

## Completed Actions
- [7, 9] bash: pytest -q · [8] 2 failed
- [11] bash: pytest -q tests

## Active State
- src/app.py (changed): edit [12, 14] · [13] ok

## Folded Messages
3–14 ([n] names message n)"""
ONE_LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=40)


def texts(body):
    return {note.number: note.text for note in read_notes(body)}


def test_notes_are_the_entries_with_the_messages_they_name():
    assert [(note.number, note.sources) for note in read_notes(BODY)] == [
        (1, (4,)),
        (2, (4,)),
        (3, ()),
        (4, (7, 9, 8)),
        (5, (11,)),
        (6, (13, 12, 14)),
    ]


def test_a_struck_command_leaves_another_that_begins_like_it():
    body = NoteChange.strike(4).apply(BODY, at=20)
    assert texts(body)[5] == "[11] bash: pytest -q tests"
    assert "- [20] struck (note 4): bash: pytest -q\n" in body


def test_a_struck_rule_is_hidden_in_the_message_it_was_quoted_from():
    body = NoteChange.strike(2).apply(BODY, at=20)
    assert texts(body)[1] == "[4] Mind the meters. [struck by the user]"


def test_a_note_that_was_added_and_struck_leaves_nothing_behind():
    assert NoteChange.strike(7).apply(NoteChange.add("Mind the gap.").apply(BODY, at=20), at=21) == BODY


def test_a_struck_note_can_be_given_new_words():
    struck = NoteChange.strike(2).apply(BODY, at=20)
    assert texts(NoteChange.edit(2, "It may be touched.").apply(struck, at=21))[2] == "It may be touched."


@pytest.mark.parametrize(
    "change", [NoteChange.strike(99), NoteChange.strike(1, 99), NoteChange.edit(99, "x"), NoteChange.add(" ")]
)
def test_a_change_that_cannot_be_made_is_an_error(change):
    with pytest.raises((NoteNotFound, ConfigError)):
        change.apply(BODY, at=20)


@given(
    st.lists(
        st.builds(
            Correction,
            kind=st.sampled_from([CorrectionKind.STRUCK, CorrectionKind.ADDED]),
            text=ONE_LINE,
            at=st.integers(0, 999_999),
            note=st.none() | st.integers(1, 9_999),
        ),
        max_size=6,
    )
)
def test_corrections_are_read_back_as_they_were_written(made):
    assert list(read_corrections(write_corrections(BODY, made))) == made


def test_a_changed_note_is_read_back_with_what_it_said_before():
    made = Correction(CorrectionKind.CHANGED, "port 4040 (really)", 9, "port 8080 (I think)", 3)
    assert read_corrections(write_corrections(BODY, [made])) == (made,)


def test_words_count_again_that_are_said_after_they_were_struck():
    corrections = Corrections((Correction(CorrectionKind.STRUCK, "use tabs", 20),))
    assert corrections.strikes("Use  tabs", [4])
    assert not corrections.strikes("use tabs", [21])


def test_a_model_that_repeats_what_was_struck_is_corrected():
    corrections = Corrections((Correction(CorrectionKind.STRUCK, "Never touch config/prod.yaml.", 20),))
    words = (
        "## Goal\n- Mind it: never touch config/prod.yaml.\n- Ship.\n\n## Corrections by the User\n- [1] x"
    )
    assert corrections.clean_words(words) == "## Goal\n- Ship."


def test_without_room_for_all_the_newest_corrections_stay():
    made = tuple(Correction(CorrectionKind.ADDED, f"fact {number}", number) for number in range(50))
    body = Corrections(made).write("", count_text=len, budget_tokens=400)
    assert len(body) <= 400
    assert read_corrections(body)[-1] == made[-1]


def conversation(turns):
    said = [{"role": "user", "content": "Begin."}, {"role": "assistant", "content": "Yes."}]
    for turn in range(turns):
        rule = " Never deploy to the harbour on a Friday." if turn == 1 else ""
        said.append({"role": "user", "content": f"Question {turn} about the meters.{rule}"})
        said.append(
            {"role": "assistant", "content": f"Answer {turn}: " + f"meter {turn} counts coins. " * 80}
        )
    return said


def is_in_notes(messages):
    found = [note for note in notes.read_notes(messages) if "on a Friday" in note.text]
    return [note for note in found if not note.is_struck]


@pytest.mark.parametrize(
    "summarize", [None, lambda _: "## Goal\n- Never deploy to the harbour on a Friday.\n- Meters."]
)
def test_a_list_without_a_store_carries_its_corrections_through_folds(summarize):
    folded = compress(conversation(12), max_tokens=2_000, summarizer=summarize).messages
    struck = [note.number for note in is_in_notes(folded)]
    assert struck
    corrected = notes.correct_notes(folded, strike=struck).messages
    corrected = notes.correct_notes(corrected, add="Deploys need two people.").messages
    for _ in range(2):
        again = compress([*corrected, *conversation(12)[4:]], max_tokens=2_000, summarizer=summarize)
        corrected = again.messages
        assert again.tokens_after <= 2_000
        assert "Deploys need two people." in [note.text for note in notes.read_notes(corrected)]


def test_correcting_takes_one_change_at_a_time():
    with pytest.raises(ConfigError, match="one of strike"):
        notes.correct_notes([], strike=[1], add="x")
    with pytest.raises(NoteNotFound, match="nothing is folded"):
        notes.correct_notes([{"role": "user", "content": "hi"}], add="x")
