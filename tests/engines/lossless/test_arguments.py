"""Calls as models write them: what is meant is done, and what makes no sense is answered with what would."""

import json

import pytest

from midfold.engines.lossless import LosslessEngine
from midfold.engines.lossless.nodes import SummaryNode
from midfold.engines.lossless.tools import LosslessTools
from midfold.folding import Span
from midfold.testing import transcript


@pytest.fixture(scope="module")
def engine():
    engine = LosslessEngine(24_000, key=b"a key of sixteen", prepare_ahead=False)
    engine.compress_result(transcript("openai_chat", turns=30, result_chars=2_000))
    return engine


def call(engine, name, **arguments):
    return json.loads(engine.handle_tool_call(name, arguments))


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("lcm_expand", {}, "give id, that of a summary, or messages"),
        ("lcm_expand", {"messages": 0}, "nothing is stored under 0"),
        ("lcm_expand", {"messages": "70-60"}, "the range 70-60 ends before it begins"),
        ("lcm_expand", {"messages": "-3"}, "a range such as 12-20"),
        ("lcm_expand", {"messages": "900000"}, "summaries stand for 2–"),
        ("lcm_expand", {"id": "12"}, "messages shows messages by number"),
        ("lcm_expand", {"id": 12}, "id is a text"),
        ("lcm_grep", {"query": "meter", "regex": "perhaps"}, "regex is true or false"),
    ],
)
def test_an_error_says_what_would_be_right(engine, name, arguments, words):
    assert words in call(engine, name, **arguments)["error"]


def test_numbers_and_switches_in_quotes_are_understood(engine):
    quoted = call(engine, "lcm_expand", messages="4-30", page="2", max_tokens="300")
    assert quoted == call(engine, "lcm_expand", messages="4-30", page=2, max_tokens=300)
    assert call(engine, "lcm_expand", messages=12)["sources"][0]["message"] == 12
    found = call(engine, "lcm_grep", query=r"met\w+", regex="true")
    assert found == call(engine, "lcm_grep", query=r"met\w+", regex=True)


def test_a_page_behind_the_last_one_names_that(engine):
    last = 1
    while "next_page" in call(engine, "lcm_expand", messages="4-20", page=last):
        last += 1
    answer = call(engine, "lcm_expand", messages="4-20", page=last + 7)
    assert answer["sources"] == []
    assert answer["note"] == f"the last page is {last}"


def test_a_summary_of_very_many_messages_is_not_read_as_a_whole(engine):
    engine.memory.graph.add([SummaryNode("sum_00000000ff", 0, (Span(0, 90_000),), (), "", 1)])
    told = json.loads(LosslessTools(engine.memory, len).handle("lcm_expand", {"id": "sum_00000000ff"}))
    assert "90,000 messages" in told["error"]
    assert "0–89999" in told["error"]
