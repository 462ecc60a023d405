"""What a digest could say: everything once."""

import json

from midfold.messages import Message, Text, ToolCall, ToolResult, pair_calls
from midfold.summaries.digest import compose
from midfold.summaries.digest.composition import WeightFactors
from midfold.summaries.digest.entries import EntryKind
from midfold.summaries.ledger import collect
from midfold.summaries.ledger.words import LEAST_LINES


def run(number, output, command=""):
    call = ToolCall(f"c{number}", "bash", json.dumps({"command": command or f"make {number}"}))
    return [Message("assistant", (call,)), Message("tool", (ToolResult(f"c{number}", output),))]


def entries_of(messages, most_lines=20):
    ledger = collect(messages, range(len(messages)), pair_calls(messages), redact=str)
    return compose(ledger, pins=(), factors=WeightFactors(), most_lines=most_lines)


def test_a_line_that_was_printed_before_is_not_quoted_again():
    first, second = entries_of([*run(1, "alpha beta\ngamma delta"), *run(2, "gamma delta\nnew words")])
    assert [unit.text for unit in first.units] == ["alpha beta", "gamma delta"]
    assert [unit.text for unit in second.units] == ["new words"]


def test_a_sentence_that_was_said_before_is_not_quoted_again():
    messages = [
        Message("assistant", (Text(words),)) for words in ("It works. So it is.", "It works. Or not.")
    ]
    assert [entry.head for entry in entries_of(messages)] == ["[0] It works.", "[1] Or not."]


def test_a_long_request_is_quoted_by_its_opening_its_rules_and_its_lines():
    lines = [f"Paragraph {number} tells what happened on that day." for number in range(60)]
    text = "\n".join([*lines, "Never push to main."])
    [entry] = entries_of([Message("user", (Text(text),))])
    assert entry.kind is EntryKind.OPEN_REQUEST
    assert entry.head.startswith("[0] Paragraph 0 ")
    assert entry.units[0].text == "Never push to main."
    said = entry.head.removeprefix("[0] ").split("\n") + [unit.text for unit in entry.units[1:]]
    assert said == lines


def test_no_more_lines_are_looked_at_than_asked_for():
    output = "\n".join(f"these are the words of line {number}" for number in range(100))
    for most in (LEAST_LINES, 30):
        [entry] = entries_of(run(1, output), most_lines=most)
        assert len(entry.units) == most
