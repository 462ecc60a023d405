"""Two agents on one session: whoever comes second is told, and adds nothing to what it has not seen."""

import threading

import pytest

from midfold.agent import ContinuedElsewhere, Done, Notice, Topic, tool
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream
from midfold.tokens import CanonicalUsage

LONG = "The meter takes coins and cards. " * 60


def talk(agent, play, turns=12):
    """Say something long a number of times."""
    for turn in range(turns):
        play(agent, f"Turn {turn}: {LONG}")


def stored_texts(agent):
    return [item["content"] for item in agent.store.messages(agent.session_id)]


def test_a_session_that_somebody_else_went_on_with_takes_nothing_more(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "One.")
        other = make_agent(up, session=agent.session_id)
        play(other, "Two.")
        with pytest.raises(ContinuedElsewhere) as caught:
            play(agent, "Three.")
        assert [message.text for message in other.messages] == ["One.", "Noted.", "Two.", "Noted."]
        assert agent.store.messages(agent.session_id) == other.store.messages(other.session_id)
        agent.resume(caught.value.session_id)
        play(agent, "Three.")
        assert [message.text for message in agent.messages][2:] == ["Two.", "Noted.", "Three.", "Noted."]


def test_a_refused_turn_leaves_a_session_that_somebody_else_ended_as_it_is(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "One.")
        other = make_agent(up, session=agent.session_id)
        play(other, "Two.")
        other.close()
        ended = agent.store.session(agent.session_id)
        with pytest.raises(ContinuedElsewhere):
            play(agent, "Three.")
        assert agent.store.session(agent.session_id) == ended


def test_a_session_that_somebody_else_folded_is_named(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        for _ in range(12):
            play(agent, "The meter takes coins and cards. " * 60)
        other = make_agent(up, session=agent.session_id)
        assert other.compress().changed
        with pytest.raises(ContinuedElsewhere, match=other.session_id):
            play(agent, "Go on.")


def test_a_session_that_somebody_else_only_looked_at_goes_on(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "One.")
        make_agent(up, session=agent.session_id).close()
        play(agent, "Two.")
        assert len(agent.messages) == 4


@pytest.mark.parametrize("change", ["compress", "undo", "set_model"])
def test_an_agent_that_has_not_seen_everything_neither_folds_nor_unfolds(change, make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, context_length=60_000)
        talk(agent, play)
        if change == "undo":
            agent.compress()
        other = make_agent(up, session=agent.session_id)
        play(other, "Use port 9999.")
        before, asked = agent.messages, len(up.requests)
        do = {
            "compress": agent.compress,
            "undo": agent.undo,
            "set_model": lambda: agent.set_model("local/small", base_url=up.url, context_length=6_000),
        }[change]
        for _ in range(2):
            with pytest.raises(ContinuedElsewhere, match=other.session_id):
                do()
        with pytest.raises(ContinuedElsewhere):
            play(agent, "Go on.")
        assert (agent.messages, len(up.requests)) == (before, asked)
        agent.resume(other.session_id)
        assert agent.messages == other.messages


def test_a_fold_before_a_request_that_finds_more_than_is_here_stops_the_turn(make_agent, play):
    def interfere(session, _):
        agent.store.append(session, {"role": "user", "content": "Use port 9999."})

    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, before_fold=[interfere], context_length=12_000)
        talk(agent, play, 16)
        asked = len(up.requests)
        with pytest.raises(ContinuedElsewhere):
            play(agent, "Go on. " + LONG * 5)
        assert len(up.requests) == asked
        assert agent.status().folds == 0


def test_closing_an_agent_that_only_looked_leaves_the_session_open(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "One.")
        make_agent(up, session=agent.session_id).close()
        assert agent.store.session(agent.session_id).ended_at is None
        agent.close()
        again = make_agent(up, session=agent.session_id)
        assert again.store.session(agent.session_id).ended_at is not None


