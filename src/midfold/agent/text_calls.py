"""Tool calls that a small model writes as text, because its server has no template for them.

Read only where tools were offered and the reply has no call of its own, and only as a call of a tool that was
offered. Words before the call stay; a call in the middle of an explanation is an example and stays text.
"""

import json
import re
import secrets
from collections.abc import Collection, Iterator

from midfold.late_dataclasses import replace
from midfold.late_patterns import compile_late
from midfold.messages import Message, Part, Text, ToolCall
from midfold.wire import parse, render
from midfold.wire.apis import Completion, Finish

_TAGGED = compile_late(r"<(tool_call|function_call|tools?)>\s*(.*?)\s*(?:</\1>|\Z)", re.DOTALL)
_FUNCTION = compile_late(r"<function=([\w.-]{1,64})>\s*(.*?)\s*(?:</function>|\Z)", re.DOTALL)
_FENCED = compile_late(r"```(?:json|tool_call|tool_code)?[ \t]*\n(.*?)\n?```", re.DOTALL)
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")
_KNOWN_KEYS = frozenset({*_NAMES, *_ARGUMENTS, "type", "id"})
_MOST_CHARS = 200_000


def read_text_calls(completion: Completion, tools: Collection[str]) -> Completion:
    """Return a reply with the calls that its words write; any other reply as it is."""
    text = completion.text
    if not tools or completion.calls or not text.strip() or len(text) > _MOST_CHARS:
        return completion
    found = _find_calls(text.rstrip(), tools)
    if found is None:
        return completion
    start, calls = found
    said = text[:start].strip()
    parts: tuple[Part, ...] = (*([Text(said)] if said else []), *calls)
    items = render([Message("assistant", parts)], completion.dialect)
    return replace(completion, messages=tuple(parse(items, completion.dialect)), finish=Finish.CALLS)


def _find_calls(text: str, tools: Collection[str]) -> tuple[int, list[ToolCall]] | None:
    """Return where the calls at the end of a text begin, and the calls."""
    for pattern in (_TAGGED, _FUNCTION, _FENCED):
        found = list(pattern.finditer(text))
        # What is said after a call is said by a model that did not wait for its result.
        if not found or found[-1].end() != len(text):
            continue
        calls = [call for match in _run_at_end(text, found) for call in _read(match, tools)]
        if calls:
            return _run_at_end(text, found)[0].start(), calls
    calls = list(_read_value(_load(text), tools))
    return (0, calls) if calls else None


def _run_at_end(text: str, found: list[re.Match[str]]) -> list[re.Match[str]]:
    """Return the matches at the end of a text that only blanks part."""
    first = len(found) - 1
    while first and not text[found[first - 1].end() : found[first].start()].strip():
        first -= 1
    return found[first:]


def _read(match: re.Match[str], tools: Collection[str]) -> Iterator[ToolCall]:
    if match.re.pattern == _FUNCTION.pattern:
        arguments = _load(match[2])
        if match[1] in tools and isinstance(arguments, dict):
            yield _call(match[1], arguments)
        return
    yield from _read_value(_load(match[match.re.groups]), tools)


def _read_value(value: object, tools: Collection[str]) -> Iterator[ToolCall]:
    """Yield the call that a JSON value is, or those that a list of them is."""
    for each in value if isinstance(value, list) else [value]:
        if not isinstance(each, dict) or not _KNOWN_KEYS.issuperset(each):
            continue
        inner = each.get("function")
        if isinstance(inner, dict):
            yield from _read_value(inner, tools)
            continue
        name = next((each[key] for key in _NAMES if isinstance(each.get(key), str)), None)
        arguments = next((each[key] for key in _ARGUMENTS if key in each), None)
        arguments = _load(arguments) if isinstance(arguments, str) else arguments
        if isinstance(name, str) and name in tools and isinstance(arguments, dict):
            yield _call(name, arguments)


def _call(name: str, arguments: dict[str, object]) -> ToolCall:
    return ToolCall(f"call_{secrets.token_hex(12)}", name, json.dumps(arguments, ensure_ascii=False))


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
