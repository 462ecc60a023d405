"""Whatever stops a run, and wherever, the session is whole: nothing half stored, no call left in the air."""

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, aclosing
from pathlib import Path

import pytest

from midfold.agent import (
    Agent,
    ApprovalRequested,
    Done,
    Interrupted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    allow_edits,
)
from midfold.agent.model_call import BROKEN_OFF, STOPPED
from midfold.agent.session import UNKNOWN_RESULT
from midfold.agent.tool_calls import NOT_STARTED
from midfold.errors import ProviderUnavailable
from midfold.messages import ToolCall
from midfold.testing.upstream import NEVER, DeliveryFault, Ending, Reply, Upstream

APIS = ("openai_chat", "openai_responses", "anthropic")
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60
SLOW = DeliveryFault(chunk_seconds=0.05)
SLEEP = ToolCall("call_1", "terminal", '{"command": "sleep 60 & echo $! > pid; wait"}')


def goes_on(agent, play, up, faults_in):
    """Prove that the session can be gone on with, and that every request was legal."""
    assert isinstance(play(agent, "Are you still there?")[-1], Done)
    assert faults_in(up) == []


@pytest.mark.parametrize("api", APIS)
def test_stopped_before_the_reply_begins(api, make_agent, play, faults_in):
    with Upstream([NEVER, Reply("Yes.")]) as up:
        agent = make_agent(up, api=api)
        threading.Thread(
            target=lambda: (up.wait_until(lambda: len(up.requests) == 1), agent.interrupt())
        ).start()
        assert play(agent, "hello")[-1] == Interrupted("")
        assert [message.text for message in agent.messages] == ["hello"]
        goes_on(agent, play, up, faults_in)


@pytest.mark.parametrize("api", APIS)
def test_stopped_in_the_middle_of_a_reply(api, make_agent, play, faults_in):
    with Upstream(
        [Reply("It was a dark and stormy night, and the rain fell", fault=SLOW), Reply("Yes.")]
    ) as up:
        agent = make_agent(up, api=api)
        events = []
        for event in agent.run("Tell me a story."):
            events.append(event)
            if isinstance(event, TextDelta):
                agent.interrupt()
        assert isinstance(events[-1], Interrupted)
        said = agent.messages[-1].text
        assert events[-1].text
        assert said == f"{events[-1].text.rstrip()}\n\n{STOPPED}"
        assert agent.store.records(agent.session_id)[-1].finish_reason == "incomplete"
        goes_on(agent, play, up, faults_in)


@pytest.mark.parametrize("api", APIS)
def test_stopped_while_a_command_runs(api, make_agent, play, faults_in, workspace, has_ended):
    calls = (SLEEP, ToolCall("call_2", "write_file", '{"path": "b", "content": "b"}'))
    with Upstream([Reply("", calls), Reply("Yes.")]) as up:
        agent = make_agent(up, api=api, approve=bool)
        events = []
        for event in agent.run("Wait."):
            events.append(event)
            if isinstance(event, ToolStarted):
                pid = wait_for_pid(workspace / "pid")
                agent.interrupt()
        assert isinstance(events[-1], Interrupted)
        results = [result.text for message in agent.messages for result in message.results]
        assert results[0].startswith("[stopped by the user")
        assert results[1] == NOT_STARTED
        assert not (workspace / "b").exists()
        assert has_ended(pid)
        goes_on(agent, play, up, faults_in)


def wait_for_pid(path: Path) -> int:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        threading.Event().wait(0.01)
    raise AssertionError("the command did not start")


def test_stopped_while_somebody_is_asked(make_agent, play, faults_in):
    asked = threading.Event()

    async def approve(request):
        asked.set()
        await asyncio.Event().wait()

    with Upstream([Reply("", (SLEEP,)), Reply("Yes.")]) as up:
        agent = make_agent(up, approve=approve)
        threading.Thread(target=lambda: (asked.wait(5), agent.interrupt())).start()
        assert isinstance(play(agent, "Wait.")[-1], Interrupted)
        goes_on(agent, play, up, faults_in)


def test_an_answer_that_comes_with_an_interrupt_is_no_error():
    request = ApprovalRequested("c", "terminal", "terminal make", "make", {})
    request.verdict.cancel()  # what an interrupt does, at any moment
    request.answer(True)
    assert request.verdict.cancelled()


