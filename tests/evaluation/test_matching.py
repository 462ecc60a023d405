"""When two wordings are the same, and when they only share some words."""

import pytest

from midfold.evaluation.matching import covers, flatten, quotes, says_same

RULE = "The importer must never write to the archive folder."


@pytest.mark.parametrize(
    "text",
    [
        RULE,
        "the importer must NEVER write to the `archive` folder",
        f"Two things. {RULE} And please hurry.",
        "The importer must never\n  write to the archive folder.",
        "must never write to the archive folder",
        "The importer must never write to the archive folder, says the plan",
    ],
)
def test_a_quotation_is_the_same_whatever_its_frame(text):
    assert says_same(text, RULE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "never",
        "the archive folder",
        "The exporter may write to the archive.",
        "Must it ever write tests?",
    ],
)
def test_a_few_shared_words_are_not_the_same(text):
    assert not says_same(text, RULE)


def test_a_few_wide_characters_say_as_much_as_many_letters():
    assert says_same("絵文字は使わないでください。", "絵文字は使わない")
    assert not says_same("絵を描いてください。", "絵文字は使わない")


def test_a_quotation_counts_over_line_breaks_and_as_json_writes_it():
    assert quotes(flatten("it said  two\n words"), "two words")
    assert quotes(flatten("line one · line two"), "line one\nline two")
    assert quotes(r'{"x": "say \"hi\""}', 'say "hi"')
    assert not quotes("two other words", "two words")


def test_words_are_counted_in_one_text_not_over_several():
    label = "branch harvest waits for review"
    assert covers(["The branch harvest still waits for a review."], label, 0.7)
    assert not covers(["The branch harvest.", "It waits for review."], label, 0.7)


def test_words_that_an_outdated_wording_has_too_prove_nothing():
    assert not covers(
        ["There are 41 boxes in the hall."], "44 boxes in the hall", 0.7, besides="41 boxes in the hall"
    )
    assert covers(["In the hall are 44 boxes."], "44 boxes in the hall", 0.7, besides="41 boxes in the hall")
