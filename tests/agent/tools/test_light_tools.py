"""A small window gets lighter tools; one's own tools stay as they are."""

from midfold.agent import tool
from midfold.testing.upstream import Upstream
from midfold.tokens import TokenCounter


@tool
def weigh(meter: str) -> str:
    """Weigh a meter. It takes a while."""
    return meter


def test_a_small_window_gets_fewer_and_shorter_tools(make_agent):
    count = TokenCounter("gpt-5")
    with Upstream() as up:
        large, small = (make_agent(up, context_length=size, tools=[weigh]) for size in (200_000, 8_192))
        sizes = [count.count_tools([each.schema for each in agent.tools]) for agent in (large, small)]
        assert sizes[1] < sizes[0] * 0.75
        names = {each.name for each in small.tools}
        assert {"read_file", "edit_file", "search_files", "terminal", "recall", "weigh"} <= names
        assert next(each for each in small.tools if each.name == "weigh") is weigh


def test_another_model_gets_the_tools_for_its_window(make_agent, play):
    with Upstream() as up:
        agent = make_agent(up, context_length=200_000)
        play(agent, "hello")
        agent.set_model("local/other", base_url=up.url, context_length=8_192)
        assert "memory" not in {each.name for each in agent.tools}
