"""Calls that the user makes: files that go with a prompt, and commands of the user's own.

They enter the conversation as calls of tools with their results, so that nobody takes the words of a file, or
of a program, for words of the user.
"""

import inspect
import json

from midfold.agent.core import Core, UserCall
from midfold.agent.events import Emit
from midfold.agent.session import commit
from midfold.agent.tool_calls import run_tool_calls
from midfold.agent.tools.registry import Tool, ToolFailed
from midfold.messages import Message, ToolCall
from midfold.offload import offload_result
from midfold.tokens import CanonicalUsage
from midfold.wire.apis import Completion, Finish

_READ = "read_file"
_RUN = "terminal"
_RAN = "[The user ran a command in the workspace; its call and output follow: {command}]"
_MAX_SECONDS = 600


def attach(core: Core, path: str) -> str:
    """Let a file of the workspace go with the next prompt and return its name; raises `ToolFailed`."""
    _find_tool(core, _READ)
    _ = core.conversation  # beginning one forgets what waited before it
    found = core.workspace.find(path)
    core.workspace.read_text(found)
    name = core.workspace.name(found)
    call = UserCall(_READ, {"path": name})
    if call not in core.user_calls:
        core.user_calls.append(call)
    return name


async def run_own_command(core: Core, command: str, _emit: Emit) -> str:
    """Run a command of the user's own and return its output; the model reads it with the next prompt."""
    tool = _find_tool(core, _RUN)
    try:
        answer = tool.run({"command": command, "timeout_seconds": _MAX_SECONDS})
        text = str(await answer if inspect.isawaitable(answer) else answer)
    except ToolFailed as error:
        text = str(error)
    kept = await commit(offload_result, text, core.sink, tool=_RUN, budgets=core.budgets)
    core.user_calls.append(UserCall(_RUN, {"command": command}, kept.text))
    core.remarks.append(_RAN.format(command=command))
    return text


async def tell_user_calls(core: Core, emit: Emit) -> None:
    """Put the calls that wait behind the prompt, with their results; files are read now."""
    waiting, core.user_calls = core.user_calls, []
    if not waiting:
        return
    conversation, first = core.conversation, len(core.conversation.call_ids()) + 1
    calls = [
        ToolCall(f"user_call_{number}", each.name, json.dumps(each.arguments, ensure_ascii=False))
        for number, each in enumerate(waiting, first)
    ]
    known = {
        call.id: each.result for call, each in zip(calls, waiting, strict=True) if each.result is not None
    }
    message = Message("assistant", tuple(calls))
    await commit(conversation.append, conversation.render([message]))
    reply = Completion(
        dialect=conversation.dialect,
        messages=(message,),
        finish=Finish.CALLS,
        usage=CanonicalUsage(),
        raw_usage=None,
        finish_reason="",
        model="",
    )
    await run_tool_calls(core, reply, emit, known=known)


def _find_tool(core: Core, name: str) -> Tool:
    tool = core.tools.get(name)
    if tool is None:
        raise ToolFailed(f"this needs the tool {name}, which is switched off")
    return tool
