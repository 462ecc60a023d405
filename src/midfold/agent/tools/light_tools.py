"""A lighter set of the built-in tools for small windows, where schemas alone would fill a fifth."""

import re
from collections.abc import Mapping, Sequence

from midfold.agent.tools.registry import Tool
from midfold.late_dataclasses import replace
from midfold.late_patterns import compile_late

SMALL_WINDOW = 16_384
"""Up to this many tokens the lighter set is offered."""
_LEFT_OUT = frozenset({"memory"})
_FEWER_PARAMETERS = {"read_persisted_output": ("reference", "offset", "limit", "pattern")}
_FIRST_SENTENCE = compile_late(r".+?[.!?](?=\s|$)", re.DOTALL)


def lighten(tools: Sequence[Tool]) -> list[Tool]:
    """Return the tools with one sentence each, without what a short conversation can do without."""
    return [_lighten(tool) for tool in tools if tool.name not in _LEFT_OUT]


def _lighten(tool: Tool) -> Tool:
    first = _FIRST_SENTENCE.match(tool.description)
    kept = _FEWER_PARAMETERS.get(tool.name)
    return replace(
        tool,
        description=first[0] if first else tool.description,
        parameters=_choose(tool.parameters, kept) if kept else tool.parameters,
    )


def _choose(schema: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """Return the schema of an object with some of its properties alone."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping) or (isinstance(required, list) and set(required) - set(names)):
        return dict(schema)
    return {**schema, "properties": {name: properties[name] for name in names if name in properties}}
