"""Changes of the memory ask first: every later session begins with what is kept there."""

from functools import partial

from midfold.agent.memory import Target
from midfold.agent.tools.registry import Answer, Arguments, Proposal, Risk, Tool, ToolFailed
from midfold.late_dataclasses import replace

_SIGNS = {"add": "+", "remove": "-"}


def ask_before_change(memory: Tool) -> Tool:
    """Return the memory tool so that it asks before it changes anything; it shows entries unasked."""

    def run(arguments: Arguments) -> Answer:
        if arguments.get("action") not in _SIGNS or not str(arguments.get("entry", "")).strip():
            return memory.run(arguments)
        return Proposal(Risk.MEMORY, _describe(arguments), partial(_change, memory, arguments))

    return replace(memory, run=run)


def _change(memory: Tool, arguments: Arguments) -> str:
    answer = memory.run(arguments)
    if not isinstance(answer, str):
        raise ToolFailed("the memory cannot be changed in this way")
    return answer


def _describe(arguments: Arguments) -> str:
    action, entry = str(arguments.get("action", "")), " ".join(str(arguments.get("entry", "")).split())
    target = str(arguments.get("target", Target.MEMORY))
    name = Target(target).file_name if target in list(Target) else target
    return f"{name}, with which every later session begins:\n{_SIGNS[action]} {entry}"
