"""Two agents on one session: whoever comes second is told, and adds nothing to what it has not seen."""

import pytest

from midfold.agent import ContinuedElsewhere
from midfold.testing.upstream import Reply, Upstream


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
