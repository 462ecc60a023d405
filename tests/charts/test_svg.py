"""Shapes as SVG: well-formed, whatever they say."""

from xml.etree import ElementTree

import pytest

from midfold.charts import picture, rect, shorten_number, text

SVG = "{http://www.w3.org/2000/svg}"


def test_a_picture_is_wellformed_and_escapes_what_it_is_given():
    drawn = picture(10, 20, [text(1, 2, "<script>&\x1b\x00"), rect(0, 0, 1, 1, "s0", 'a "<b>"')], 'a "title"')
    root = ElementTree.fromstring(drawn)  # noqa: S314 - our own
    assert root.find(f"{SVG}text").text == "<script>&"
    assert root.get("aria-label") == 'a "title"'
    assert root.find(f"{SVG}rect/{SVG}title").text == 'a "<b>"'


@pytest.mark.parametrize(
    ("value", "words"),
    [(0, "0"), (950, "950"), (1_500, "1.5k"), (123_456, "123k"), (-2e6, "-2M"), (3e9, "3G")],
)
def test_a_number_takes_few_characters(value, words):
    assert shorten_number(value) == words
