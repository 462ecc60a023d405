"""ShareGPT: turns of `from` and `value`, with thinking, calls and results as tags inside the text.

Tags count only in the words of who may use them: a question about `<think>` is a question. Read-only at part
level: an edit writes the whole turn anew.
"""

import json
from collections.abc import Sequence
from typing import assert_never

from midfold.late_patterns import compile_late
from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.wire.dialect import (
    Dialect,
    Edits,
    Evidence,
    Features,
    Item,
    Unreadable,
    Unwritable,
    Walk,
    describe,
    json_text,
)
from midfold.wire.media import stub

_ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "claude": "assistant",
    "tool": "tool",
    "tool_response": "tool",
    "function": "tool",
    "function_response": "tool",
    "observation": "tool",
    "ipython": "tool",
    "function_call": "assistant",
    "tool_call": "assistant",
}
# A turn of theirs is a call and nothing else.
_CALLERS = ("function_call", "tool_call")
_SPEAKERS = {"system": "system", "developer": "system", "user": "human", "assistant": "gpt", "tool": "tool"}
_RESULT_TAG = "<tool_response>"
_TAGS = {
    "assistant": compile_late("<(think|tool_call)>"),
    "tool": compile_late("<(tool_response)>"),
    "user": compile_late("<(tool_response)>"),
}
_read_json = json.JSONDecoder().raw_decode  # a third of the time of json.loads on texts this short


def recognises(item: Item) -> Evidence:
    return Evidence.PROOF if "from" in item and "value" in item else Evidence.NONE


def role_of(item: Item) -> str:
    speaker = item.get("from")
    if not isinstance(speaker, str):
        raise Unreadable(f"from is {describe(speaker)}; expected the speaker of a turn")
    return _ROLES.get(speaker) or _ROLES.get(speaker.strip().lower(), speaker)


def is_known_speaker(speaker: str) -> bool:
    """Whether the role of this speaker is known."""
    return speaker in _ROLES or speaker.strip().lower() in _ROLES


def walk(item: Item) -> Walk:
    value = item.get("value")
    if not isinstance(value, str):
        raise Unreadable(f"value is {describe(value)}; expected text")
    if item.get("from") in _CALLERS:
        return [("value", [_read_call(value)])]
    return [("value", _read_value(value, role_of(item)))]


def _read_value(value: str, role: str) -> list[Part]:
    if role == "tool" and _RESULT_TAG not in value:
        return [ToolResult("", value)]
    # Some data sets let the user hand over results, and then the turn begins with them.
    has_tags = value.lstrip().startswith(_RESULT_TAG) if role == "user" else "<" in value
    if not has_tags or role not in _TAGS:
        return _read_words(value)
    opening_tag = _TAGS[role]
    parts: list[Part] = []
    end = 0
    while opening := opening_tag.search(value, end):
        closing = f"</{opening[1]}>"
        stop = value.find(closing, opening.end())
        if stop < 0:
            break
        parts += _read_words(value[end : opening.start()])
        parts.append(_read_tag(opening[1], value[opening.end() : stop].strip("\n")))
        end = stop + len(closing)
    return parts + _read_words(value[end:])


def _read_words(words: str) -> list[Part]:
    words = words.strip()
    return [Text(words)] if words else []


def _read_tag(tag: str, body: str) -> Part:
    match tag:
        case "think":
            return Reasoning(body)
        case "tool_call":
            return _read_call(body)
        case _:
            return _read_response(body)


def _read_call(body: str) -> ToolCall:
    """Read a call; a body that is not the usual object is a call without a name."""
    call = _object_in(body)
    name, call_id = call.get("name"), call.get("id")
    if not isinstance(name, str):
        return ToolCall("", "", body)
    arguments = call.get("arguments", call.get("parameters", {}))
    return ToolCall(call_id if isinstance(call_id, str) else "", name, json_text(arguments))


def _read_response(body: str) -> ToolResult:
    response = _object_in(body)
    if "content" not in response:
        return ToolResult("", body)
    call_id, name = response.get("tool_call_id"), response.get("name")
    return ToolResult(
        call_id if isinstance(call_id, str) else "",
        json_text(response["content"]),
        name=name if isinstance(name, str) else "",
    )


def _object_in(body: str) -> Item:
    """Read the object that a tag holds; an empty one where it holds anything else."""
    text = body.strip()
    try:
        value, end = _read_json(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and end == len(text) else {}


def rewrite(item: Item, message: Message, edits: Edits) -> Item:
    """Write the whole turn from its parts."""
    for part in (*(change.new for change in edits.changes), *edits.added):
        _refuse_unsayable(part, message.role)
    match item["from"], [part for part in message.parts if not isinstance(part, Removed)]:
        case "function_call", [ToolCall() as call]:
            return {**item, "value": _write_call(call)}
        case "function_call", parts:
            return {**item, "from": "gpt", "value": _write(parts)}
        case _, parts if message.role == "tool" and not any(message.results):
            return {**item, "from": "human", "value": _write(parts)}
        case _, parts:
            ordered = _results_first(parts) if message.role == "user" else parts
            return {**item, "value": _write(ordered)}


def _refuse_unsayable(part: Part, role: str) -> None:
    match part:
        case ToolResult(_, _, is_error, media):
            is_sayable = role in ("user", "tool") and not is_error and not media
        case Reasoning(_, signature):
            is_sayable = role == "assistant" and not signature
        case ToolCall():
            is_sayable = role == "assistant"
        case _:
            is_sayable = not isinstance(part, Media | Opaque)
    if not is_sayable:
        raise Unwritable(f"a turn of the {role} cannot say a {type(part).__name__} like this")


def build(message: Message) -> list[object]:
    """Write a message as one turn; a user message that carries results gives them a turn of their own."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    turns: list[object] = []
    if results:
        turns.append({"from": "tool", "value": _write(results)})
    if words := _write(rest):
        turns.append({"from": _SPEAKERS.get(message.role, message.role), "value": words})
    return turns


def _write(parts: Sequence[Part]) -> str:
    return "\n".join(filter(None, map(_write_part, parts)))


def _results_first(parts: Sequence[Part]) -> list[Part]:
    """Put results where they are looked for in a turn of the user."""
    return sorted(parts, key=lambda part: not isinstance(part, ToolResult))


def _write_part(part: Part) -> str:
    match part:
        case Text(text) | Opaque(_, text):
            return text
        case Reasoning(text):
            return f"<think>\n{text}\n</think>" if text else ""
        case ToolCall():
            return f"<tool_call>\n{_write_call(part)}\n</tool_call>"
        case ToolResult(call_id, text, _, media, name):
            response = {
                "tool_call_id": call_id,
                "name": name,
                "content": "\n".join([text, *map(stub, media)]),
            }
            return f"<tool_response>\n{json_text(response)}\n</tool_response>"
        case Media():
            return stub(part)
        case Removed():
            return ""
        case _:
            assert_never(part)


def _write_call(call: ToolCall) -> str:
    has_id = {"id": call.id} if call.id else {}
    return json_text({**has_id, "name": call.name, "arguments": call.parse_arguments()})


DIALECT = Dialect(
    name="sharegpt",
    label="ShareGPT",
    recognises=recognises,
    role_of=role_of,
    walk=walk,
    rewrite=rewrite,
    build=build,
    features=Features(thinking=True, call_ids=False),
    message_fields=("conversations", "conversation"),
    rules="midfold.wire.validate.sharegpt",
)
