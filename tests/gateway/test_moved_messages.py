"""Messages that a client moves with each request: they are no history, and split no conversation."""

import json

import pytest

from midfold.gateway.moved_messages import learn_moved, read_blocks
from midfold.testing import Reply, Upstream
from midfold.wire import parse
from midfold.wire.validate import find_errors
from support.gateway_clients import RESTLESS, answer_as_an_agent
from support.simulation import Summarizer

WINDOW = 16_000
PATH = "/v1/chat/completions"


@pytest.fixture(params=RESTLESS)
def client(request):
    return RESTLESS[request.param](None)


def talk(client, turns, *running):
    for number in range(turns):
        each = running[number % len(running)]
        client.ask = each.ask
        client.turn(f"Look at zone {client.turns} and tell me its tariff.")
        each.settle()


def main_conversation(store):
    """The one with everything; a first request may have been another, as nothing had moved yet."""
    found = sorted(store.conversations(), key=lambda tip: store.count_history(tip.id))
    assert len(found) == 1, [store.count_history(tip.id) for tip in found]
    return found[-1]


@pytest.mark.slow
def test_a_client_that_moves_messages_has_one_conversation_and_pays_once(gateway, store, client):
    summarize = Summarizer()
    with Upstream(answer_as_an_agent) as up:
        talk(client, 16, gateway(up, summarizer=summarize, model__context_length=WINDOW))
    main_conversation(store)
    folds = store.folds()
    assert len(folds) >= 2
    assert summarize.calls <= len(folds) + 1
    assert client.folds == sorted(client.folds)
    for each in up.requests:
        assert not find_errors(each.json["messages"], dialect="openai_chat")


@pytest.mark.slow
def test_it_is_found_again_after_a_restart_and_by_a_second_gateway(other_store, gateway, store, client):
    summarize = Summarizer()
    options = {"summarizer": summarize, "model__context_length": WINDOW}
    with Upstream(answer_as_an_agent) as up:
        talk(client, 8, gateway(up, **options))
        talk(client, 3, gateway(up, **options))
        talk(client, 8, gateway(up, **options), gateway(up, own_store=other_store, **options))
    main_conversation(store)
    assert summarize.calls <= len(store.folds()) + 1


def ask(running, *items):
    answer = running.ask(PATH, {"model": "any", "messages": list(items)})
    running.settle()
    return answer


def user(text):
    return {"role": "user", "content": text}


def model(text):
    return {"role": "assistant", "content": text}


FILE = "These are the files that may be changed, as they are now: "
NOTED = model("I will change only these files.")
REMINDER = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize("reminder", [REMINDER, user("Be brief.")])
def test_a_reminder_that_stands_last_is_no_part_of_the_history(gateway, store, reminder):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, user("a"), reminder)
        ask(running, user("a"), model("ok"), user("b"), reminder)
        ask(running, user("a"), model("ok"), user("b"), model("ok"), user("c"), reminder)
        assert json.loads(up.requests[-1].body)["messages"][-1] == reminder
    (tip,) = store.conversations()
    assert [record.item for record in store.history(tip.id)] == [
        user("a"),
        model("ok"),
        user("b"),
        model("ok"),
    ]


def test_files_that_move_behind_the_history_and_change_are_no_part_of_it(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, user(FILE + "1"), NOTED, user("a"))
        ask(running, user("a"), model("ok"), user(FILE + "2"), NOTED, user("b"))
        ask(running, user("a"), model("ok"), user(FILE + "2"), NOTED, user("b"), model("ok"), user("c"))
        ask(gateway(up), *said("a", "ok", "b", "ok", "c", "ok"), user(FILE + "3"), NOTED, user("d"))
    (tip,) = store.conversations()
    assert [record.item for record in store.history(tip.id)] == said("a", "ok", "b", "ok", "c", "ok")
    assert len(store.calls()) == 4


def said(*words):
    return [model(text) if index % 2 else user(text) for index, text in enumerate(words)]


def test_a_beginning_that_is_reworded_is_no_part_of_the_history(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        rest = []
        for number, words in enumerate("abcd"):
            rest.append(user(words))
            ask(running, user(f"The map of the repository, which changes with every turn: {number}"), *rest)
            rest.append(model("ok"))
    (tip,) = store.conversations()
    assert [record.item for record in store.history(tip.id)] == rest[:6]


@pytest.mark.parametrize(
    ("old", "settled", "new"),
    [
        ("a ok b ok c", 4, "a ok B ok C"),  # another request
        ("a ok b ok c", 4, "a ok c ok d"),  # something settled is gone for good
        ("a ok b", 2, "a ok b"),  # no reply
        ("a ok b", 2, "x y z"),
        ("a b c d e f g h i j k", 9, "k ok a b c d e f g h i j"),  # all of it moved
    ],
)
def test_another_history_goes_on_from_nothing(old, settled, new):
    assert learn_moved(parsed(old), settled, parsed(new)) is None


def parsed(words):
    return parse(said(*words.split()), "openai_chat")


def test_blocks_that_cannot_be_read_are_none():
    for state in (None, "x", [1], [{"shapes": [["user", "zz", ""]], "is_fixed": False}], [{"shapes": 3}]):
        assert read_blocks(state) == ()


def test_blocks_survive_the_store():
    blocks = learn_moved(parse([user("r"), user("a")], "openai_chat"), 0, parsed_items("a", "ok", "r"))
    assert blocks
    assert read_blocks([block.to_json() for block in blocks]) == blocks


def parsed_items(*words):
    return parse(said(*words), "openai_chat")
