"""The recall tool for agents of one's own."""

import json

import pytest

import midfold
from midfold.errors import DialectError
from midfold.testing import transcript
from midfold.tokens import TokenCounter


def spoken(dialect="openai_chat"):
    messages = transcript(dialect, turns=40, result_chars=1_500, last="Go on.")
    words = "The password of the harbour gate is on the yellow note."
    said = {"role": "user", "content": words if dialect != "anthropic" else [{"type": "text", "text": words}]}
    return [*messages[:2], said, {"role": "assistant", "content": "Noted."}, *messages[2:]]


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic"])
def test_what_left_the_context_is_found_again(dialect):
    result = midfold.compress(spoken(dialect), max_tokens=6_000)
    recall = midfold.recall_tool(result)
    answer = recall.handle({"query": "yellow note"})
    assert "yellow note" in answer
    session, message = answer.split()[1], answer.split()[3]
    assert "harbour gate" in recall.handle(json.dumps({"session": session, "message": int(message)}))


def test_a_list_of_messages_and_a_store_are_searched_alike(tmp_path):
    assert "yellow note" in midfold.recall_tool(spoken()).handle('{"query": "yellow"}')
    with midfold.open_store(tmp_path / "sessions.db") as store:
        first, second = store.create_session().id, store.create_session().id
        store.append(first, [{"role": "user", "content": "The gate is green."}])
        store.append(second, [{"role": "user", "content": "The barrier is red."}])
        assert "green" in midfold.recall_tool(store).handle({"query": "gate"})
        only = midfold.recall_tool(store, session_id=second)
        assert "green" not in only.handle({"query": "gate"})
        assert "green" in only.handle({"query": "gate", "everywhere": True})


def test_the_schema_is_that_of_each_api():
    recall = midfold.recall_tool([])
    assert recall.name == "recall"
    assert recall.schema()["function"]["name"] == "recall"
    assert recall.schema("openai_responses")["parameters"]["properties"]["query"]["type"] == "string"
    assert recall.schema("anthropic")["input_schema"]["type"] == "object"


@pytest.mark.parametrize("arguments", ["", "{", "[]", {}, {"nothing": 1}, {"session": "no", "message": 3}])
def test_a_wrong_call_is_answered_in_words(arguments):
    assert midfold.recall_tool(spoken()).handle(arguments).startswith("Error: ")


def test_what_cannot_be_searched_is_said_in_one_line():
    for odd in (None, "words", 7):
        with pytest.raises(DialectError, match="expected a store, a result of compress or a list"):
            midfold.recall_tool(odd)


@pytest.mark.parametrize(
    ("topic", "filler", "said", "question"),
    [
        (
            "harbour",
            "The crew waited for the tide. ",
            "Turn the brass key twice.",
            "how is the harbour opened",
        ),
        ("港口", "船员们等待涨潮并修补渔网。", "铜钥匙要转两圈。", "港口的水闸怎么打开"),
    ],
)
def test_an_answer_holds_the_passage_and_stays_small(topic, filler, said, question):
    messages = [{"role": "user", "content": f"{topic}, day {day}. {filler * 60}"} for day in range(40)]
    messages.append({"role": "assistant", "content": f"{question}: {filler * 8}{said} {filler * 60}"})
    answer = midfold.recall_tool(messages).handle({"query": question})
    assert said in answer
    assert answer.count(topic) >= 10
    assert TokenCounter().count_text(answer) <= 4_000
