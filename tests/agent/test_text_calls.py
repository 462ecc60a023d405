"""Calls that small models write as text are understood, and nothing else is taken for one."""

import pytest

from midfold.agent import Done, ToolFinished
from midfold.testing.upstream import Reply, Upstream

CALL = '{"name": "list_files", "arguments": {"path": "."}}'
FORMS = [
    f"<tool_call>\n{CALL}\n</tool_call>",
    f"I look.\n\n<tool_call>{CALL}",
    f"```json\n{CALL}\n```",
    f"Let me see.\n```\n{CALL}\n```\n",
    CALL,
    f"[{CALL}]",
    '{"type": "function", "function": {"name": "list_files", "parameters": {"path": "."}}}',
    '<function=list_files>{"path": "."}</function>',
    '<tool_call>{"name": "list_files", "arguments": "{\\"path\\": \\".\\"}"}</tool_call>',
]
OTHERS = [
    "Call it so:\n```json\n" + CALL + "\n```\nThen wait.",
    '```json\n{"name": "no_such_tool", "arguments": {}}\n```',
    '{"name": "list_files"}',
    '{"name": "list_files", "arguments": {}, "price": 3}',
    '<tool_call>{"name": "list_files", "argu</tool_call>',
    "plain words",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_call_in_text_is_run_and_answered(make_agent, play, faults_in, text):
    with Upstream([Reply(text), Reply("Done.")]) as up:
        agent = make_agent(up)
        events = play(agent, "Look.")
        assert [event.name for event in events if isinstance(event, ToolFinished)] == ["list_files"]
        assert events[-1] == Done("Done.", 2)
        assert faults_in(up) == []


def test_several_calls_at_the_end_are_all_run(make_agent, play):
    with Upstream(
        [Reply(f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>"), Reply("Done.")]
    ) as up:
        events = play(make_agent(up), "Look.")
    assert len([event for event in events if isinstance(event, ToolFinished)]) == 2


@pytest.mark.parametrize("text", OTHERS)
def test_other_text_stays_text(make_agent, play, text):
    with Upstream([Reply(text), Reply("Never asked.")]) as up:
        events = play(make_agent(up), "Look.")
        assert events[-1] == Done(text, 1)


def test_without_tools_a_call_is_text(make_agent, play):
    with Upstream([Reply(CALL)]) as up:
        assert play(make_agent(up, built_in_tools=False), "Look.")[-1] == Done(CALL, 1)


def test_a_provider_that_parses_calls_itself_is_believed(make_agent, play):
    with Upstream([Reply(CALL)]) as up:
        assert play(make_agent(up, model="openai/gpt-5", key="sk-test-key-1"), "Look.")[-1] == Done(CALL, 1)
