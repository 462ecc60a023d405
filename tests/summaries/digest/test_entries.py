"""Entries of one line, grown by units, and how a choice is made among them."""

import pytest

from midfold.summaries.digest import fill_digest
from midfold.summaries.digest.choice import ChosenEntry, arrange, choose_entries, list_offers
from midfold.summaries.digest.entries import (
    ANSWERED_HEADING,
    NAMES_HEADING,
    RULES_HEADING,
    DigestEntry,
    EntryKind,
    Unit,
    cost,
    format_indices,
    kind_of_item,
)
from midfold.summaries.prompts import HEADINGS
from midfold.summaries.sections import Template, split_sections


def entry(head="[3] bash: make", *units, **facts):
    return DigestEntry(
        facts.get("kind", EntryKind.ACTION), facts.get("order", 3), head, facts.get("worth", 1.0), list(units)
    )


def test_an_entry_is_one_line_of_head_and_units():
    assert (
        entry("[3] bash: make", Unit("one", 1), Unit("two", 1)).render([Unit("one", 1), Unit("two", 1)])
        == "- [3] bash: make · one · two"
    )


def test_units_name_their_message_once_in_a_row():
    units = [Unit("a", 1, 4), Unit("b", 1, 4), Unit("c", 1, 8), Unit("d", 1)]
    assert entry().render(units) == "- [3] bash: make — [4] a · b · [8] c · d"


@pytest.mark.parametrize(
    ("kind", "head", "subject"),
    [
        (EntryKind.ACTION, "[3] bash: make", "bash: make"),
        (EntryKind.ACTION, "[3, 9] bash: make", "bash: make"),
        (EntryKind.CHANGED, "src/a.py (changed): edit [3], write [5, 6]", "src/a.py"),
        (EntryKind.READ, "src/a.py: read [3]", "src/a.py"),
        (EntryKind.REQUEST, "[3] Fix it: now [4]", "Fix it: now [4]"),
        (EntryKind.EARLIER, "free words", "free words"),
    ],
)
def test_the_subject_is_the_head_without_numbers(kind, head, subject):
    assert entry(head, kind=kind).subject == subject


def digest(entries, budget=1_000):
    return fill_digest(entries, count_text=len, budget_tokens=budget, template=Template.HANDOFF)


def test_units_are_taken_by_weight_in_their_order_and_never_without_their_head():
    units = [Unit("low " * 5, 0.1), Unit("high", 9.0), Unit("mid", 5.0)]
    text = digest([entry("head", *units, weight=0.001)], len("## Completed Actions\n- head · high · mid") + 3)
    assert text == "## Completed Actions\n- head · high · mid"


@pytest.mark.parametrize("budget", [0, 3, 40, 90, 1_000])
def test_what_is_taken_costs_no_more_than_the_budget(budget):
    entries = [entry(f"head {n}", Unit(f"unit {n}", 2.0)) for n in range(20)]
    assert len(digest(entries, budget)) <= budget


@pytest.mark.parametrize("budget_bytes", [0, 11, 12, 30, 10_000])
def test_offers_are_taken_while_they_fit_and_none_twice(budget_bytes):
    entries = [entry(f"head {n}", Unit(f"unit {n}", 2.0), Unit(f"more {n}", 0.1)) for n in range(5)]
    taken = choose_entries(list_offers(entries), budget_bytes)
    texts = [text for each in taken for text in (each.entry.head, *(unit.text for unit in each.units))]
    assert sum(map(cost, texts)) <= budget_bytes
    assert len(set(texts)) == len(texts)
    assert bool(texts) == (budget_bytes >= cost("head 0") + 4)


def test_indices_are_spelled_once_and_the_middle_of_many_left_out():
    assert format_indices([3]) == "[3]"
    assert format_indices([3, 3, 4]) == "[3, 4]"
    assert format_indices(range(1, 31)) == "[1, …, 26, 27, 28, 29, 30]"


@pytest.mark.parametrize("text", ["", "abc", "é字\ud800"])
def test_any_text_has_a_cost(text):
    assert cost(text) >= len(text)


HEADS = {
    EntryKind.ACTION: "[3] bash: make",
    EntryKind.CHANGED: "src/a.py (changed): edit [3], write [5, 6]",
    EntryKind.READ: "src/a.py: read [3]",
}


def heading_of(kind, template):
    head = HEADS.get(kind, "[3] Some words.")
    [heading] = split_sections(arrange([ChosenEntry(entry(head, kind=kind), ())], template))
    return heading


@pytest.mark.parametrize("template", list(Template))
@pytest.mark.parametrize("kind", list(EntryKind))
def test_every_kind_has_a_heading_of_its_template(template, kind):
    assert heading_of(kind, template) in {
        *HEADINGS[template],
        RULES_HEADING,
        ANSWERED_HEADING,
        NAMES_HEADING,
    }


@pytest.mark.parametrize("template", list(Template))
def test_rules_have_a_heading_of_their_own_in_every_template(template):
    assert [kind for kind in EntryKind if heading_of(kind, template) == RULES_HEADING] == [EntryKind.RULE]


@pytest.mark.parametrize("kind", list(EntryKind))
def test_the_default_headings_say_what_an_entry_is_about(kind):
    head = HEADS.get(kind, "[3] Some words.")
    assert kind_of_item(heading_of(kind, Template.HANDOFF), head) is kind


@pytest.mark.parametrize("template", list(Template))
@pytest.mark.parametrize("kind", HEADS)
def test_files_and_actions_are_known_in_any_template(template, kind):
    assert kind_of_item(heading_of(kind, template), HEADS[kind]) is kind


@pytest.mark.parametrize("heading", ["", "Notes", "## Goal", "goal", "Constraints & Preferences (noted)"])
def test_an_unknown_heading_is_something_earlier(heading):
    assert kind_of_item(heading, "[3] Some words.") is EntryKind.EARLIER


def test_entries_are_arranged_by_heading_and_then_by_order():
    entries = [entry("b", order=7), entry("a", order=2), entry("r", kind=EntryKind.RULE, order=9)]
    assert digest(entries) == "## Constraints & Preferences\n- r\n\n## Completed Actions\n- a\n- b"
