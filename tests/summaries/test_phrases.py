"""Many phrases are looked for at once, and found exactly where each alone would be."""

from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from midfold.summaries.phrases import Phrases, find_absent

TEXTS = st.text("abc \n", max_size=40)


@given(phrases=st.lists(st.text("abc \n", max_size=24)), text=TEXTS)
def test_a_text_holds_a_phrase_where_looking_for_each_says_so(phrases, text):
    assert Phrases(phrases).is_any_in(text) == any(phrase in text for phrase in phrases)


def test_twice_the_phrases_and_texts_take_about_twice_as_long():
    def seconds(count):
        start = process_time()
        phrases = Phrases([f"src/meters/zone_{number}.py" for number in range(count)])
        texts = [f"the tariff of /home/zone_{number} was read" for number in range(count)]
        assert not any(map(phrases.is_any_in, texts))
        return process_time() - start

    assert min(seconds(4_000) for _ in range(3)) < max(8 * min(seconds(1_000) for _ in range(3)), 0.5)


def test_absent_phrases_are_those_that_no_text_holds():
    texts = ["see src/zone_1/tariff.py", "parse_tariff(3) 费率表 done", "zone_12 and zone_3"]
    phrases = [
        "src/zone_1/tariff.py",
        "src/zone_2/tariff.py",
        "tariff(",
        "率",
        "zone_1",
        "zone_4",
        "a zone_3 b",
        "",
    ]
    assert find_absent(phrases, texts) == [
        phrase for phrase in phrases if not any(phrase in text for text in texts)
    ]
    assert find_absent(phrases, []) == phrases
