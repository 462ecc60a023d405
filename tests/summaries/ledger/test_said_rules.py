"""People set rules softly, and ask for single steps loudly: both are told apart in eight languages."""

import pytest

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.provenance import Author
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.rules import find_rules
from support.said_rules import NO_RULES, RULES


def user(text):
    return Message("user", (Text(text),))


def rules_of(messages):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    return [(rule.text, rule.author, rule.source) for rule in ledger.rules]


@pytest.mark.parametrize("sentence", [each for group in RULES.values() for each in group])
def test_what_binds_later_work_is_a_rule(sentence):
    assert find_rules(sentence) == [sentence]


@pytest.mark.parametrize("sentence", [each for group in NO_RULES.values() for each in group])
def test_single_steps_questions_and_reports_are_none(sentence):
    assert find_rules(sentence) == []


def test_the_newest_of_two_rules_about_one_matter_holds():
    messages = [
        user("Never deploy the billing service on Friday."),
        user("Only deploy the billing service on Friday."),
    ]
    assert [text for text, _, _ in rules_of(messages)] == ["Only deploy the billing service on Friday."]


def test_what_is_taken_back_in_the_next_message_is_no_rule():
    messages = [
        user("Always keep the old parser around."),
        Message("assistant", (Text("ok"),)),
        user("actually, forget that"),
    ]
    assert rules_of(messages) == []


@pytest.mark.parametrize(
    "path",
    ["AGENTS.md", "/srv/app/CLAUDE.md", ".cursorrules", ".github/copilot-instructions.md", "CONTRIBUTING.md"],
)
def test_a_project_file_that_is_read_sets_rules_and_is_named(path):
    messages = [
        Message("assistant", (ToolCall("1", "read_file", f'{{"path": "{path}"}}'),)),
        Message(
            "tool",
            (ToolResult("1", "1\t# Guide\n2\t\n3\t- Never commit to main.\n4\t- It is written in Rust.\n"),),
        ),
    ]
    assert rules_of(messages) == [("Never commit to main.", Author.PROJECT, path)]


@pytest.mark.parametrize("path", ["README.md", "src/prompts/plan.txt", "skills/x/SKILL.md", "notes.md"])
def test_other_files_set_none(path):
    messages = [
        Message("assistant", (ToolCall("1", "read_file", f'{{"path": "{path}"}}'),)),
        Message("tool", (ToolResult("1", "- Never commit to main.\n"),)),
    ]
    assert rules_of(messages) == []


def test_an_answer_through_a_dialog_sets_a_rule():
    messages = [
        Message("assistant", (ToolCall("1", "ask_user", '{"question": "Where to store it?"}'),)),
        Message("tool", (ToolResult("1", "never in the home folder"),)),
    ]
    assert rules_of(messages) == [("never in the home folder", Author.PERSON, "")]


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        (
            "Don't round each line. Round the subtotal once, half-up. Thanks!",
            "Don't round each line. Round the subtotal once, half-up.",
        ),
        ("不要用 pip。改用 uv。", "不要用 pip。改用 uv。"),
        ("Не используй pip. Вместо него uv.", "Не используй pip. Вместо него uv."),
        (
            "Bitte niemals pip verwenden. Nimm stattdessen uv.",
            "Bitte niemals pip verwenden. Nimm stattdessen uv.",
        ),
        ("The hooks use the wrapper by default\nThis should never be changed", None),
    ],
)
def test_a_rule_stands_with_what_it_points_to_and_what_to_do_instead(said, rule):
    [found] = find_rules(said)
    assert found == (rule or "The hooks use the wrapper by default; This should never be changed")


def test_a_sentence_about_something_else_is_no_part_of_a_rule():
    assert find_rules("Never push to main. Show me the tides of Oban.") == ["Never push to main."]


def test_what_somebody_asks_details_of_is_no_rule():
    wanted = "Camera details (please provide specs) for:\n- item 4417 ($466.75, black)\n- item 5528 ($481)"
    assert find_rules(wanted) == []
    assert find_rules("Details to respect:\n- item 4417 stays black") == ["item 4417 stays black"]


def test_a_wish_not_to_miss_something_binds_nobody_else():
    assert find_rules("Just want to be sure I don't miss any deadlines.") == []
    assert find_rules("Make sure you don't miss any deadlines.") != []


@pytest.mark.parametrize(
    "said",
    [
        "When the gauge is offline:\n\nThe old level is kept\nNo water level is shown to the harbour master",
        "Actual behaviour:\nThe importer never reads the last row.\nThe table must be reloaded by hand.",
        "### Bug\n\n- The header is always skipped.\n- The export does not keep the unit.",
        "Tatsächliches Verhalten:\n- Der Pegel wird niemals gespeichert.",
        "实际行为：\n- 表头永远不会被读取",
    ],
)
def test_what_happens_in_a_report_of_a_fault_is_no_rule(said):
    assert find_rules(said) == []


def test_what_stands_below_a_report_of_a_fault_may_be_a_rule():
    said = "Actual behaviour:\nThe importer never reads the last row.\n\nNever touch the schema."
    assert find_rules(said) == ["Never touch the schema."]
    assert find_rules("No secrets are to be logged.") == ["No secrets are to be logged."]


def test_a_rule_that_ends_where_its_items_begin_stands_with_them():
    said = "The importer must either:\n- read the gauge again, or\n- leave the row out\nThanks!"
    assert find_rules(said) == ["The importer must either: read the gauge again, or; leave the row out"]


def test_what_a_person_quotes_to_reject_it_is_no_part_of_the_rule():
    rule = "This should not be changed, only `--all` reads them."
    assert find_rules(f"- the importer now reads every gauge by default\n\n{rule}") == [rule]
