"""ShareGPT: turns of `from` and `value`, with thinking, calls and results as tags inside the text.

Read-only at part level: an edit spells the whole turn anew.
"""

import json
import re
from typing import assert_never

from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.wire.dialect import Dialect, Item, Unreadable, Walk, compact_json, describe, json_text
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
    "tool": "tool",
    "function_response": "tool",
    "observation": "tool",
    "function_call": "assistant",
}
_SPEAKERS = {"system": "system", "developer": "system", "user": "human", "assistant": "gpt", "tool": "tool"}
_OPENING = re.compile(r"<(think|tool_call|tool_response)>")


def recognises(item: Item) -> bool:
    return "from" in item and "value" in item


def role_of(item: Item) -> str:
    speaker = item.get("from")
    if not isinstance(speaker, str):
        raise Unreadable(f"from is {describe(speaker)}; expected the speaker of a turn")
    return _ROLES.get(speaker, speaker)


def walk(item: Item) -> Walk:
    value = item.get("value")
    if not isinstance(value, str):
        raise Unreadable(f"value is {describe(value)}; expected text")
    for part in _read_value(value, item.get("from")):
        yield ("value",), part


def _read_value(value: str, speaker: object) -> list[Part]:
    if speaker == "function_call":
        return [_read_call(value)]
    if role_of({"from": speaker}) == "tool" and "<tool_response>" not in value:
        return [ToolResult("", value)]
    parts: list[Part] = []
    end = 0
    while opening := _OPENING.search(value, end):
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
    if not isinstance(call.get("name"), str):
        return ToolCall("", "", body)
    call_id = call.get("id")
    arguments = call.get("arguments", call.get("parameters", {}))
    return ToolCall(call_id if isinstance(call_id, str) else "", call["name"], json_text(arguments))


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
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def rewrite(item: Item, message: Message) -> list[object]:
    """Spell the whole turn from its parts."""
    return [{**item, "value": _spell(message)}]


def build(message: Message) -> list[object]:
    """Spell a message as one turn; a user message that carries results gives them a turn of their own."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    turns: list[object] = []
    if results:
        turns.append({"from": "tool", "value": _spell(Message("tool", tuple(results)))})
    if any(map(_spell_part, rest)):
        speaker = _SPEAKERS.get(message.role, message.role)
        turns.append({"from": speaker, "value": _spell(Message(message.role, tuple(rest)))})
    return turns


def _spell(message: Message) -> str:
    return "\n".join(filter(None, map(_spell_part, message.parts)))


def _spell_part(part: Part) -> str:
    match part:
        case Text(text) | Opaque(_, text):
            return text
        case Reasoning(text):
            return f"<think>\n{text}\n</think>" if text else ""
        case ToolCall(_, name, _):
            call = {"name": name, "arguments": part.parse_arguments()}
            return f"<tool_call>\n{compact_json(call)}\n</tool_call>"
        case ToolResult(call_id, text, _, media, name):
            response = {
                "tool_call_id": call_id,
                "name": name,
                "content": "\n".join([text, *map(stub, media)]),
            }
            return f"<tool_response>\n{compact_json(response)}\n</tool_response>"
        case Media():
            return stub(part)
        case Removed():
            return ""
        case _:
            assert_never(part)


DIALECT = Dialect("sharegpt", recognises, role_of, walk, rewrite, build)
