"""The arguments of a call: its plain values, and what they say in words beside what the call is about."""

import json
from collections.abc import Iterator, Sequence
from itertools import islice

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.summaries.tool_calls.families import COMMANDS, FOLDERS, PATHS, bare_name
from midfold.summaries.tool_calls.output import find_names

_DETAIL_CHARS = 240
_MOST_DETAILS = 12
_SHELL_NAME_CHARS = 14
_KEY_JOINT = compile_late(r"[_-]+|(?<=[a-z])(?=[A-Z])")
_PLACED_KINDS = ("search", "list", "web")
"""families whose calls say where they look"""
_PLACES = frozenset(map(bare_name, (*FOLDERS, *PATHS)))
_TALKING = frozenset(
    ["input", "query", "text", "message", "content", "value", "summary", "prompt", "description", "name"]
)
"""names of arguments whose values say all themselves"""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A plain value among arguments, and its name."""

    key: str
    text: str


def read_leaves(arguments: object) -> Iterator[Leaf]:
    """Yield the plain values inside arguments in order, each with the name it goes by; however deep."""
    waiting = [("", arguments)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(str(name), inner) for name, inner in value.items()][::-1]
        elif isinstance(value, list):
            waiting += [(key, inner) for inner in reversed(value)]
        elif isinstance(value, str):
            yield Leaf(key, value)
        elif value is not None and value is not False:
            yield Leaf(key, json.dumps(value))


def is_long(text: str) -> bool:
    """Whether a value is too long for a detail."""
    return len(text) > _DETAIL_CHARS or "\n" in text


def read_details(leaves: Sequence[Leaf], tool: str, kind: str, subject: str) -> Iterator[str]:
    """Say in words what a call was given beside what it is about; how a known tool is set says nothing."""
    short = (leaf for leaf in leaves if leaf.text and not is_long(leaf.text) and not _is_said(leaf, subject))
    told = (_describe(leaf, kind) if subject and kind else _spell_out(leaf, tool) for leaf in short)
    yield from islice(dict.fromkeys(filter(None, told)), _MOST_DETAILS)


def _describe(leaf: Leaf, kind: str) -> str:
    """Return the words of a value, or where a search looks; a flag, a number or a mode is a setting."""
    is_name = kind == "agent" and find_names(leaf.text) == [leaf.text]
    if " " in leaf.text.strip() or is_name or not leaf.text.isascii():
        return leaf.text
    is_place = kind in _PLACED_KINDS and bare_name(leaf.key) in _PLACES
    return f"in {leaf.text}" if is_place and len(leaf.text) > 1 else ""


def _spell_out(leaf: Leaf, tool: str) -> str:
    key = " ".join(_KEY_JOINT.split(leaf.key)).strip()
    if leaf.text == "true":
        return key
    return leaf.text if not key or leaf.key in _TALKING or leaf.key == tool.lower() else f"{key} {leaf.text}"


def _is_said(leaf: Leaf, subject: str) -> bool:
    """Whether the subject has this, or it only says which shell runs it."""
    if not subject or bare_name(leaf.key) not in COMMANDS:
        return leaf.text == subject
    return leaf.text in subject or len(leaf.text) <= _SHELL_NAME_CHARS