def test_a_session_that_is_closed_while_the_model_thinks_keeps_the_reply_and_what_it_used(make_agent, play):
    def answer(received):
        if "Two." in received.body.decode():
            other.close()
        return Reply("Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up)
        play(agent, "One.")
        other = make_agent(up, session=agent.session_id)
        play(other, "And more.")
        agent.resume(other.session_id)
        assert isinstance(play(agent, "Two.")[-1], Done)
        assert stored_texts(agent) == ["One.", "Noted.", "And more.", "Noted.", "Two.", "Noted."]
        assert len(agent.store.calls(agent.session_id)) == len(up.requests) == 3


def test_a_session_that_is_closed_while_a_tool_runs_keeps_its_result(make_agent, play, faults_in):
    @tool
    def measure() -> str:
        """Measure something."""
        agent.store.end_session(agent.session_id)
        return "42"

    with Upstream([Reply("", (ToolCall("c1", "measure", "{}"),)), Reply("It is 42.")]) as up:
        agent = make_agent(up, tools=[measure])
        assert play(agent, "Measure.")[-1] == Done("It is 42.", 2)
        assert [result.text for message in agent.messages for result in message.results] == ["42"]
        assert len(agent.store.messages(agent.session_id)) == 4
        assert faults_in(up) == []


def test_a_session_that_is_closed_while_it_is_summarised_keeps_the_fold(make_agent, play):
    def summarize(request):
        agent.store.end_session(agent.session_id)
        return "## Goal\nThe meters."

    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, summarizer=summarize)
        talk(agent, play)
        assert agent.compress().changed
        assert agent.store.get_compression_tip(agent.session_id) == agent.session_id


def test_what_a_reply_used_is_put_down_also_where_somebody_else_was_quicker(make_agent, play):
    def answer(received):
        if "Two." in received.body.decode():
            agent.store.append(agent.session_id, {"role": "user", "content": "Use port 9999."})
        return Reply("Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up)
        play(agent, "One.")
        with pytest.raises(ContinuedElsewhere):
            play(agent, "Two.")
        assert len(agent.store.calls(agent.session_id)) == len(up.requests) == 2
        assert stored_texts(agent) == ["One.", "Noted.", "Two.", "Use port 9999."]


def test_of_two_agents_that_speak_at_once_one_is_told_and_adds_nothing(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up)
        play(agent, "One.")
        agents = [agent, make_agent(up, session=agent.session_id)]
        start, told = threading.Barrier(2), []

        def speak(speaker):
            start.wait()
            try:
                play(speaker, "Two.")
            except ContinuedElsewhere as error:
                told.append(error)

        threads = [threading.Thread(target=speak, args=(speaker,)) for speaker in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(told) == 1
        assert stored_texts(agent) == ["One.", "Noted.", "Two.", "Noted."]


def test_a_call_has_one_result_where_somebody_else_resumed_while_it_ran(make_agent, play, faults_in):
    @tool
    def measure() -> str:
        """Measure something."""
        play(make_agent(up, session=agent.session_id), "Who is there?")
        return "42"

    with Upstream([Reply("", (ToolCall("c1", "measure", "{}"),)), Reply("I am.")]) as up:
        agent = make_agent(up, tools=[measure])
        with pytest.raises(ContinuedElsewhere):
            play(agent, "Measure.")
        agent.resume(agent.session_id)
        roles = ["user", "assistant", "tool", "user", "assistant"]
        assert [message.role for message in agent.messages] == roles
        assert faults_in(up) == []


def test_going_on_without_a_prompt_looks_first_too(make_agent, play):
    calls = [Reply("", (ToolCall(f"c{number}", "list_files", "{}"),)) for number in range(2)]
    with Upstream(calls, then=Reply("Noted.")) as up:
        agent = make_agent(up, max_steps=1)
        play(agent, "List.")
        play(make_agent(up, session=agent.session_id), "And what else?")
        asked = len(up.requests)
        with pytest.raises(ContinuedElsewhere):
            play(agent)
        assert len(up.requests) == asked


def test_who_resumed_a_closed_session_is_told_that_somebody_else_folded_it(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        first = make_agent(up)
        talk(first, play)
        first.close()
        agent, other = (make_agent(up, session=first.session_id) for _ in range(2))
        assert other.compress().changed
        for act in (lambda: play(agent, "Go on."), agent.compress):
            with pytest.raises(ContinuedElsewhere, match=other.session_id):
                act()


def test_a_turn_that_is_done_stays_done_where_only_its_fold_came_too_late(make_agent, play):
    def interfere(session, _):
        agent.store.append(session, {"role": "user", "content": "Use port 9999."})

    def answer(received):
        is_last = "Last." in received.body.decode()
        return Reply("Noted.", usage=CanonicalUsage(11_000, 10)) if is_last else Reply("Noted.")

    with Upstream(answer) as up:
        agent = make_agent(up, before_fold=[interfere], context_length=12_000)
        talk(agent, play, 16)
        events = play(agent, "Last.")
        assert isinstance(events[-1], Done)
        [notice] = [event for event in events if isinstance(event, Notice) and event.topic is Topic.STORE]
        assert "continued elsewhere" in notice.text
        assert agent.messages[-1].text == "Noted."
