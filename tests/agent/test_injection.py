"""Words that the model reads in one turn, and that are never stored."""

import pytest

from midfold.agent import Agent
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream

HINT = "[Recalled: the harbour closes at nine.]"


@pytest.mark.parametrize("api", ["openai_chat", "openai_responses", "anthropic"])
def test_injected_words_stand_next_to_the_newest_request_in_this_turn_only(api, tmp_path):
    script = [
        Reply("I will look.", (ToolCall("1", "list_files", "{}"),)),
        Reply("At nine."),
        Reply("You asked when it closes."),
    ]
    with (
        Upstream(script) as up,
        Agent("local/scripted", base_url=up.url, api=api, home=tmp_path, workspace=tmp_path) as agent,
    ):
        list(agent.run("When does the harbour close?", inject=HINT))
        list(agent.run("What did I ask?"))
        first, second, third = up.requests
        for received in (first, second):
            [request] = [message for message in received.messages if "When does" in message.text]
            assert request.text.index("When does") < request.text.index(HINT)
        assert first.body.count(b"Recalled") == second.body.count(b"Recalled") == 1
        assert b"Recalled" not in third.body
        assert HINT not in str(agent.store.messages(agent.session_id))
        assert not agent.store.search("Recalled").hits
        assert HINT not in str(agent.messages)


def test_injected_words_take_room(tmp_path):
    with (
        Upstream(Reply("Noted.")) as up,
        Agent("local/scripted", base_url=up.url, home=tmp_path, context_length=100_000) as agent,
    ):
        list(agent.run("Hello"))
        tokens = [agent.status().tokens for _ in agent.run("And now?", inject="word " * 5_000)]
        assert max(tokens) > 5_000
        assert agent.status().tokens < 10_000
