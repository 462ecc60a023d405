"""Tools that nothing uses are left out where that is set, said to be so, and brought back by name."""

import json

from midfold.agent import Notice, tool
from midfold.agent.tools.idle_tools import LEAST_CALLS, find_idle_tools, find_named_tools, write_remark
from midfold.messages import Message, Text, ToolCall
from midfold.testing.upstream import Reply, Upstream

WINDOW = 16_000
NAMES = frozenset({"weigh_coins", "count_meters"})


@tool(reads=True)
def weigh_coins(box: str) -> str:
    """Weigh the coins in a box."""
    return f"{box}: 12 kg"


@tool(reads=True)
def count_meters(street: str) -> str:
    """Count the meters of a street."""
    return f"{street} has 40 meters. " + "The harbour takes coins and cards. " * 60


def calls(count, name="count_meters"):
    return [Message("assistant", (ToolCall(f"c{number}", name, "{}"),)) for number in range(count)]


def offered(request):
    return {each["function"]["name"] for each in request.json["tools"]}


def play_until_folded(make_agent, play, up, **options):
    agent = make_agent(
        up, context_length=WINDOW, tools=[weigh_coins, count_meters], built_in_tools=False, **options
    )
    events = []
    for turn in range(LEAST_CALLS + 10):
        events += play(agent, f"Turn {turn}: count the meters.")
    return agent, events


def replies(more=()):
    step = [Reply("", (ToolCall("c", "count_meters", '{"street": "Quay"}'),)), Reply("Forty.")]
    return [*step * (LEAST_CALLS + 10), *more]


def test_a_tool_that_nothing_uses_is_left_out_after_a_fold_and_told(make_agent, play):
    with Upstream([*replies(), Reply("Fine.")]) as up:
        agent, events = play_until_folded(make_agent, play, up, prune_tools=True)
        play(agent, "And now?")
    assert offered(up.requests[0]) >= NAMES
    assert "weigh_coins" not in offered(up.requests[-1])
    assert "count_meters" in offered(up.requests[-1])
    told = [event.text for event in events if isinstance(event, Notice) and event.topic == "tools"]
    assert len(told) == 1
    assert "weigh_coins" in told[0]
    assert any("[Tools left out, " in json.dumps(request.json) for request in up.requests)


def test_a_tool_that_somebody_names_is_offered_again(make_agent, play):
    with Upstream([*replies(), Reply("Fine.")]) as up:
        agent, _ = play_until_folded(make_agent, play, up, prune_tools=True)
        play(agent, "Use weigh_coins for box 7.")
    assert "weigh_coins" in offered(up.requests[-1])


def test_all_tools_stay_unless_it_is_asked_for(make_agent, play):
    with Upstream([*replies(), Reply("Fine.")]) as up:
        agent, events = play_until_folded(make_agent, play, up)
        play(agent, "And now?")
    assert all(offered(request) >= NAMES for request in up.requests)
    assert not [event for event in events if isinstance(event, Notice) and event.topic == "tools"]


def test_few_calls_say_nothing_about_a_tool():
    assert find_idle_tools(NAMES, calls(LEAST_CALLS - 1), "") == frozenset()
    assert find_idle_tools(NAMES, calls(LEAST_CALLS), "") == {"weigh_coins"}


def test_a_tool_that_the_instructions_name_stays():
    assert find_idle_tools(NAMES, calls(LEAST_CALLS), "Prefer weigh_coins.") == frozenset()


def test_the_remark_about_a_tool_does_not_bring_it_back():
    said = Message("user", (Text(f"{write_remark(NAMES)}\n\nGo on."),))
    assert find_named_tools(NAMES, [said]) == frozenset()
    assert find_named_tools(NAMES, [Message("assistant", (Text("I need `weigh_coins`."),))]) == {
        "weigh_coins"
    }
