"""A session that goes on and on: what the user ruled at its start holds, and every request is legal."""

import json
import os

import pytest

from midfold.agent import Continued, ToolFinished
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream

TURNS = int(os.environ.get("MIDFOLD_AGENT_TURNS", "60"))
TURNS_A_FOLD = 25
WINDOW = 10_000
RULES = (
    "Never touch config/prod.yaml.",
    "You must answer in British English.",
    "Use at most 3 retries for any request.",
    "Only the staging server may be restarted.",
)


def answer(received):
    """Read a file in every other turn, and talk in between."""
    last = received.messages[-1]
    if last.role == "user" and "even" in last.text:
        call_id = f"call_{len(received.body)}"
        return Reply("I look.", (ToolCall(call_id, "read_file", '{"path": "meter.txt"}'),))
    return Reply("This meter takes coins and cards; its printer is checked every morning. " * 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("api", "turns"), [("openai_chat", TURNS), ("openai_responses", TURNS // 2), ("anthropic", TURNS // 2)]
)
def test_rules_of_the_first_turn_hold_at_the_end_of_a_long_session(
    api, turns, make_agent, play, faults_in, workspace
):
    (workspace / "meter.txt").write_text("The meter stands at the harbour.\n" * 40)
    with Upstream(answer) as up:
        agent = make_agent(up, api=api, context_length=WINDOW)
        events = play(agent, f"Look after the parking meters. {' '.join(RULES)}")
        for turn in range(turns):
            parity = "even" if turn % 2 else "odd"
            events += play(agent, f"Check the {parity} meter {turn}. " + "It was cleaned today. " * 20)
        folds = sum(isinstance(event, Continued) for event in events)
        assert folds >= turns // TURNS_A_FOLD
        assert [rule for rule in RULES if rule not in up.requests[-1].body.decode()] == []
        assert max(received.count_tokens() for received in up.requests) <= WINDOW
        assert faults_in(up) == []
        assert count_broken_prefixes(up) <= folds
        assert not any(event.is_error for event in events if isinstance(event, ToolFinished))
        history = [str(record.item) for record in agent.store.history(agent.session_id)]
        assert sum("Check the " in said for said in history) == turns


def count_broken_prefixes(up):
    """Count the requests that do not begin, byte by byte, with the one before them."""
    return sum(
        not (after.body.startswith(spell_start(before.json)) and spell_system(before) == spell_system(after))
        for before, after in zip(up.requests, up.requests[1:], strict=False)
    )


def spell_start(body):
    """Spell a request up to the end of its messages."""
    key = "messages" if "messages" in body else "input"
    start = {"model": body["model"], key: body[key]}
    return json.dumps(start, ensure_ascii=False, separators=(",", ":")).encode()[:-2]


def spell_system(received):
    return json.dumps(
        [received.json.get("system"), received.json.get("instructions"), received.json["tools"]]
    )
