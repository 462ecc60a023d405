"""Every method gives a list within its ceiling that a provider would take."""

import pytest

from midfold.evaluation import METHODS
from midfold.evaluation.baselines import CLEARED, DIGEST, excerpt_by_position
from midfold.evaluation.conversations import make_conversation
from midfold.messages import pair_calls
from midfold.testing import transcript
from midfold.wire import parse, read_request
from midfold.wire.validate import validate

DIALECTS = ("anthropic", "openai_chat", "openai_responses", "sharegpt")


@pytest.fixture(scope="module", params=DIALECTS)
def long_conversation(request):
    body = transcript(request.param, seed=5, turns=60)
    return make_conversation("c", read_request(body, request.param), [])


@pytest.mark.parametrize("name", METHODS)
def test_a_method_meets_its_ceiling_with_a_legal_list(long_conversation, name):
    request = long_conversation.request
    ceiling = long_conversation.tokens // 3
    outcome = METHODS[name](long_conversation, ceiling)
    messages = parse(outcome.items, request.dialect)
    assert outcome.tokens <= ceiling
    assert outcome.tokens == long_conversation.overhead_tokens + sum(map(long_conversation.count, messages))
    assert pair_calls(messages).orphans == ()
    assert validate(outcome.items, dialect=request.dialect, system=request.system, tools=request.tools) == []


@pytest.mark.parametrize("name", METHODS)
def test_what_fits_stays_as_it_is(long_conversation, name):
    outcome = METHODS[name](long_conversation, long_conversation.tokens * 2)
    assert outcome.items == long_conversation.request.messages


def test_only_methods_that_keep_the_originals_can_search_them(long_conversation):
    ceiling = long_conversation.tokens // 3
    searchable = [name for name, method in METHODS.items() if method(long_conversation, ceiling).find]
    assert searchable == [DIGEST, "no ledger"]


def test_cleared_results_are_the_oldest(long_conversation):
    outcome = METHODS["clear output"](long_conversation, long_conversation.tokens * 9 // 10)
    texts = [
        result.text
        for message in parse(outcome.items, long_conversation.request.dialect)
        for result in message.results
    ]
    cleared = [text == CLEARED for text in texts]
    assert any(cleared)
    assert cleared == sorted(cleared, reverse=True)


def test_an_excerpt_by_position_takes_the_asked_part_from_everywhere():
    text = "".join(f"line {number:05}\n" for number in range(5_000))
    taken = excerpt_by_position(text, 0.1)
    assert 0.08 < len(taken) / len(text) < 0.13
    assert "line 00000" in taken
    assert "line 048" in taken
