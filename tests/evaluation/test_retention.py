"""The fate of a probe: in place, in context, one search away, or lost."""

import pytest

from midfold.evaluation import ProbeFate, ProbeKind, Zone, classify
from midfold.evaluation.conversations import make_conversation
from midfold.evaluation.probes import make_probe
from midfold.evaluation.retention import clues, find_belongings
from midfold.evaluation.texts import index_context
from midfold.messages import Message, Text
from midfold.wire import Request

ERROR = "ValueError: no such order"
ITEMS = [
    {"role": "user", "content": "Look after the orders"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "bash", "arguments": '{"command": "pytest tests/orders"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": f"E   {ERROR}"},
    {"role": "assistant", "content": "The order is missing."},
]


def probe(kind, answer, index, question="What?"):
    return make_probe(kind, question, answer, (index,), Zone.MIDDLE)


def fate(summary, asked, find=None):
    conversation = make_conversation("c", Request("openai_chat", ITEMS), [asked])
    context = index_context([Message("user", (Text(summary),))], summary)
    [verdict] = classify([asked], context, find_belongings(conversation), conversation.source, find)
    return verdict


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        (f"- [2] {ERROR}", ProbeFate.ASSOCIATED),
        (f"- [1] bash\n  {ERROR}", ProbeFate.ASSOCIATED),
        (f"- pytest tests/orders: {ERROR}", ProbeFate.ASSOCIATED),
        (f"- {ERROR}", ProbeFate.VERBATIM),
        (f"- [3] {ERROR}", ProbeFate.VERBATIM),
        (f"- [2] something\n- {ERROR}", ProbeFate.VERBATIM),
        ("- [2] it failed", ProbeFate.LOST),
    ],
)
def test_an_error_belongs_to_its_message_its_call_or_its_command(summary, expected):
    assert fate(summary, probe(ProbeKind.ERROR, ERROR, 2)).fate is expected


@pytest.mark.parametrize(
    ("summary", "expected"),
    [("- bash: pytest tests/orders", ProbeFate.ASSOCIATED), ("- pytest tests/orders", ProbeFate.VERBATIM)],
)
def test_a_command_belongs_to_its_tool(summary, expected):
    assert fate(summary, probe(ProbeKind.COMMAND, "pytest tests/orders", 1)).fate is expected


def test_a_kept_message_is_a_place_of_its_own():
    asked = probe(ProbeKind.ERROR, ERROR, 2)
    conversation = make_conversation("c", Request("openai_chat", ITEMS), [asked])
    context = index_context(conversation.messages, None)
    [verdict] = classify([asked], context, find_belongings(conversation), conversation.source, None)
    assert verdict.fate is ProbeFate.ASSOCIATED


def test_what_one_search_finds_is_not_lost():
    asked = probe(ProbeKind.ERROR, ERROR, 2, "What did `pytest tests/orders` report?")
    assert fate("- nothing", asked, lambda _words: []).fate is ProbeFate.LOST
    by_answer = fate("- nothing", asked, lambda words: [2] if words == ERROR else [])
    assert (by_answer.fate, by_answer.by_question) == (ProbeFate.RETRIEVABLE, False)
    by_question = fate("- nothing", asked, lambda words: [2] if words == "pytest tests/orders" else [])
    assert (by_question.fate, by_question.by_question) == (ProbeFate.RETRIEVABLE, True)


def test_only_the_first_matches_of_a_search_are_looked_at():
    asked = probe(ProbeKind.ERROR, ERROR, 2, "What did `pytest tests/orders` report?")
    verdict = fate("- nothing", asked, lambda words: [] if words == ERROR else [0, 0, 0, 0, 0, 2])
    assert verdict.fate is ProbeFate.LOST


def test_a_clue_is_what_the_question_quotes_or_what_stands_beside_the_blank():
    assert clues(probe(ProbeKind.COMMAND, "x", 1, 'What begins with "make" or "make all"?')) == ["make all"]
    assert clues(probe(ProbeKind.NUMBER, "x", 1, 'Fill in: "took ____ in all of the tests"')) == [
        "in all of the tests"
    ]
