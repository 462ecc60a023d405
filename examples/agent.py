"""An agent with a tool of its own, in ten lines; the model is scripted, so that it runs anywhere."""

from tempfile import TemporaryDirectory

from midfold.agent import Agent, Done, TextDelta, ToolFinished, tool
from midfold.messages import ToolCall
from midfold.testing.upstream import Reply, Upstream


@tool(reads=True)
def tariff(place: str) -> str:
    """Say what parking costs.

    place: where
    """
    return f"Parking at the {place} costs 3.20 an hour."


SCRIPT = [
    Reply("I look it up. ", (ToolCall("call_1", "tariff", '{"place": "harbour"}'),)),
    Reply("It costs 3.20 an hour."),
]

# With a real model, leave out home, upstream and base_url: Agent("openai/gpt-5-mini", tools=[tariff]).
with (
    TemporaryDirectory() as home,
    Upstream(SCRIPT) as up,
    Agent("local/scripted", base_url=up.url, home=home, tools=[tariff]) as agent,
):
    for event in agent.run("What does it cost to park at the harbour?"):
        match event:
            case TextDelta(text):
                print(text, end="")
            case ToolFinished(title=title, text=text):
                print(f"\n[{title}] {text}")
            case Done(steps=steps):
                print(f"\n({steps} calls, {agent.usage().chain.total_tokens:,} tokens)")
