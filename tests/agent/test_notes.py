"""Notes that a person corrects: told at once, kept through folds, taken back by undo."""

import pytest

from midfold.errors import ConfigError, NoteNotFound
from midfold.stored_notes import correct_session_notes, find_sources, read_session_notes
from midfold.summaries import NoteChange
from midfold.testing.upstream import Reply, Upstream

WINDOW = 12_000
RULE = "Never touch config/prod.yaml, it belongs to the harbour."
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60


@pytest.fixture
def upstream():
    with Upstream(Reply("Noted.")) as up:
        yield up


@pytest.fixture
def folded(upstream, make_agent, play):
    """An agent whose conversation was folded once."""
    agent = make_agent(upstream, context_length=WINDOW)
    for prompt in ("Look after the meters.", "All of them.", f"Mind one thing. {RULE}"):
        play(agent, prompt)
    talk(agent, play, 3)
    assert agent.compress().changed
    assert agent.status().folds == 1
    return agent


def talk(agent, play, turns):
    for turn in range(turns):
        play(agent, f"Turn {turn}: {LONG}{LONG}")


def find_rule(agent):
    return next(note for note in agent.notes() if note.text.endswith(f"] {RULE}"))


def summary_of(agent):
    return next(message.text for message in agent.messages if "## Folded Messages" in message.text)


def test_notes_are_numbered_and_name_the_messages_they_stand_for(folded):
    notes = folded.notes()
    assert [note.number for note in notes] == list(range(1, len(notes) + 1))
    [source] = find_sources(folded.store.history(folded.session_id), find_rule(folded))
    assert (source.number, source.speaker) == (4, "user")
    assert RULE in str(source.record.item)


def test_a_struck_note_is_told_as_the_users_correction_with_the_next_request(folded, upstream, play):
    folded.correct_notes(NoteChange.strike(find_rule(folded).number))
    play(folded, "Go on.")
    sent = upstream.requests[-1].body.decode()
    assert f"): {RULE}" in sent
    assert "What is struck does not hold" in sent
    assert not any(RULE in note.text for note in folded.notes() if not note.is_struck)


def test_corrections_survive_later_folds(folded, play):
    folded.correct_notes(NoteChange.strike(find_rule(folded).number))
    folded.correct_notes(NoteChange.add("The staging host is b2."))
    for _ in range(2):
        talk(folded, play, 4)
        folded.compress()
    notes = folded.notes()
    assert folded.status().folds >= 3
    assert [note.text for note in notes if RULE in note.text and not note.is_struck] == []
    assert "The staging host is b2." in [note.text for note in notes]
    assert summary_of(folded).count("The staging host is b2.") == 1


def test_a_struck_message_takes_the_rule_that_is_quoted_from_it_along(folded):
    said = next(note for note in folded.notes() if "Mind one thing." in note.text)
    folded.correct_notes(NoteChange.strike(said.number))
    assert [note.text for note in folded.notes() if RULE in note.text and not note.is_struck] == []


def test_words_said_after_a_correction_count_again(folded, play):
    folded.correct_notes(NoteChange.strike(find_rule(folded).number))
    play(folded, f"I changed my mind. {RULE}")
    talk(folded, play, 4)
    folded.compress()
    assert find_rule(folded)


def test_an_edited_note_says_what_the_user_wrote(folded):
    rule = find_rule(folded)
    [changed] = [
        note
        for note in folded.correct_notes(NoteChange.edit(rule.number, "config/prod.yaml may be touched."))
        if note.number == rule.number
    ]
    assert changed.text == "config/prod.yaml may be touched."
    assert f"(instead of: {RULE})" in summary_of(folded)


def test_numbers_of_other_notes_stay_when_one_is_struck(folded):
    before = {note.number: note.text for note in folded.notes()}
    struck = next(number for number, text in before.items() if RULE not in text)
    folded.correct_notes(NoteChange.strike(struck))
    after = {note.number: note.text for note in folded.notes() if note.correction is None}
    assert after == {number: text for number, text in before.items() if number != struck}


def test_undo_takes_the_newest_correction_back_and_then_the_fold(folded, play):
    before, summary, folds = folded.notes(), summary_of(folded), folded.status().folds
    folded.correct_notes(NoteChange.add("The staging host is b2."))
    play(folded, "What next?")
    assert folded.undo()
    assert (folded.notes(), summary_of(folded), folded.status().folds) == (before, summary, folds)
    assert folded.messages[-2].text == "What next?"
    assert folded.undo()
    assert folded.notes() == ()


def test_corrections_are_kept_by_the_store_and_deleted_with_the_conversation(folded, make_agent, upstream):
    folded.correct_notes(NoteChange.add("The staging host is b2."))
    other = make_agent(upstream, context_length=WINDOW, session=folded.session_id)
    assert other.notes() == folded.notes()
    assert other.status().folds == 1
    store, session = other.store, other.session_id
    correct_session_notes(store, session, NoteChange.add("The port is 4040."))
    assert read_session_notes(store, session)[-1].text == "The port is 4040."
    store.delete(session)
    assert not any(store.search(words).hits for words in ("staging host b2", "port 4040"))


def test_a_correction_by_somebody_else_is_noticed(folded, play):
    correct_session_notes(folded.store, folded.session_id, NoteChange.add("The port is 4040."))
    with pytest.raises(Exception, match="continued elsewhere"):
        play(folded, "Go on.")


def test_credentials_in_a_correction_are_hidden(folded):
    secret = "sk-ant-api03-" + "Zq8" * 30
    folded.correct_notes(NoteChange.add(f"The key is {secret}."))
    assert secret not in summary_of(folded)


@pytest.mark.parametrize(
    "change", [NoteChange.strike(999), NoteChange.edit(1, " "), NoteChange.add("x" * 3_000)]
)
def test_a_change_that_cannot_be_made_changes_nothing(folded, change):
    before = folded.session_id
    with pytest.raises((ConfigError, NoteNotFound)):
        folded.correct_notes(change)
    assert folded.session_id == before


def test_before_a_fold_there_are_no_notes_to_correct(make_agent, upstream):
    agent = make_agent(upstream)
    assert agent.notes() == ()
    with pytest.raises(NoteNotFound, match="nothing is folded"):
        agent.correct_notes(NoteChange.add("x"))
