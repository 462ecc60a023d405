"""A model's words where they do not stand as such: inside an object, or in a call that only thinks aloud."""

import re

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.messages import ToolCall, ToolResult
from midfold.summaries.tool_calls.families import arguments_of, first_of
from midfold.summaries.tool_calls.output import read_json

_SPOKEN_KEYS = ("message", "response", "reply", "answer", "final_answer", "content", "text", "thought")
_THINKING_TOOL = compile_late(r"(?:^|[_.:-])(?:think|thought|reflect|reason)(?:ing)?$", re.IGNORECASE)
_TELLING_TOOL = compile_late(
    r"(?:^|[_.:-])(?:send|reply|respond|answer|notify|message|report|finish|submit|complete|completion|done)"
    r"(?:[_-]?(?:message|user|human|task|completion|answer|response|result|report))?$",
    re.IGNORECASE,
)
_TOLD_KEYS = ("message", "result", "answer", "response", "summary", "text", "content", "body", "final_answer")
_LEAST_TOLD_CHARS = 80


def unwrap_reply(text: str) -> str:
    """Return what a model says inside an object, where a host makes it answer in JSON."""
    value = read_json(text.strip()) if text.lstrip()[:1] == "{" else None
    said = first_of(value, _SPOKEN_KEYS) if isinstance(value, dict) else None
    return said if isinstance(said, str) else text


@dataclass(frozen=True, slots=True)
class SpokenCall:
    """The words of a call that does nothing but speak."""

    text: str
    is_sent: bool
    """somebody is to read them; else the model only thinks aloud"""


def read_spoken(call: ToolCall, result: ToolResult | None) -> SpokenCall | None:
    """Return the words of a call that only thinks aloud, or that reports, replies or ends a task."""
    if _THINKING_TOOL.search(call.name) is not None:
        texts = [value for value in arguments_of(call).values() if isinstance(value, str)]
        return SpokenCall(texts[0], is_sent=False) if len(texts) == 1 and texts[0] else None
    if _TELLING_TOOL.search(call.name) is None or (result and result.is_error):
        return None
    said = first_of(arguments_of(call), _TOLD_KEYS)
    is_long = isinstance(said, str) and len(said) >= _LEAST_TOLD_CHARS
    return SpokenCall(str(said), is_sent=True) if is_long else None
