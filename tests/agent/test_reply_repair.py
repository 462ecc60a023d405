"""Whatever a model writes for a call, the next request is one that the provider takes."""

import json

import pytest

from midfold.agent import Done, ToolFinished, tool
from midfold.agent.reply_repair import UNREADABLE, repair_reply
from midfold.messages import ToolCall
from midfold.testing.upstream import FinishReason, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.wire import apis, parse

APIS = ("openai_chat", "openai_responses", "anthropic")
BROKEN = '{"path": "a", "content": "tru'


def finished(events):
    return [event for event in events if isinstance(event, ToolFinished)]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "calls",
    [
        (ToolCall("c", "list_files", '{"path": '),),
        (ToolCall("c", "list_files", "[1]"),),
        (ToolCall("c", "list_files", "null"),),
        (ToolCall("c", "list_files", ""),),
        (ToolCall("", "list_files", "{}"),),
        (ToolCall("", "list_files", "{}"), ToolCall("", "list_files", "{}")),
        (ToolCall("c", "list_files", "{}"), ToolCall("c", "list_files", '{"path": "."}')),
        (ToolCall("c", "no such tool", "{}"),),
        (ToolCall("c", "x" * 300, "{}"),),
        (ToolCall("c", "tool\x1b\n", "{}"),),
        (ToolCall("c", "", "{}"),),
        (ToolCall("an id/with marks", "a b", "[" * 5_000),),
    ],
    ids=lambda calls: f"{len(calls)} {calls[0].id}-{calls[0].name[:9]!r}-{calls[0].arguments[:9]}",
)
def test_a_malformed_call_is_answered_and_every_request_is_legal(make_agent, play, faults_in, api, calls):
    with Upstream([Reply("Looking.", calls), Reply("Done."), Reply("Still here.")]) as up:
        agent = make_agent(up, api=api)
        events = play(agent, "Look.")
        assert events[-1] == Done("Done.", 2)
        assert len(finished(events)) == len(calls)
        assert play(agent, "Are you there?")[-1].text == "Still here."
        assert faults_in(up) == []
        assert len(up.requests) == 3
        ids = [call.id for message in agent.messages for call in message.calls]
        assert len(set(ids)) == len(calls)
        assert ids == [result.call_id for message in agent.messages for result in message.results]


@pytest.mark.parametrize("api", APIS)
def test_what_the_model_wrote_is_kept_and_it_is_told_that_nothing_ran(make_agent, play, workspace, api):
    calls = (ToolCall("c", "write_file", BROKEN),)
    with Upstream([Reply("", calls), Reply("Sorry.")]) as up:
        agent = make_agent(up, api=api)
        [result] = finished(play(agent, "Write."))
    assert result.is_error
    assert "not a JSON object" in result.text
    [call] = [call for message in agent.messages for call in message.calls]
    assert json.loads(call.arguments) == {UNREADABLE: BROKEN}
    assert list(workspace.iterdir()) == []


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("arguments", [BROKEN, "", "{}"])
def test_a_call_that_the_output_cap_cut_is_not_run(make_agent, play, faults_in, api, arguments):
    runs = []

    @tool
    def clean(path: str = ".") -> str:
        """Take everything out."""
        runs.append(path)
        return "gone"

    cut = Reply("Writing.", (ToolCall("c", "clean", arguments),), finish=FinishReason.LENGTH)
    with Upstream([cut, Reply("In pieces, then.")]) as up:
        agent = make_agent(up, api=api, tools=[clean])
        [result] = finished(play(agent, "Clean."))
        assert faults_in(up) == []
    assert runs == []
    assert "output cap" in result.text


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("arguments", [BROKEN, "[1]", "null", '"x"'])
@pytest.mark.parametrize("text", ["Writing.", ""])
def test_a_mended_reply_brings_no_words_of_a_user_along(make_agent, play, api, arguments, text):
    calls = (ToolCall("c", "write_file", arguments),)
    with Upstream([Reply(text, calls), Reply("Sorry.")]) as up:
        agent = make_agent(up, api=api)
        play(agent, "Write.")
    assert [message.text for message in agent.messages if message.role == "user" and message.text] == [
        "Write."
    ]
    assert [message.text for message in agent.messages if message.role == "assistant" and message.text] == [
        *([text] if text else []),
        "Sorry.",
    ]


def test_a_mended_call_leaves_the_signed_thinking_before_it_as_it_was():
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk"}
    call = {"type": "tool_use", "id": "c", "name": "list_files", "input": [1]}
    reply = parse([{"role": "assistant", "content": [thinking, call]}], "anthropic")
    completion = apis.Completion(
        "anthropic", tuple(reply), apis.Finish.CALLS, CanonicalUsage(), None, "tool_use", "m"
    )
    [item] = repair_reply(completion, "anthropic", used_ids=(), tools=["list_files"]).items
    assert item["content"] == [thinking, {**call, "input": {UNREADABLE: "[1]"}}]


def test_ids_that_repeat_from_turn_to_turn_are_told_apart(make_agent, play, faults_in):
    again = Reply("", (ToolCall("call_0", "list_files", "{}"),))
    with Upstream([again, again, Reply("Done.")]) as up:
        agent = make_agent(up, api="anthropic")
        play(agent, "Look twice.")
        assert faults_in(up) == []


def test_a_strange_id_that_its_server_takes_is_left_as_it_is(make_agent, play):
    with Upstream([Reply("", (ToolCall("functions.list:0", "list_files", "{}"),)), Reply("Done.")]) as up:
        agent = make_agent(up, api="openai_chat")
        play(agent, "Look.")
    assert [call.id for message in agent.messages for call in message.calls] == ["functions.list:0"]


def test_a_stored_session_that_no_provider_takes_is_mended_from_its_first_request_on(
    make_agent, play, faults_in
):
    with Upstream(then=Reply("Hello.")) as up:
        agent = make_agent(up, api="anthropic")
        play(agent, "hello")
        call = {"type": "tool_use", "id": "", "name": "a b", "input": "text"}
        result = {"type": "tool_result", "tool_use_id": "", "content": "none"}
        agent.store.append(
            agent.session_id,
            [
                {"role": "user", "content": "look"},
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ],
        )
        play(make_agent(up, api="anthropic", session=agent.session_id), "And now?")
        assert faults_in(up) == []
