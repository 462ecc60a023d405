"""Which conversation a request belongs to: by name, by history, after a restart, and where histories part."""

import json

import pytest

from midfold.gateway.turns import find_hint
from midfold.testing import Reply, Upstream

PATH = "/v1/chat/completions"


def said(*words):
    """A history whose odd messages are the user's."""
    return [
        {"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(words)
    ]


def ask(running, *words, **more):
    headers = more.pop("headers", {})
    answer = running.ask(PATH, {"model": "any", "messages": said(*words), **more}, **headers)
    running.settle()
    return answer


def conversations(store):
    return {
        tip.conversation_id: [record.item["content"] for record in store.history(tip.id)]
        for tip in store.conversations()
    }


@pytest.mark.parametrize(
    ("headers", "body", "hint"),
    [
        ({}, {}, ""),
        (
            {"x-midfold-session": "mine", "session-id": "x"},
            {"prompt_cache_key": "p"},
            "x-midfold-session:mine",
        ),
        ({"x-claude-code-session-id": "c"}, {}, "x-claude-code-session-id:c"),
        ({"session-id": "s"}, {"prompt_cache_key": "p"}, "session-id:s"),
        ({}, {"prompt_cache_key": "p", "metadata": {"user_id": "u"}}, "prompt_cache_key:p"),
        ({}, {"metadata": {"user_id": "u"}}, "user_id:u"),
        ({}, {"metadata": {"user_id": 5}, "prompt_cache_key": ["x"]}, ""),
        ({"session-id": "x" * 999}, {}, "session-id:" + "x" * 245),
    ],
)
def test_the_name_that_a_client_gives_its_conversation(headers, body, hint):
    assert find_hint(headers, body) == hint


def test_a_history_that_grows_is_one_conversation(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a")
        ask(running, "a", "ok", "b")
        ask(running, "a", "ok", "b", "ok", "c")
    assert list(conversations(store).values()) == [["a", "ok", "b", "ok"]]


def test_last_words_that_are_changed_make_no_branch(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a", "ok", "b with a typo")
        ask(running, "a", "ok", "b")
        ask(running, "a", "ok", "b", "ok", "a reminder that is sent once")
        ask(running, "a", "ok", "b", "ok", "c", "ok", "d")
    assert list(conversations(store).values()) == [["a", "ok", "b", "ok", "c", "ok"]]


def test_a_history_that_goes_another_way_is_a_branch(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a", "ok", "b", "ok", "c")
        ask(running, "a", "ok", "B", "ok", "C")
        ask(running, "a", "ok", "b", "ok", "c", "ok", "d")
    found = conversations(store)
    assert sorted(found.values()) == [["a", "ok", "B", "ok"], ["a", "ok", "b", "ok", "c", "ok"]]
    branch = next(key for key, words in found.items() if "B" in words)
    assert store.load_state(branch, "client")["branch_of"] in found


def test_names_keep_conversations_apart_that_look_alike(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        for name in ("one", "two"):
            ask(running, "a", "ok", "b", headers={"session_id": name})
        ask(running, "a", "ok", "b", "ok", "c", headers={"session_id": "one"})
        ask(running, "a", "ok", "b", "ok", "d", headers={"session_id": "two"})
        ask(running, "a", "ok", "b", "ok", "c", "ok", "e", headers={"session_id": "one"})
    assert sorted(conversations(store).values()) == [
        ["a", "ok", "b", "ok"],
        ["a", "ok", "b", "ok", "c", "ok"],
    ]


def test_questions_on_the_side_under_one_name_are_conversations_of_their_own(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a", "ok", "b", prompt_cache_key="p")
        ask(running, "make a title", prompt_cache_key="p")
        ask(running, "a", "ok", "b", "ok", "c", prompt_cache_key="p")
    assert sorted(map(len, conversations(store).values())) == [1, 4]


def test_a_restart_finds_it_by_its_history_and_its_name(gateway, store):
    with Upstream(Reply("ok")) as up:
        ask(gateway(up), "a", "ok", "b", headers={"session_id": "one"})
        ask(gateway(up), "a", "ok", "b", "ok", "c", headers={"session_id": "one"})
        ask(gateway(up), "a", "ok", "b", "ok", "c", "ok", "d", headers={"session_id": "another"})
    assert sorted(conversations(store).values()) == [
        ["a", "ok", "b", "ok"],
        ["a", "ok", "b", "ok", "c", "ok"],
    ]


def test_two_gateways_that_take_turns_write_everything_once(other_store, gateway, store):
    with Upstream(Reply("ok")) as up:
        both = [gateway(up), gateway(up, own_store=other_store)]
        words = ["0"]
        for number in range(12):
            ask(both[number % 2], *words)
            words += ["ok", str(number + 1)]
        running_ids = {next(iter(each.app.gateway.parts.index._by_conversation.values())).id for each in both}
    assert list(conversations(store).values()) == [words[:-3]]
    assert len(running_ids) == 1


@pytest.mark.parametrize("headers", [{}, {"session_id": "one"}])
def test_a_gateway_that_dies_after_the_first_request_leaves_no_conversation_behind(gateway, store, headers):
    with Upstream(Reply("ok")) as up:
        ask(gateway(up), "a", headers=headers)
        assert list(conversations(store).values()) == [["a"]]
        ask(gateway(up), "a", "ok", "b", headers=headers)
        ask(gateway(up), "a", "ok", "b", "ok", "c", headers=headers)
    assert list(conversations(store).values()) == [["a", "ok", "b", "ok"]]
    assert {tip.message_count for tip in store.conversations()} == {4}


def test_a_first_request_that_is_sent_again_is_written_once(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a")
        ask(running, "a")
        ask(gateway(up), "a")
        ask(running, "a", "ok", "b")
    assert list(conversations(store).values()) == [["a", "ok"]]


def test_a_conversation_that_ends_after_its_first_answer_is_kept_whole(gateway, store):
    from midfold.gateway.gateway import _end_session

    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a")
        parts = running.app.gateway.parts
        (session,) = parts.index._by_conversation.values()
        _end_session(parts.records, session)
    assert list(conversations(store).values()) == [["a", "ok"]]


def test_a_branch_that_nobody_goes_on_with_leaves_the_memory(store):
    from midfold.gateway.identity import SessionIndex
    from midfold.gateway.records import Records
    from midfold.gateway.turns import read_turn
    from midfold.messages import MessageCache
    from midfold.wire import parse

    now, expired = [0.0], []
    index = SessionIndex(store, idle_seconds=60, clock=lambda: now[0], on_expired=expired.append)
    cache = MessageCache(parse)

    def turn(*words):
        body = json.dumps({"model": "any", "messages": said(*words)}).encode()
        return read_turn(body, "openai_chat", {}, cache)

    first = turn("a", "ok", "b", "ok", "c")
    session, first = index.claim(first)
    Records(store).record(first, session)
    other = turn("a", "ok", "B", "ok", "C")
    Records(store).record(other, session)  # as another gateway may have it
    assert session.branch_of
    now[0] = 100.0
    index.claim(turn("something else"))
    assert expired == [session]
    assert len(index) == 1


def test_conversations_that_begin_alike_go_their_own_ways(gateway, store):
    with Upstream(Reply("ok")) as up:
        running = gateway(up)
        ask(running, "a")
        ask(running, "a")
        ask(running, "a", "one", "b")
        ask(running, "a", "two", "c")
        ask(gateway(up), "a", "one", "b", "ok", "d")
        ask(gateway(up), "a", "two", "c", "ok", "e")
    assert sorted(conversations(store).values()) == [["a", "one", "b", "ok"], ["a", "two", "c", "ok"]]


def test_what_was_said_last_is_written_when_nobody_goes_on(settings_for, store, home):
    from midfold.gateway.records import Records
    from midfold.gateway.session import GatewaySession
    from midfold.messages import Message, Text

    session = GatewaySession("s1", "", "openai_chat")
    store.create_session(session_id="s1", dialect="openai_chat")
    session.is_stored = True
    session.tail, session.reply = [Message("user", (Text("bye"),))], (Message("assistant", (Text("ciao"),)),)
    Records(store).flush(session)
    assert [record.role for record in store.history("s1")] == ["user", "assistant"]
    Records(store).flush(session)
    assert store.count_history("s1") == 2


def test_a_fold_that_shortens_the_newest_result_leaves_nothing_to_be_written_twice(gateway, store):
    from midfold.gateway.gateway import _end_session

    call = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    words = [word for number in range(12) for word in (f"look at zone {number} " * 60, "ok")]
    items = [
        *said(*words, "read it"),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a line of output\n" * 4_000},
        {"role": "system", "content": "Be brief."},
    ]
    with Upstream(Reply("ok")) as up:
        running = gateway(up, model__context_length=8_000, gateway__offload=False)
        answer = running.ask(PATH, {"model": "any", "messages": items})
        running.settle()
        assert answer.changes["x-midfold-folded"] == "1"
        parts = running.app.gateway.parts
        (session,) = parts.index._by_conversation.values()
        _end_session(parts.records, session)
    (tip,) = store.conversations()
    told = [record.item for record in store.history(tip.id)]
    assert [item["role"] for item in told[-4:]] == ["assistant", "tool", "system", "assistant"]
    assert [item["content"] for item in told] == [*(item["content"] for item in items), "ok"]
