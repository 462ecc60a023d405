"""Which lines of an output are quoted, and how much a line tells."""

import pytest

from midfold.summaries.ledger.sentences import announces, weigh_sentence
from midfold.summaries.ledger.words import Words, weigh_line, weigh_output


def lines(output, most=10):
    return list(weigh_output(output, most).texts)


def test_lines_are_quoted_without_blanks():
    assert lines("alpha beta\n  gamma delta  \n\nab\nlast words") == [
        "alpha beta",
        "gamma delta",
        "last words",
    ]


def test_lines_of_both_ends_tell_more_than_those_between():
    weights = weigh_output("\n".join(f"these are {word} words" for word in "abcdefgh"), 8).weights
    assert weights[0] == weights[2] == weights[-1] > weights[3] == weights[4]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("four words say enough", "two words"),
        ("an error in file src/a.py", "an error in this file now"),
        ("四つの言葉です", "四"),
        ("naïve café déjà vu", "a b c d"),
    ],
)
def test_a_line_tells_more_by_its_words_and_names(more, less):
    assert weigh_line(more) > weigh_line(less)


def test_both_ends_of_a_long_output_are_looked_at():
    found = lines("\n".join(f"line number {n}" for n in range(1_000)), most=6)
    assert found[0] == "line number 0"
    assert found[-1] == "line number 999"
    assert len(found) <= 6


def test_json_is_read_by_its_fields():
    found = lines('{"name": "alpha beta", "rows": 42, "list": ["one two", "three four"]}')
    assert any("alpha beta" in line for line in found)
    assert any("42" in line for line in found)


def test_a_line_without_end_is_cut_into_pieces_of_itself():
    text = "word " * 5_000
    found = lines(text, most=8)
    assert found
    assert all(line in text and len(line) <= 300 for line in found)


@pytest.mark.parametrize("output", ["", "\n\n", "{", "[[[[", '{"a":', "\ud800\ud800\ud800 x", "\x00" * 50])
def test_odd_output_raises_nothing(output):
    assert len(lines(output)) <= 10


@pytest.mark.parametrize(
    "sentence",
    [
        "编码问题的根本原因是函数没有指定编码格式。",
        "文字化けの原因はエンコーディングの未指定でした。",
        "빌드 실패의 원인은 모듈 경로 변경 때문입니다.",
    ],
)
def test_sentences_without_blanks_weigh_by_what_they_say(sentence):
    words = Words(sentence).sentences
    assert words.decides == (True,)
    assert words.weights[0] > 1.0


def test_a_sentence_that_only_says_what_comes_next_weighs_little():
    found, announced = (
        "The handler drops the lock too early there.",
        "Let me look at the handler of the lock there:",
    )
    weights = {text: weight for text, weight, *_ in Words(f"{found}\n{announced}").sentences}
    assert weights[announced] < weights[found] / 2


def test_a_sentence_that_names_something_announces_nothing():
    assert announces("Here is what I found:")
    assert not announces("**Added `keep_tide` function** (`store.py:292-403`):")
    assert announces("Let me look at `store.py`:")


def test_a_few_words_that_name_nothing_weigh_less_for_their_size():
    short, naming = "Here's the fix.", "`keep_tide` is fixed."
    assert weigh_sentence(short) / len(short) < weigh_sentence(naming) / len(naming)


@pytest.mark.parametrize(
    "sentence", ["Now, let's run it.", "Great! First, I should look.", "Thank you for it."]
)
def test_a_lead_in_does_not_hide_an_announcement(sentence):
    assert announces(sentence)


def test_a_line_that_only_opens_or_closes_an_element_is_not_quoted():
    assert lines("<tool_response>\nalpha beta\n</tool_response>") == ["alpha beta"]
    assert Words("The tide rises.\n</think>").sentences.texts == ("The tide rises.",)


def test_words_claim_what_they_say_without_a_doubt():
    words = Words("All tests pass. The build should be fixed. `src/fees.py` works now!")
    assert words.claims.sentences == ("All tests pass.", "`src/fees.py` works now!")


def test_a_doubtful_claim_is_one_that_claims_nothing():
    claims = Words("If this works now, tell me.").claims
    assert claims.is_any
    assert not claims.sentences
    assert not Words("I read the file.").claims.is_any
