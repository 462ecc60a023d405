"""The rules of OpenAI Chat Completions, and of servers that speak like it: OC1 to OC15.

OC16, long `user` and metadata fields, lies outside the messages: nothing here judges or rewrites them.
"""

import json
from collections.abc import Iterator, Sequence

from midfold.ports import Fault
from midfold.wire.dialect import Item, describe, plain
from midfold.wire.validate.profiles import (
    BEDROCK_MODELS,
    STILL_WAITING,
    Outgoing,
    Profile,
    Rules,
    read_list,
    read_text,
    shown,
)

_SYSTEM_ROLES = frozenset({"system", "developer"})
_ROLES = _SYSTEM_ROLES | {"user", "assistant", "tool", "function"}
# Any of these lets an assistant message go without content.
_INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
_CALL_BODIES = {"function": "arguments", "custom": "input"}


def check(outgoing: Outgoing) -> Iterator[Fault]:
    yield from _refused(outgoing)
    if outgoing.enforce:
        yield from _stricter(outgoing)


def _refused(outgoing: Outgoing) -> Iterator[Fault]:
    if not outgoing.messages:
        yield Fault("OC1", None, "there are no messages")
    yield from _check_tools(outgoing)
    for index, message in enumerate(outgoing.messages):
        if isinstance(message, dict):
            yield from _check_message(index, message, outgoing.profile)
        else:
            yield Fault("OC2", index, f"expected an object with a role, found {describe(message)}")
    yield from _check_pairing(outgoing.messages, outgoing.profile)
    if outgoing.profile.alternates or not outgoing.profile.text_beside_results:
        yield from _check_order(outgoing.messages, outgoing.profile)


def _stricter(outgoing: Outgoing) -> Iterator[Fault]:
    """Name what only we refuse, and warn of what some compatible servers refuse."""
    profile = outgoing.profile
    seen: set[str] = set()
    for index, message in enumerate(outgoing.messages):
        if _role(message) == "function":
            yield Fault("OC2", index, "the role function is a legacy of old models", "warning")
        calls = _calls(message)
        ids = _ids(calls)
        for call_id in ids:
            if call_id in seen:
                yield Fault("OC9", index, f"the call id {shown(call_id)} was used by an earlier message")
            if profile.id_chars_advised < len(call_id) and profile.accepts_id(call_id):
                reason = f"some routes refuse ids over {profile.id_chars_advised} characters"
                yield Fault("OC8", index, f"the call id {shown(call_id)} is long; {reason}", "warning")
        seen.update(ids)
        yield from _check_arguments(index, calls)
        if profile.wants_call_signature and calls and not calls[0].get("extra_content"):
            yield Fault("OC7", index, "newer models refuse a call without its thought signature", "warning")
    if not profile.alternates:
        yield from _warn_of_order(outgoing.messages)


def _role(message: object) -> str:
    return (read_text(message, "role") or "") if isinstance(message, dict) else ""


def _calls(message: object) -> list[Item]:
    """Return the calls of a message that are objects at all."""
    if not isinstance(message, dict) or _role(message) != "assistant":
        return []
    return [call for call in read_list(message.get("tool_calls")) or () if isinstance(call, dict)]


def _ids(calls: Sequence[Item]) -> list[str]:
    """Return the ids of those calls that have one."""
    return [call_id for call in calls if (call_id := read_text(call, "id")) is not None]


def _check_tools(outgoing: Outgoing) -> Iterator[Fault]:
    tools, limit = outgoing.tools, outgoing.profile.tools_max
    if tools is None:
        return
    if limit is not None and len(tools) > limit:
        yield Fault("OC12", None, f"{len(tools)} tools are offered; at most {limit} are accepted")
    if outgoing.profile.needs_tools and not tools and any(map(_calls, outgoing.messages)):
        yield Fault("OC12", None, "the history has tool calls, so the request must offer tools")


def _check_message(index: int, message: Item, profile: Profile) -> Iterator[Fault]:
    role = _role(message)
    if role not in _ROLES:
        found = shown(role) if role else describe(message.get("role"))
        yield Fault("OC2", index, f"the role is {found}; expected one of {', '.join(sorted(_ROLES))}")
    elif role == "assistant":
        yield from _check_assistant(index, message, profile)
    elif role != "function":
        yield from _check_content("OC3", index, message.get("content"))


def _check_content(code: str, index: int, content: object) -> Iterator[Fault]:
    if isinstance(content, str):
        return
    parts = read_list(content)
    if not parts:
        found = describe(content) if parts is None else "an empty list"
        yield Fault(code, index, f"content is {found}; expected text or a list of parts")
        return
    for part in parts:
        if not isinstance(part, dict) or read_text(part, "type") is None:
            yield Fault(code, index, f"a part of the content is {describe(part)} without a type")
        elif part["type"] == "text" and read_text(part, "text") is None:
            yield Fault(code, index, f"the text of a part is {describe(part.get('text'))}")


def _check_assistant(index: int, message: Item, profile: Profile) -> Iterator[Fault]:
    content = message.get("content")
    if content is not None:
        yield from _check_content("OC4", index, content)
    elif not any(message.get(key) for key in _INSTEAD_OF_CONTENT):
        yield Fault("OC4", index, "an assistant message needs content or tool calls")
    if message.get("tool_calls") is None:
        return
    calls = read_list(message["tool_calls"])
    if not calls:
        found = describe(message["tool_calls"]) if calls is None else "an empty list"
        yield Fault("OC6", index, f"tool_calls is {found}; leave it out when there are none")
        return
    seen: set[str] = set()
    for call in calls:
        if not isinstance(call, dict):
            yield Fault("OC7", index, f"a tool call is {describe(call)}; expected an object")
            continue
        yield from _check_call(index, call, profile)
        for call_id in _ids([call]):
            if call_id in seen:
                yield Fault("OC9", index, f"an earlier call of this message has the id {shown(call_id)}")
            seen.add(call_id)