def test_stopped_in_a_fold_changes_nothing_and_the_next_one_starts_afresh(make_agent, play, faults_in):
    def answer(received):
        is_summary = len(received.messages) == 1 and len(up.requests) > 2
        return NEVER if is_summary else Reply("Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up, summarizer="main")
        for _ in range(12):
            play(agent, LONG)
        before, session, requests = agent.messages, agent.session_id, len(up.requests)
        threading.Thread(
            target=lambda: (up.wait_until(lambda: len(up.requests) > requests), agent.interrupt())
        ).start()
        result = agent.compress()
        assert (result.changed, result.reason) == (False, "interrupted")
        assert (agent.messages, agent.session_id) == (before, session)
        goes_on(agent, play, up, faults_in)
        agent.store.acquire_lease(session, "another")  # it was given back


def test_ctrl_c_ends_a_blocking_run_with_the_session_whole(make_agent, play, faults_in):
    with Upstream([NEVER, Reply("Yes.")]) as up:
        agent = make_agent(up)

        def press() -> None:
            up.wait_until(lambda: len(up.requests) == 1)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            play(agent, "hello")
        goes_on(agent, play, up, faults_in)


def test_a_run_that_nobody_reads_on_is_stopped(make_agent, play, faults_in):
    with Upstream([Reply("It was a dark and stormy night, and so on", fault=SLOW), Reply("Yes.")]) as up:
        agent = make_agent(up)
        run = agent.run("Tell me a story.")
        assert isinstance(next(run), TextDelta)
        run.close()
        assert STOPPED in agent.messages[-1].text
        goes_on(agent, play, up, faults_in)


def test_a_cancelled_task_leaves_the_session_whole(tmp_path, workspace):
    async def listen(agent):
        async for event in agent.arun("Tell me a story."):
            if isinstance(event, TextDelta):
                began.set()

    async def run(url):
        async with Agent(
            "local/scripted", base_url=url, home=tmp_path, workspace=workspace, summarizer=None
        ) as agent:
            task = asyncio.create_task(listen(agent))
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert STOPPED in agent.messages[-1].text
            return [event async for event in agent.arun("Are you there?")][-1]

    began = asyncio.Event()
    with Upstream([Reply("It was a dark and stormy night, and so on", fault=SLOW), Reply("Yes.")]) as up:
        assert asyncio.run(run(up.url)) == Done("Yes.", 1)


@pytest.mark.parametrize("api", APIS)
def test_a_line_that_breaks_leaves_a_beginning_that_says_so(api, make_agent, play, faults_in):
    broken = DeliveryFault(cut_at=2_500, ending=Ending.RESET)
    with Upstream([Reply("word " * 400, fault=broken), Reply("Yes.")]) as up:
        agent = make_agent(up, api=api)
        with pytest.raises(ProviderUnavailable):
            play(agent, "Tell me a story.")
        assert agent.messages[-1].text.endswith(BROKEN_OFF)
        goes_on(agent, play, up, faults_in)


def test_closing_stops_what_is_under_way(make_agent):
    with Upstream(Reply("It was a dark and stormy night, and so on", fault=SLOW)) as up:
        agent = make_agent(up)
        run = agent.run("Tell me a story.")
        next(run)
        agent.close()
        assert list(run) == []


KILLED = """
import json, os, signal, sys
import midfold.providers.http
from midfold.agent import *
from midfold.tokens import TokenCounter
TokenCounter("local/scripted").count_text("word")  # what takes long is done once, before the forks

def run(url, home, workspace, api, when):
    agent = Agent("local/scripted", base_url=url, home=home, workspace=workspace, api=api,
                  summarizer=None, approve=lambda request: True)
    print(json.dumps([when, agent.session_id]), flush=True)
    for event in agent.run("Do something."):
        if isinstance(event, globals()[when]):
            os.kill(os.getpid(), signal.SIGKILL)

for case in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        run(*case)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
"""
KILLS = {"ToolStarted": "openai_chat", "ToolFinished": "anthropic", "TextDelta": "openai_responses"}


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Agents that were killed at an event, by the name of that: where they kept things, and their model."""
    write = ToolCall("call_1", "write_file", '{"path": "made", "content": "yes"}')
    with ExitStack() as stack:
        upstreams = {
            when: stack.enter_context(Upstream([Reply("I write it.", (write,)), Reply("Yes.")]))
            for when in KILLS
        }
        homes = {when: tmp_path_factory.mktemp(when) for when in KILLS}
        cases = [
            (up.url, str(homes[when] / "home"), str(homes[when]), KILLS[when], when)
            for when, up in upstreams.items()
        ]
        command = [sys.executable, "-c", KILLED, json.dumps(cases)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        sessions = dict(map(json.loads, done.stdout.splitlines()))
        yield {when: (upstreams[when], homes[when], sessions[when]) for when in KILLS}


@pytest.mark.slow
@pytest.mark.parametrize(("when", "api"), KILLS.items())
def test_a_killed_process_is_gone_on_with_at_its_last_durable_message(
    when, api, killed, make_agent, play, faults_in
):
    up, folder, session = killed[when]
    agent = make_agent(up, api=api, session=session, home=folder / "home", workspace=folder)
    assert agent.messages[0].text == "Do something."
    last = play(agent)[-1]
    results = [result.text for message in agent.messages for result in message.results]
    assert faults_in(up) == []
    if when == "TextDelta":  # nothing of the reply was durable, so it is asked for again
        return
    assert last == Done("Yes.", 1)
    # What a tool gave may have become durable between its event and the kill.
    known = "Wrote made: 1 lines, 3 characters."
    allowed = {"ToolStarted": {UNKNOWN_RESULT}, "ToolFinished": {UNKNOWN_RESULT, known}}
    assert len(results) == 1
    assert results[0] in allowed[when]


def test_an_unanswered_question_in_a_killed_run_never_ran(make_agent, play, workspace):
    with Upstream(
        [Reply("", (ToolCall("c", "terminal", '{"command": "touch made"}'),)), Reply("Yes.")]
    ) as up:
        agent = make_agent(up)
        for event in agent.run("make it"):
            if isinstance(event, ApprovalRequested):
                break
        assert not (workspace / "made").exists()


@pytest.mark.parametrize("stop", ["interrupt", "leave"])
def test_stopped_at_the_end_of_a_writing_tool_the_next_one_does_not_start(tmp_path, workspace, stop):
    async def run(url):
        where = {"base_url": url, "home": tmp_path, "workspace": workspace}
        async with Agent("local/scripted", summarizer=None, approve=allow_edits, **where) as agent:
            async with aclosing(agent.arun("write both")) as events:
                async for event in events:
                    if isinstance(event, ToolFinished) and stop == "leave":
                        break
                    if isinstance(event, ToolFinished):
                        agent.interrupt()
            return [result.text for message in agent.messages for result in message.results]

    calls = tuple(
        ToolCall(f"call_{name}", "write_file", json.dumps({"path": name, "content": "x"})) for name in "ab"
    )
    with Upstream([Reply("", calls), Reply("Done.")]) as up:
        assert asyncio.run(run(up.url))[1] == NOT_STARTED
    assert [path.name for path in workspace.iterdir()] == ["a"]
