"""Thirty turns as clients really send them: every fold is paid for once, and found after a restart."""

from itertools import pairwise

import pytest

from midfold.folding import DIGEST
from midfold.messages import canonical_bytes
from midfold.testing import Upstream
from midfold.wire import parse
from midfold.wire.validate import find_errors
from support.gateway_clients import CLIENTS, ClaudeCode, answer_as_an_agent
from support.simulation import Summarizer

TURNS = 30
WINDOW = 24_000


@pytest.fixture(params=CLIENTS)
def kind(request):
    return CLIENTS[request.param]


def talk(client, turns, *running):
    """Have a conversation; with several gateways they take turns."""
    for number in range(turns):
        each = running[number % len(running)]
        client.ask = each.ask
        client.turn(f"Look at zone {client.turns} and tell me its tariff.")
        each.settle()
        each.wait_for_preparation()


def sent_messages(received, dialect):
    """What a provider caches: what the messages say, without markers, thinking and the system prompt."""
    items = received.json["input" if dialect == "openai_responses" else "messages"]
    said = [(message.role, canonical_bytes(message)) for message in parse(items, dialect)]
    return [words for role, words in said if words and role not in ("system", "developer")]


def check_prefixes(up, client):
    """Between two folds each request begins with the one before it, and all of them are legal."""
    requests = [sent_messages(each, client.dialect) for each in up.requests]
    stable = 0
    for (before, after), (folds, more) in zip(pairwise(requests), pairwise(client.folds), strict=True):
        if folds == more:
            assert after[: len(before)] == before
            stable += 1
    for each in up.requests:
        items = each.json["input" if client.dialect == "openai_responses" else "messages"]
        spoken = [item for item in items if item.get("role") != "system"]
        assert not find_errors(spoken, dialect=client.dialect)
    return stable


def paid_folds(store):
    return [fold for fold in store.folds() if fold.facts["summarizer"] not in (None, DIGEST)]


@pytest.mark.slow
def test_thirty_turns_pay_for_each_fold_once(gateway, store, kind):
    summarize = Summarizer()
    with Upstream(answer_as_an_agent) as up:
        client = kind(None)
        talk(client, TURNS, gateway(up, summarizer=summarize, model__context_length=WINDOW))
        stable = check_prefixes(up, client)
    assert len(store.folds()) >= 2
    assert len(paid_folds(store)) >= 2
    assert summarize.calls - len(paid_folds(store)) in (0, 1)  # one may be prepared and not be due yet
    assert stable >= len(client.answers) - 1 - len(store.folds())
    assert len(store.conversations()) == 1
    assert max(each.count_tokens() for each in up.requests) < WINDOW
    assert client.folds == sorted(client.folds)


@pytest.mark.slow
def test_the_conversation_is_found_after_a_restart_and_by_a_second_gateway(other_store, gateway, store, kind):
    summarize = Summarizer()
    with Upstream(answer_as_an_agent) as up:
        client = kind(None)
        options = {"summarizer": summarize, "model__context_length": WINDOW}
        talk(client, 20, gateway(up, **options))
        folded = client.folds[-1]
        assert folded >= 1
        talk(client, 2, gateway(up, **options))  # as after a restart: it knows nothing but the store
        assert client.folds[-1] >= folded
        assert summarize.calls - len(paid_folds(store)) in (0, 1)
        talk(client, 16, gateway(up, **options), gateway(up, own_store=other_store, **options))
        check_prefixes(up, client)
    assert len(store.conversations()) == 1
    assert {answer.changes.get("x-midfold-session") for answer in client.answers} == {
        None,
        store.conversations()[0].conversation_id,
    }
    assert len(paid_folds(store)) >= 2
    assert summarize.calls - len(paid_folds(store)) in (0, 1)


def test_without_a_model_the_digest_folds_and_nobody_is_asked(gateway, store):
    with Upstream(answer_as_an_agent) as up:
        client = ClaudeCode(None)
        talk(client, 12, gateway(up, model__context_length=8_000))
    assert client.folds[-1] >= 1
    assert {fold.facts["summarizer"] for fold in store.folds()} <= {None, DIGEST}
    assert store.usage(whole_chain=True).prompt_tokens > 0


def test_every_message_is_kept_as_the_client_sent_it(gateway, store):
    with Upstream(answer_as_an_agent) as up:
        client = ClaudeCode(None)
        talk(client, 12, gateway(up, model__context_length=8_000))
    tip = store.conversations()[0]
    said = [record.item for record in store.history(tip.id)]
    newest = store.load_state(tip.id, "newest")  # until the client goes on, and shows that it stands
    assert len(said) + len(newest["request"]) + len(newest["reply"]) == len(client.history)
    assert newest["reply"][0]["role"] == "assistant"
    assert tip.source == "gateway"


def test_words_that_a_client_may_take_back_are_not_written_with_a_fold(gateway, store):
    with Upstream(answer_as_an_agent) as up:
        running = gateway(up, model__context_length=8_000)
        client = ClaudeCode(None)
        talk(client, 14, running)
    assert client.folds[-1] >= 2
    (tip,) = store.conversations()
    said = [record.item for record in store.history(tip.id)]
    newest = store.load_state(tip.id, "newest")
    spoken = [item for item in said if item["role"] != "system"]
    kept = [item for item in (*newest["request"], *newest["reply"]) if item["role"] != "system"]
    assert len(spoken) + len(kept) == len([item for item in client.history if item["role"] != "system"])
