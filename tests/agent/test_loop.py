"""A turn: what the user says, what the model and its tools do about it, and what is stored of it."""

import asyncio
import threading

import pytest

from midfold.agent import (
    Agent,
    AgentBusy,
    ApprovalRequested,
    Done,
    ModelCalled,
    NothingToAnswer,
    Notice,
    TextDelta,
    ToolFailed,
    ToolFinished,
    ToolStarted,
    Topic,
    tool,
)
from midfold.errors import ProviderAuthError
from midfold.messages import ToolCall
from midfold.testing.upstream import HttpStatus, Reply, Upstream, UsageReport
from midfold.tokens import CanonicalUsage

APIS = ("openai_chat", "openai_responses", "anthropic")
READ = ToolCall("call_1", "read_file", '{"path": "notes.txt"}')
RUN = ToolCall("call_2", "terminal", '{"command": "echo it works"}')


def finished(events):
    return [event for event in events if isinstance(event, ToolFinished)]


@pytest.mark.parametrize("api", APIS)
def test_a_conversation_with_tools_is_answered_and_stored(api, make_agent, workspace, play, faults_in):
    (workspace / "notes.txt").write_text("the answer is 42\n")
    with Upstream([Reply("I look.", (READ, RUN)), Reply("It is 42.")]) as up:
        agent = make_agent(up, api=api)
        events = play(agent, "What is the answer?")
        assert events[-1] == Done("It is 42.", 2)
        read, ran = finished(events)
        assert "42" in read.text
        assert ran.text == "it works\n"
        assert "the answer is 42" in up.requests[1].body.decode()
        assert agent.store.messages(agent.session_id) == agent._core.conversation.items
        assert agent.usage().calls == 2
        assert faults_in(up) == []


def test_words_come_as_they_are_said_and_usage_after_them(make_agent, play):
    with Upstream(Reply("one two three four five six seven")) as up:
        events = play(make_agent(up), "count")
    assert "".join(event.text for event in events if isinstance(event, TextDelta)).endswith("six seven")
    assert [type(event) for event in events[-2:]] == [ModelCalled, Done]
    assert events[-2].usage.prompt_tokens > 0


def test_async_and_blocking_callers_get_the_same_events(make_agent, tmp_path, workspace, play):
    async def listen(url):
        async with Agent(
            "local/scripted", base_url=url, workspace=workspace, home=tmp_path / "async", summarizer=None
        ) as agent:
            return [type(event) async for event in agent.arun("hello")]

    with Upstream(Reply("Good morning.")) as up:
        blocking = [type(event) for event in play(make_agent(up), "hello")]
        assert asyncio.run(listen(up.url)) == blocking


def test_tools_that_only_read_run_side_by_side(make_agent, play):
    both = asyncio.Barrier(2)

    @tool(reads=True)
    async def meet(name: str) -> str:
        """Wait for the other."""
        async with asyncio.timeout(5):
            await both.wait()
        return name

    calls = tuple(ToolCall(f"c{n}", "meet", f'{{"name": "n{n}"}}') for n in range(2))
    with Upstream([Reply("", calls), Reply("met")]) as up:
        events = play(make_agent(up, tools=[meet]), "go")
    assert sorted(event.text for event in finished(events)) == ["n0", "n1"]


def test_results_stand_in_the_order_of_their_calls(make_agent, play):
    calls = tuple(ToolCall(f"c{n}", name, "{}") for n, name in enumerate(("missing", "list_files", "gone")))
    with Upstream([Reply("", calls), Reply("ok")]) as up:
        agent = make_agent(up)
        play(agent, "go")
        results = [result.call_id for message in agent.messages for result in message.results]
    assert results == ["c0", "c1", "c2"]


