"""The tools of the lossless engine: they find what is behind summaries, and never say more than they may."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.engines import EngineSetup
from midfold.engines.lossless import LosslessEngine
from midfold.folding import CompressionPolicy
from midfold.store import open_store
from midfold.testing import transcript
from midfold.tokens import TokenCounter

WINDOW = 24_000
FACT = "The spare key of meter 4711 hangs behind the blue door."
COUNT = TokenCounter().count_text


@pytest.fixture(scope="module")
def engine():
    items = transcript("openai_chat", turns=40, result_chars=2_000)
    items[20:20] = [
        {"role": "user", "content": FACT},
        {"role": "assistant", "content": "Noted: blue door."},
    ]
    engine = LosslessEngine(WINDOW, prepare_ahead=False)
    assert engine.compress_result(items).changed
    return engine


def call(engine, name, **arguments):
    return json.loads(engine.handle_tool_call(name, arguments))


def test_words_find_a_message_and_name_its_summary(engine):
    found = call(engine, "lcm_grep", query="where is the spare key of the meter")["results"]
    assert (found[0]["message"], found[0]["role"]) == (20, "user")
    assert FACT in found[0]["text"]
    assert found[0]["summary"] in engine.memory.graph.nodes


def test_a_regular_expression_finds_a_message(engine):
    found = call(engine, "lcm_grep", query=r"meter\s\d{4}\shangs", regex=True)["results"]
    assert [each["message"] for each in found] == [20]


def test_a_bad_expression_is_said_in_the_answer(engine):
    assert "not a regular expression" in call(engine, "lcm_grep", query="(", regex=True)["error"]


def test_a_pattern_that_would_freeze_others_is_answered_at_once(engine):
    assert "error" not in call(engine, "lcm_grep", query="(a+)+$|(a|a)*b", regex=True)


def test_messages_are_shown_by_number(engine):
    shown = call(engine, "lcm_expand", messages="20-21")["sources"]
    assert [(each["message"], each["text"]) for each in shown] == [(20, FACT), (21, "Noted: blue door.")]


def test_pages_of_a_summary_add_up_to_all_it_stands_for(engine):
    leaf = next(node for node in engine.memory.graph.nodes.values() if not node.children)
    numbers, page = [], 1
    while True:
        answer = call(engine, "lcm_expand", id=leaf.id, page=page, max_tokens=700)
        numbers += [each["message"] for each in answer["sources"]]
        if "next_page" not in answer:
            break
        page = answer["next_page"]
    assert sorted(set(numbers)) == sorted(index for span in leaf.spans for index in span)


def test_a_condensed_summary_shows_its_children(engine):
    top = next(node for node in engine.memory.graph.nodes.values() if node.children)
    shown = {each["id"] for each in call(engine, "lcm_expand", id=top.id, max_tokens=8_000)["sources"]}
    assert shown == set(top.children)


def test_a_question_is_answered_with_passages(engine):
    passages = call(engine, "lcm_expand_query", question="behind which door does the key hang")["passages"]
    assert passages[0]["message"] == 20


def test_a_question_keeps_to_its_summary(engine):
    leaf = next(
        node
        for node in engine.memory.graph.nodes.values()
        if not node.children and not any(20 in span for span in node.spans)
    )
    passages = call(engine, "lcm_expand_query", question="blue door key hangs", id=leaf.id)["passages"]
    assert all(any(each["message"] in span for span in leaf.spans) for each in passages)


def test_a_summary_is_described(engine):
    node = next(iter(engine.memory.graph.nodes.values()))
    told = call(engine, "lcm_describe", id=node.id)
    assert (told["messages"], told["source_tokens"]) == (node.format_range(), node.source_tokens)


def test_the_status_lists_what_is_in_the_context(engine):
    told = call(engine, "lcm_status")
    assert told["summaries"] == len(engine.memory.graph.nodes)
    assert sum(each["depth"] >= 0 for each in told["in_context"]) == len(told["in_context"])


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lcm_grep", {}),
        ("lcm_grep", {"query": 7}),
        ("lcm_grep", {"query": "x", "scope": "moon"}),
        ("lcm_grep", {"query": "x", "since": "yesterday"}),
        ("lcm_expand", {}),
        ("lcm_expand", {"id": "sum_no"}),
        ("lcm_expand", {"messages": "all"}),
        ("lcm_expand", {"messages": "0-999999"}),
        ("lcm_expand", {"messages": "900000"}),
        ("lcm_describe", {"id": ["x"]}),
        ("lcm_expand_query", {"question": " "}),
        ("lcm_fly", {}),
    ],
)
def test_a_senseless_call_is_answered_with_an_error(engine, name, arguments):
    assert call(engine, name, **arguments)["error"]


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["lcm_grep", "lcm_expand", "lcm_expand_query"]),
    query=st.sampled_from(["meter", "the", "file error line", "harbour coin", ".", "coin " * 900]),
    most=st.integers(200, 2_500),
    page=st.integers(1, 4),
    regex=st.booleans(),
)
def test_no_answer_is_longer_than_it_may_be(engine, name, query, most, page, regex):
    arguments = {"query": query, "question": query, "messages": "3-60", "regex": regex, "page": page}
    answer = engine.handle_tool_call(name, {**arguments, "max_tokens": most})
    assert COUNT(answer) <= most
    json.loads(answer)


@pytest.mark.parametrize("most_chars", [500, 1_500, 6_000])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lcm_grep", {"query": "meter", "max_tokens": 8_000}),
        ("lcm_grep", {"query": "meter " * 400}),
        ("lcm_expand", {"messages": "3-60"}),
        ("lcm_expand_query", {"question": "which meter takes coins?"}),
        ("lcm_status", {}),
    ],
)
def test_an_answer_fits_into_the_characters_that_a_host_has_and_is_whole(engine, name, arguments, most_chars):
    answer = engine.handle_tool_call(name, arguments, most_chars=most_chars)
    assert len(answer) <= most_chars
    assert "error" not in json.loads(answer)


def answering(model):
    """An engine whose model answers questions."""
    items = transcript("openai_chat", turns=40, result_chars=2_000)
    secret = "the password is hunter2-" + "Zq81kd03"
    items[20:20] = [
        {"role": "user", "content": f"{FACT} Note: {secret}"},
        {"role": "assistant", "content": "Noted."},
    ]
    setup = EngineSetup(CompressionPolicy(context_length=WINDOW), prepare_ahead=False, answers_by_model=True)
    engine = LosslessEngine.open(setup)
    engine.compress_result(items)
    engine.summarizer = model
    return engine


def test_a_model_answers_a_question_where_that_is_set():
    asked = []
    engine = answering(lambda request: asked.append(request) or "Behind the blue door [20].")
    told = call(engine, "lcm_expand_query", question="where is the spare key of the meter?")
    assert told["answer"] == "Behind the blue door [20]."
    assert told["passages"][0]["message"] == 20
    assert "blue door" in asked[0].prompt
    assert "where is the spare key" in asked[0].prompt
    assert "hunter2" not in asked[0].prompt
    assert "answer" not in call(engine, "lcm_expand_query", question="where is the key?", page=2)
    assert len(asked) == 1


def test_nobody_asks_a_model_a_question_unless_that_is_set():
    engine = answering(lambda _request: pytest.fail("asked"))
    engine.answers_by_model = False
    assert call(engine, "lcm_expand_query", question="where is the spare key?")["passages"]


@pytest.mark.parametrize("answer", ["", None, OSError("no line, api_key=sk-" + "a1" * 20)])
def test_where_a_model_gives_no_answer_the_passages_do(answer):
    def model(_request):
        if isinstance(answer, OSError):
            raise answer
        return answer

    told = call(answering(model), "lcm_expand_query", question="where is the spare key of the meter?")
    assert told["no_answer"]
    assert "sk-a1" not in told["no_answer"]
    assert told["passages"][0]["message"] == 20


@pytest.mark.parametrize("most", [200, 500, 8_000])
def test_an_answer_of_a_model_keeps_to_the_size_of_the_call_and_hides_secrets(most):
    model = answering(lambda _request: 'He said: "\n\t' * 3_000 + "password: hunter2-" + "Zq81kd03")
    arguments = {"question": "where is the spare key of the meter?", "max_tokens": most}
    answer = model.handle_tool_call("lcm_expand_query", arguments)
    assert COUNT(answer) <= most
    assert json.loads(answer)["passages"]
    assert "hunter2" not in answer.split('"passages"')[0]


class CountingStore:
    """A store that counts how often a part of a history is read."""

    def __init__(self, store):
        self._store = store
        self.reads = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def history(self, *arguments):
        self.reads += 1
        return self._store.history(*arguments)


def test_what_a_question_finds_is_shown_without_reading_each_message_again():
    with open_store("sqlite::memory:") as store:
        session = store.create_session(dialect="openai_chat").id
        said = [{"role": "user", "content": f"The key of meter {number} is blue."} for number in range(30)]
        request = {"role": "user", "content": "Which key is blue?"}
        store.append(session, [*said, request])
        counting = CountingStore(store)
        engine = LosslessEngine.open(EngineSetup(CompressionPolicy(), key=b"key", store=counting))
        engine.on_session_start(session)
        arguments = {"query": "which key is blue", "max_tokens": 8_000}
        for _ in range(2):
            counting.reads = 0
            answer = engine.handle_tool_call("lcm_grep", arguments, messages=[*said, request])
        found = [each["message"] for each in json.loads(answer)["results"]]
        assert len(found) > 20
        assert 30 not in found
        assert counting.reads <= 3


def test_a_search_never_finds_itself():
    items = transcript("openai_chat", turns=40, result_chars=2_000)
    look = {
        "id": "c9",
        "type": "function",
        "function": {"name": "lcm_grep", "arguments": '{"query":"zebra"}'},
    }
    items[20:20] = [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": [look]},
        {"role": "tool", "tool_call_id": "c9", "content": '{"results":[],"query":"zebra"}'},
    ]
    engine = LosslessEngine(WINDOW, prepare_ahead=False)
    engine.compress_result(items)
    assert call(engine, "lcm_grep", query="zebra")["results"] == []
