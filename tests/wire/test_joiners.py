"""Answers that are joined: hidden calls are left out, numbers go on, usage adds up, all else stays."""

import json

import pytest

from midfold.messages import ToolCall
from midfold.testing import Reply, Upstream
from midfold.wire import sse
from midfold.wire.apis import Finish, StreamReader, get_api
from midfold.wire.joiners import add_items, can_join, name_tools, open_joiner

HIDDEN = frozenset({"recall"})
PATHS = {"openai_chat": "chat/completions", "anthropic": "messages", "openai_responses": "responses"}
RECALL = ToolCall("r1", "recall", '{"query":"x"}')
OWN = ToolCall("o1", "read_file", '{"path":"x"}')


def answer_of(dialect, reply, **more):
    """The bytes with which a provider streams a reply, or its body."""
    import http.client

    body = {"model": "any", "stream_options": {"include_usage": True}, **more}
    body |= (
        {"input": "hi"}
        if dialect == "openai_responses"
        else {"messages": [{"role": "user", "content": "hi"}]}
    )
    with Upstream(reply) as up:
        connection = http.client.HTTPConnection(up.url.removeprefix("http://"), timeout=10)
        connection.request(
            "POST", f"/v1/{PATHS[dialect]}", json.dumps(body), {"content-type": "application/json"}
        )
        data = connection.getresponse().read()
        connection.close()
    return data


def join(dialect, *streams):
    joiner = open_joiner(dialect, HIDDEN)
    shown = b""
    for number, stream in enumerate(streams):
        if number:
            joiner.go_on()
        events = sse.SseReader()
        shown += b"".join(map(joiner.take, [*events.feed(stream), *events.close()]))
    return shown + joiner.finish()


def read(dialect, stream):
    reader = StreamReader(get_api(dialect))
    for _ in [*reader.feed(stream), *reader.finish()]:
        pass
    return reader.completion()


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize(
    "reply", [Reply("Hello."), Reply("Wait.", (OWN,), reasoning="Hm."), Reply("", (OWN,))]
)
def test_a_stream_without_hidden_calls_stays_as_it_came(dialect, reply):
    stream = answer_of(dialect, reply, stream=True)
    assert join(dialect, stream) == stream


@pytest.mark.parametrize("dialect", PATHS)
def test_two_streams_make_one(dialect):
    first = answer_of(dialect, Reply("One.", (RECALL,), reasoning="Hm."), stream=True)
    second = answer_of(dialect, Reply("Two.", (OWN,), reasoning="So."), stream=True)
    joined = read(dialect, join(dialect, first, second))
    assert [call.name for call in joined.calls] == ["read_file"]
    assert joined.finish is Finish.CALLS
    assert "One." in joined.text
    assert "Two." in joined.text
    one, two = read(dialect, first).usage, read(dialect, second).usage
    assert joined.usage == one + two
    shown = join(dialect, first, second)
    assert shown.count(b"[DONE]") <= 1
    assert b"recall" not in shown
    assert shown.count(b"message_start") <= 2  # the name of the event, and its type


@pytest.mark.parametrize("dialect", PATHS)
def test_a_model_that_only_wanted_hidden_tools_has_stopped(dialect):
    joined = read(dialect, join(dialect, answer_of(dialect, Reply("One.", (RECALL,)), stream=True)))
    assert joined.finish is Finish.STOP
    assert not joined.calls


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("calls", [(RECALL, OWN), (OWN, RECALL)])
def test_a_call_beside_a_hidden_one_has_the_number_it_would_have_alone(dialect, calls):
    shown = join(dialect, answer_of(dialect, Reply("", calls), stream=True))
    alone = join(dialect, answer_of(dialect, Reply("", (OWN,)), stream=True))
    assert read(dialect, shown).calls == read(dialect, alone).calls
    assert indexes(shown) == indexes(alone)


def indexes(stream):
    """All numbers that events give to calls, blocks and items."""
    found = set()

    def collect(value):
        if isinstance(value, dict):
            found.update((key, value[key]) for key in ("index", "output_index") if key in value)
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    for event in sse.SseReader().feed(stream):
        if event.data.startswith("{"):
            collect(json.loads(event.data))
    return found


def ids(value):
    """Every id of an answer: beside what is known of it, or of the response in an event."""
    if not isinstance(value, dict):
        return set()
    answers = (value, value.get("response"), value.get("message"))
    prefixes = ("chatcmpl", "resp", "msg")
    found = [each["id"] for each in answers if isinstance(each, dict) and isinstance(each.get("id"), str)]
    return {each for each in found if each.startswith(prefixes)}


