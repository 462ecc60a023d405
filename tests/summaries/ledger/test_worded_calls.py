"""Calls, edits and answers that stand in words, as text protocols have them."""

from midfold.messages import Message, Text, pair_calls
from midfold.provenance import Author, split_text
from midfold.summaries.digest import compose
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.ledger import collect

STATE = "\n\n<environment_details>\n# Current Mode\nACT MODE\n</environment_details>"


def turn(says, call, answer):
    return [Message("assistant", (Text(f"{says}\n\n{call}"),)), Message("user", (Text(answer + STATE),))]


def read(number):
    call = f"<read_file>\n<path>src/pier_{number}.ts</path>\n</read_file>"
    return turn("", call, f"[read_file for 'src/pier_{number}.ts'] Result:\n1 | const berth = {number}")


REPORT = "The rounding of the harbour dues is commercial now, and all five tests of the module pass."
SESSION = [
    Message("user", (Text(f"<task>\nRound the dues.\n</task>{STATE}"),)),
    *[message for number in range(6) for message in read(number)],
    *turn(
        "",
        f"<attempt_completion>\n<result>\n{REPORT}\n</result>\n</attempt_completion>",
        "[attempt_completion] Result:\n<feedback>\nNever use floats for money. Read the tariff.\n</feedback>",
    ),
    *turn(
        "",
        "<ask_followup_question>\n<question>Shall I add the winter rebate?</question>\n"
        "</ask_followup_question>",
        "<answer>\nNo, only report it\n</answer>",
    ),
    *read(9),
]


def ledger_of(messages):
    return collect(messages, range(len(messages)), pair_calls(messages), redact=str)


def render(messages):
    entries = compose(ledger_of(messages), pins=(), factors=WeightFactors(), most_lines=20)
    return "\n".join(entry.render(entry.units) for entry in entries)


def test_a_person_is_heard_where_a_tool_would_answer():
    ledger = ledger_of(SESSION)
    assert [rule.text for rule in ledger.rules] == ["Never use floats for money."]
    said = [each for each in ledger.statements if each.author is Author.PERSON]
    assert [each.text for each in said][1:] == [
        "Never use floats for money. Read the tariff.",
        "No, only report it",
    ]
    assert said[-1].question == "Shall I add the winter rebate?"


def test_the_report_at_the_end_of_a_task_is_told_and_answers_it():
    ledger = ledger_of(SESSION)
    [told] = [each for each in ledger.statements if each.is_told]
    assert told.text == REPORT
    assert ledger.exchanges.find_answer(0) == told.index
    assert "attempt_completion" not in render(SESSION)


def test_results_are_quoted_without_label_and_state():
    notes = render(SESSION)
    assert "const berth = 3" in notes
    assert "Result:" not in notes
    assert "ACT MODE" not in notes


def test_edits_that_a_model_writes_in_words_change_files():
    edit = "pier.py\n```python\n<<<<<<< SEARCH\nlimit = 3\n=======\nlimit = 5\n>>>>>>> REPLACE\n```"
    messages = [
        Message("user", (Text("Raise the limit."),)),
        Message("assistant", (Text(f"It was too low for the ferries.\n\n{edit}"),)),
    ]
    notes = render(messages)
    assert "pier.py (changed): edit [1] · [1] limit = 5" in notes
    assert "limit = 3" not in notes
    assert "SEARCH" not in notes


def test_a_command_that_a_client_ran_is_no_request():
    text = "I ran this command:\n\npytest -q\n\nAnd got this output:\n\n3 passed in 0.12s"
    assert {segment.author for segment in split_text(text)} == {Author.TOOL}
    asked = "I ran this command and it fails. What does the output mean?"
    assert {segment.author for segment in split_text(asked)} == {Author.PERSON}