def test_a_command_that_nobody_allows_does_not_run(make_agent, workspace):
    call = ToolCall("c", "terminal", '{"command": "touch made"}')
    with Upstream([Reply("", (call,)), Reply("I see.")]) as up:
        events = list(make_agent(up).run("make it"))
    [request] = [event for event in events if isinstance(event, ApprovalRequested)]
    assert request.preview == "touch made"
    assert "did not allow" in finished(events)[0].text
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("answer", [True, False])
def test_a_callback_answers_in_place_of_the_event(answer, make_agent, play, workspace):
    async def approve(request):
        return answer

    call = ToolCall("c", "terminal", '{"command": "touch made"}')
    with Upstream([Reply("", (call,)), Reply("Done.")]) as up:
        events = play(make_agent(up, approve=approve), "make it")
    assert not any(isinstance(event, ApprovalRequested) for event in events)
    assert (workspace / "made").exists() is answer


def test_whatever_a_tool_raises_is_told_to_the_model(make_agent, play):
    @tool
    def fail() -> str:
        """Fail."""
        raise ToolFailed("the door is locked")

    @tool
    def crash() -> str:
        """Crash."""
        raise ZeroDivisionError("by zero")

    calls = (ToolCall("a", "fail", ""), ToolCall("b", "crash", "{}"), ToolCall("c", "fail", "[1]"))
    with Upstream([Reply("", calls), Reply("Well.")]) as up:
        events = play(make_agent(up, tools=[fail, crash]), "go")
    assert [event.text for event in finished(events)] == [
        "Error: the door is locked",
        "Error: ZeroDivisionError: by zero",
        "Error: the arguments are not a JSON object, so nothing was run",
    ]
    assert all(event.is_error for event in finished(events))


@pytest.mark.parametrize(
    ("has_tools", "told"), [(True, "there are read_file, "), (False, "no tools are offered")]
)
def test_a_tool_that_is_not_there_is_told_to_the_model(has_tools, told, make_agent, play):
    with Upstream([Reply("", (ToolCall("a", "fly", "{}"),)), Reply("Well.")]) as up:
        [result] = finished(play(make_agent(up, built_in_tools=has_tools), "go"))
    assert result.text.startswith(f"Error: there is no tool 'fly'; {told}")


def test_a_long_result_is_put_aside_and_can_be_read_back(make_agent, play):
    @tool(reads=True)
    def log() -> str:
        """Return a log."""
        return "\n".join(f"line {number}" for number in range(20_000)) + "\nthe needle"

    search = ToolCall("c2", "read_persisted_output", '{"pattern": "the needle"}')
    with Upstream([Reply("", (ToolCall("c1", "log", ""),)), Reply("", (search,)), Reply("Found.")]) as up:
        events = play(make_agent(up, tools=[log]), "search the log")
    first, second = finished(events)
    assert first.persisted in first.text
    assert len(first.text) < 3_000
    assert "the needle" in second.text


def test_an_agent_does_one_thing_at_a_time(make_agent):
    with Upstream(Reply("hello")) as up:
        agent = make_agent(up)
        run = agent.run("hi")
        next(run)
        with pytest.raises(AgentBusy):
            agent.compress()
        with pytest.raises(AgentBusy):
            agent.new_session()
        run.close()
        assert agent.new_session()


def test_an_error_of_the_provider_is_raised_and_the_prompt_is_kept(make_agent, play):
    with Upstream([HttpStatus(401), Reply("Here I am.")]) as up:
        agent = make_agent(up)
        with pytest.raises(ProviderAuthError):
            play(agent, "hello?")
        assert [message.text for message in agent.messages] == ["hello?"]
        assert play(agent)[-1] == Done("Here I am.", 1)


def test_a_turn_without_anything_to_answer_is_refused(make_agent, play):
    with Upstream(Reply("Yes.")) as up:
        agent = make_agent(up)
        with pytest.raises(NothingToAnswer, match="nothing to answer"):
            play(agent)
        play(agent, "Really?")
        with pytest.raises(NothingToAnswer, match="nothing to answer"):
            play(agent, "  ")