@pytest.mark.parametrize("dialect", PATHS)
def test_a_stream_of_two_has_the_id_that_it_began_with(dialect):
    first = answer_of(dialect, Reply("So.", (RECALL,)), stream=True)
    second = answer_of(dialect, Reply("It was x."), stream=True)
    second = second.replace(b"resp_", b"resp_other").replace(b"chatcmpl-", b"chatcmpl-other")
    events = sse.SseReader()
    shown = events.feed(join(dialect, first, second))
    found = [ids(json.loads(event.data)) for event in shown if event.data.startswith("{")]
    assert len(set().union(*found)) == 1


@pytest.mark.parametrize("dialect", PATHS)
def test_whole_replies_are_joined_alike(dialect):
    bodies = [
        json.loads(answer_of(dialect, Reply("One.", (RECALL,)))),
        json.loads(answer_of(dialect, Reply("Two.", (OWN,)))),
    ]
    joiner = open_joiner(dialect, HIDDEN)
    for body in bodies:
        joiner.take_whole(body)
    joined = get_api(dialect).read(joiner.whole(), None)
    assert [call.name for call in joined.calls] == ["read_file"]
    assert joined.text.replace("\n", "") == "One.Two."
    alone = open_joiner(dialect, HIDDEN)
    alone.take_whole(bodies[1])
    assert alone.whole() is None


def responses(*kinds):
    """A stream of the Responses API with items of these kinds, and their response at its end."""
    output = [
        {"type": "reasoning", "id": f"rs_{number}", "summary": []}
        if kind == "reasoning"
        else {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"c{number}",
            "name": kind,
            "arguments": "{}",
        }
        for number, kind in enumerate(kinds)
    ]
    events = [
        {"type": "response.created", "response": {"id": "r", "tools": [{"name": "recall"}, {"name": "own"}]}}
    ]
    for number, item in enumerate(output):
        events += [
            {"type": f"response.output_item.{step}", "output_index": number, "item": item}
            for step in ("added", "done")
        ]
    end = {
        "id": "r",
        "status": "completed",
        "output": output,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    events.append({"type": "response.completed", "response": end})
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (each["type"].encode(), json.dumps(each).encode()) for each in numbered
    )


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        (("reasoning", "recall"), []),
        (("reasoning", "own"), ["rs_0", "fc_1"]),
        (("reasoning", "recall", "own"), ["rs_0", "fc_2"]),
        (("reasoning", "recall", "reasoning", "own"), ["rs_2", "fc_3"]),
        (("own", "reasoning", "recall"), ["fc_0"]),
        (("own", "reasoning"), ["fc_0", "rs_1"]),
    ],
)
def test_reasoning_is_shown_with_what_it_led_to_and_not_alone(kinds, shown):
    events = [
        json.loads(each.data) for each in sse.SseReader().feed(join("openai_responses", responses(*kinds)))
    ]
    assert [each["item"]["id"] for each in events if each["type"] == "response.output_item.added"] == shown
    assert [each["id"] for each in events[-1]["response"]["output"]] == shown
    assert [each["sequence_number"] for each in events] == list(range(len(events)))
    added = [each["output_index"] for each in events if each["type"] == "response.output_item.added"]
    assert added == list(range(len(added)))
    assert [tool["name"] for tool in events[0]["response"]["tools"]] == ["own"]


def test_requests_whose_answers_cannot_be_joined():
    assert can_join({}, "openai_chat")
    assert can_join({"n": 1}, "openai_chat")
    assert not can_join({"n": 2}, "openai_chat")
    assert not can_join({"background": True}, "openai_responses")
    assert not can_join({}, "sharegpt")


def test_names_of_tools_of_any_api():
    tools = [{"name": "a"}, {"type": "function", "function": {"name": "b"}}, {"type": "web_search"}, "x"]
    assert name_tools(tools) == {"a", "b"}


def test_reasoning_that_nobody_keeps_is_repeated_only_where_it_is_sealed():
    items = [{"type": "reasoning", "id": "a"}, {"type": "reasoning", "id": "b", "encrypted_content": "…"}]
    assert add_items({"input": [], "store": False}, "openai_responses", items)["input"] == items[1:]
    assert add_items({"input": []}, "openai_responses", items)["input"] == items
