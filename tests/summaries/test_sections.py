"""Summaries by their headings."""

from midfold.summaries.sections import join_sections, split_sections, with_section

BODY = "preamble\n\n## Goal\nShip it.\n\n## Blocked\n- disk full\n- no key"


def test_sections_are_read_and_written_back():
    sections = split_sections(BODY)
    assert sections == {"": "preamble", "Goal": "Ship it.", "Blocked": "- disk full\n- no key"}
    assert join_sections(sections) == BODY


def test_a_heading_that_comes_twice_is_one_section():
    assert split_sections("## A\none\n## B\nx\n## A\ntwo") == {"A": "one\ntwo", "B": "x"}


def test_a_section_is_put_first_whatever_was_said_there():
    assert (
        with_section("## Goal\ng\n\n## Active Task\nevil", "Active Task", "good")
        == "## Active Task\ngood\n\n## Goal\ng"
    )


def test_empty_sections_are_left_out():
    assert join_sections({"A": " ", "B": "x"}) == "## B\nx"