def _check_call(index: int, call: Item, profile: Profile) -> Iterator[Fault]:
    yield from _check_call_id(index, call, profile)
    kind = read_text(call, "type")
    if call.get("type") is None and profile.typeless_calls:
        kind = "function"
    if kind not in _CALL_BODIES:
        yield Fault("OC7", index, "the type of a tool call must be function or custom")
        return
    body = plain(call.get(kind))
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        yield Fault("OC7", index, f"a tool call has no {kind} with a name")
        return
    if kind == "function" and not profile.accepts_tool_name(body["name"]):
        found = shown(body["name"])
        yield Fault("OC10", index, f"the tool name is {found}; expected {profile.tool_name_hint}")
    arguments = body.get(_CALL_BODIES[kind])
    if not isinstance(arguments, (str, dict) if profile.object_arguments else str):
        yield Fault("OC11", index, f"the arguments of a call are {describe(arguments)}; expected text")


def _check_call_id(index: int, call: Item, profile: Profile) -> Iterator[Fault]:
    call_id = read_text(call, "id")
    if call_id and not profile.accepts_id(call_id):
        yield Fault("OC8", index, f"the call id {shown(call_id)} is not one that {profile.name} takes")
    elif not call_id and profile.pairs_by_id:
        yield Fault("OC7", index, "a tool call has no id")


def _check_arguments(index: int, calls: Sequence[Item]) -> Iterator[Fault]:
    for call in calls:
        body = plain(call.get("function"))
        arguments = read_text(body, "arguments") if isinstance(body, dict) else None
        if arguments is None:
            continue
        try:
            json.loads(arguments)
        except (ValueError, RecursionError):
            yield Fault("OC11", index, f"the arguments {shown(arguments)} are not JSON")


def _check_pairing(messages: Sequence[object], profile: Profile) -> Iterator[Fault]:
    """Match each result to a call of the assistant message that it directly follows."""
    waiting: dict[str, int] = {}
    answered: set[str] = set()
    for index, message in enumerate(messages):
        if isinstance(message, dict) and _role(message) == "tool":
            call_id = message.get("tool_call_id")
            if call_id is None and not profile.pairs_by_id:
                waiting.pop(next(iter(waiting), ""), None)
            else:
                yield from _check_result(index, call_id, waiting, answered)
            continue
        for call_id, caller in waiting.items():
            yield Fault("OC14", caller, f"the call {shown(call_id)} has no result before message {index}")
        waiting = dict.fromkeys(_ids(_calls(message)), index)
        answered = set()
    for call_id, caller in waiting.items():
        yield Fault("OC14", caller, f"the call {shown(call_id)} {STILL_WAITING}")


def _check_result(
    index: int, call_id: object, waiting: dict[str, int], answered: set[str]
) -> Iterator[Fault]:
    """Check one result, and move the call it answers from `waiting` to `answered`."""
    if not isinstance(call_id, str):
        yield Fault("OC5", index, "a tool message has no tool_call_id")
    elif call_id in waiting:
        del waiting[call_id]
        answered.add(call_id)
    elif call_id in answered:
        yield Fault("OC13", index, f"the call {shown(call_id)} already has its result")
    else:
        yield Fault("OC5", index, f"no call {shown(call_id)} in the assistant message before it")


def _check_order(messages: Sequence[object], profile: Profile) -> Iterator[Fault]:
    """Check the order of roles where the profile cares; OpenAI itself accepts any."""
    previous = ""
    for index, role in enumerate(map(_role, messages)):
        if role in _SYSTEM_ROLES:
            continue
        if profile.alternates and not previous and role != "user":
            yield Fault("OC15", index, "the first message after the system prompt must be the user's")
        if profile.alternates and role == previous != "tool":
            yield Fault("OC15", index, f"a second {role} message in a row; roles must alternate")
        if not profile.text_beside_results and (previous, role) == ("tool", "user"):
            yield Fault("OC15", index, "a user message must not directly follow a tool result")
        previous = role


def _warn_of_order(messages: Sequence[object]) -> Iterator[Fault]:
    previous = ""
    for index, role in enumerate(map(_role, messages)):
        if role in _SYSTEM_ROLES and previous and previous not in _SYSTEM_ROLES:
            yield Fault("OC15", index, "strict servers want system messages at the start", "warning")
        elif role == previous and role in ("user", "assistant"):
            yield Fault("OC15", index, f"strict servers refuse a second {role} message in a row", "warning")
        previous = role


# Claude in this dialect stays out, but for Bedrock: a translator stands between, and the name of the model
# does not say which rules it keeps.
RULES = Rules(
    check,
    not_a_list="OC1",
    profiles_by_model={
        r"ollama(_chat)?/|[^/]+:(latest$|[\d.x]+[bmt]\b)": "ollama",
        r"azure(_ai)?/": "azure",
        BEDROCK_MODELS: "bedrock",
        r"(.*/)?gemini-": "gemini",
        r"(.*/)?(open-)?(mistral|mixtral|ministral|codestral|devstral|magistral|pixtral)-": "mistral",
        r"(.*/)?deepseek-": "deepseek",
        r"(.*/)?(kimi|moonshot)-": "kimi",
        r"(.*/)?minimax-": "minimax",
    },
)