def test_a_turn_has_a_bounded_number_of_steps(make_agent, play):
    with Upstream(Reply("", (ToolCall("c", "list_files", "{}"),))) as up:
        events = play(make_agent(up, max_steps=3), "loop")
        assert len(up.requests) == 3
    assert isinstance(events[-1], Done)
    assert any(isinstance(event, Notice) and event.topic is Topic.STEPS for event in events)


def test_a_reply_without_usage_is_estimated(make_agent, play):
    with Upstream(Reply("hi", usage=UsageReport.MISSING)) as up:
        events = play(make_agent(up), "hello")
    [called] = [event for event in events if isinstance(event, ModelCalled)]
    assert called.usage.total_tokens == 0
    assert called.tokens > 100


def test_a_reply_that_was_cut_or_says_nothing_is_mentioned(make_agent, play):
    with Upstream([Reply("half a sen", finish="length"), Reply("")]) as up:
        agent = make_agent(up)
        cut, silent = play(agent, "talk"), play(agent, "talk")
    assert any("output cap" in event.text for event in cut if isinstance(event, Notice))
    assert any("said nothing" in event.text for event in silent if isinstance(event, Notice))


def test_a_refusal_without_words_is_one_warning(make_agent, play):
    with Upstream(Reply("", finish="content_filter")) as up:
        events = play(make_agent(up), "talk")
    assert [event.text for event in events if isinstance(event, Notice)] == ["The model refused to answer."]


def test_a_call_that_is_repeated_is_told_before_the_wait(make_agent, play):
    with Upstream(
        [HttpStatus(503, {"error": {"message": "busy"}}, {"retry-after": "0.02"}), Reply("Yes.")]
    ) as up:
        events = play(make_agent(up), "talk")
    [notice] = [event.text for event in events if isinstance(event, Notice)]
    assert notice.startswith("The model cannot be reached, or is busy; trying again in 0.")


def test_a_tool_takes_no_longer_because_somebody_thinks_about_it(make_agent, play):
    def approve(request):
        threading.Event().wait(0.15)
        return True

    with Upstream([Reply("", (RUN,)), Reply("Done.")]) as up:
        [result] = finished(play(make_agent(up, approve=approve), "run it"))
    assert result.seconds < 0.15


def test_breakpoints_are_set_for_claude_and_never_stored(make_agent, play, faults_in):
    with Upstream(Reply("Bonjour.")) as up:
        agent = make_agent(up, model="local/claude-sonnet-4-5", api="anthropic", cache_ttl="1h")
        play(agent, "Salut")
        assert agent.status().caching.startswith("on (claude")
        assert "cache_control" not in str(agent.store.messages(agent.session_id))
        assert up.requests[0].body.count(b'"ttl":"1h"') == 2
        assert faults_in(up) == []


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic"])
def test_a_system_prompt_that_was_stored_in_blocks_is_sent(api, make_agent, play):
    blocks = [{"type": "text", "text": "Answer in French."}, {"type": "text", "text": "Be brief."}]
    with Upstream(Reply("Bonjour.")) as up:
        agent = make_agent(up, api=api)
        session = agent.store.create_session(dialect=api, system=blocks).id
        agent.store.append(session, {"role": "user", "content": "Hello."})
        agent.resume(session)
        play(agent)
        assert agent.system == "Answer in French.\nBe brief."
        assert "Answer in French." in up.requests[-1].body.decode()


def test_the_approach_of_a_fold_is_told_inside_a_turn_of_many_tools(make_agent, play, workspace):
    (workspace / "a.txt").write_text("lamp")
    look = Reply("", (ToolCall("c1", "read_file", '{"path": "a.txt"}'),), usage=CanonicalUsage(9_000, 10))
    with Upstream([look, Reply("", (ToolCall("c2", "list_files", "{}"),)), Reply("Done.")]) as up:
        events = play(make_agent(up, context_length=12_000), "look")
    names = [
        event.name if isinstance(event, ToolStarted) else "approach"
        for event in events
        if isinstance(event, ToolStarted) or (isinstance(event, Notice) and event.topic is Topic.APPROACH)
    ]
    assert names == ["read_file", "approach", "list_files"]
