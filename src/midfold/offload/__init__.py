"""Tool output that never floods: what is too long for the context is kept elsewhere, and can be read back.

`plan_offload` decides and `apply` carries it out; `enforce` does both for a list of messages, and
`persist_result` for a single result. A sink keeps the text; a model reads it back with the tool that
`OutputReader` answers.
"""

from midfold.offload.blocks import Original
from midfold.offload.budgets import MAX_READ_CHARS, READER, Budgets
from midfold.offload.enforce import Cut, Offloaded, Persisted, Shortened, apply, enforce, persist_result
from midfold.offload.names import REFERENCE, is_reference, name_folder
from midfold.offload.outputs import Output, OutputInfo, OutputSink
from midfold.offload.plan import Plan, Step, Why, plan_offload
from midfold.offload.reading import Slice, read_end, read_lines, read_slice
from midfold.offload.sanitize import SafeText, sanitize
from midfold.offload.search import (
    BadPattern,
    Find,
    Found,
    Match,
    literal,
    regex,
    search_output,
    search_outputs,
)
from midfold.offload.sinks import FileSession, FileSink, MemorySink, Quotas
from midfold.offload.tool import OutputReader, read_tool_schema

__all__ = [
    "MAX_READ_CHARS",
    "READER",
    "REFERENCE",
    "BadPattern",
    "Budgets",
    "Cut",
    "FileSession",
    "FileSink",
    "Find",
    "Found",
    "Match",
    "MemorySink",
    "Offloaded",
    "Original",
    "Output",
    "OutputInfo",
    "OutputReader",
    "OutputSink",
    "Persisted",
    "Plan",
    "Quotas",
    "SafeText",
    "Shortened",
    "Slice",
    "Step",
    "Why",
    "apply",
    "enforce",
    "is_reference",
    "literal",
    "name_folder",
    "persist_result",
    "plan_offload",
    "read_end",
    "read_lines",
    "read_slice",
    "read_tool_schema",
    "regex",
    "sanitize",
    "search_output",
    "search_outputs",
]
