"""Sentences: what each does, and the line that an item of a list belongs to."""

import pytest

from midfold.summaries.ledger.sentences import Tone, decides, read_tone, split_sentences


@pytest.mark.parametrize(
    ("sentence", "tone"),
    [
        ("The parser drops the last byte of `header`.", Tone.STATES),
        ("Now fix `parse_header` as well:", Tone.ANNOUNCES),
        ("I'm carefully reviewing the module.", Tone.ANNOUNCES),
        ("Was the rule applied at all?", Tone.ASKS),
        ("Soll ich das jetzt umbenennen?**", Tone.ASKS),
        ("Maybe the cache is stale.", Tone.DOUBTS),
        ("Le cache est peut-être périmé.", Tone.DOUBTS),
        ("Возможно, кэш устарел.", Tone.DOUBTS),
        ("캐시가 오래된 것 같습니다.", Tone.DOUBTS),
        ("I am waiting for the build server.", Tone.WAITS),
        ("La migration est en cours.", Tone.WAITS),
        ("Ich warte auf deine Freigabe.", Tone.WAITS),
        ("A revisão está em andamento.", Tone.WAITS),
        ("リリースの承認待ちです。", Tone.WAITS),
        ("The server is running on port 3000.", Tone.STATES),
    ],
)
def test_a_sentence_shows_what_it_does_by_its_form_in_many_languages(sentence, tone):
    assert read_tone(sentence) is tone


def test_a_mark_behind_a_word_does_not_hide_that_it_decides():
    assert decides("Confirmed. It is the pipe.")
    assert decides("Cause: the buffer is full.")


def test_items_of_a_list_know_the_line_above_them():
    found = split_sentences("**Not done:**\n- The export\n- The import\n\nThe rest works.")
    leads = dict(zip(found.texts, found.leads, strict=True))
    assert leads["- The export"] == leads["- The import"] == "Not done:"
    assert leads["The rest works."] == ""


def test_rows_of_a_table_know_its_header_and_the_rule_below_it_is_no_row():
    found = split_sentences("| Step | State |\n|---|---|\n| Import | broken |")
    assert list(zip(found.texts, found.leads, strict=True)) == [("| Import | broken |", "| Step | State |")]
