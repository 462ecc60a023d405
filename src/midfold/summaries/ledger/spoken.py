"""A model's words where they do not stand as such: inside an object, or in a call that only thinks aloud."""

import re

from midfold.late_patterns import compile_late
from midfold.messages import ToolCall
from midfold.summaries.tool_calls.families import arguments_of, first_of
from midfold.summaries.tool_calls.output import read_json

_SPOKEN_KEYS = ("message", "response", "reply", "answer", "final_answer", "content", "text", "thought")
_THINKING_TOOL = compile_late(r"(?:^|[_.:-])(?:think|thought|reflect|reason)(?:ing)?$", re.IGNORECASE)


def unwrap_reply(text: str) -> str:
    """Return what a model says inside an object, where a host makes it answer in JSON."""
    value = read_json(text.strip()) if text.lstrip()[:1] == "{" else None
    said = first_of(value, _SPOKEN_KEYS) if isinstance(value, dict) else None
    return said if isinstance(said, str) else text


def read_thought(call: ToolCall) -> str:
    """Return the words of a call that only thinks aloud."""
    if _THINKING_TOOL.search(call.name) is None:
        return ""
    texts = [value for value in arguments_of(call).values() if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else ""
