"""Tool output that never floods: output too long for the context is offloaded, and can be read back.

`plan_offload` decides and `apply` carries it out; `enforce` does both for a list of messages, and
`offload_result` for a single result. A sink keeps the text; a model reads it back with the tool that
`OutputReader` answers.
"""

from midfold.offload.blocks import Original
from midfold.offload.budgets import MAX_READ_CHARS, READER, Budgets
from midfold.offload.names import REFERENCE, is_reference, name_folder
from midfold.offload.offloader import (
    CutResult,
    OffloadedMessages,
    OffloadedResult,
    ShortenedResult,
    apply,
    enforce,
    offload_result,
)
from midfold.offload.output_search import (
    BadPattern,
    Find,
    OutputMatch,
    OutputMatches,
    literal,
    regex,
    search_output,
    search_outputs,
)
from midfold.offload.outputs import Output, OutputInfo, OutputSink, Slice, read_end, read_lines, read_slice
from midfold.offload.plan import OffloadPlan, OffloadReason, OffloadStep, plan_offload
from midfold.offload.safe_text import SafeText, sanitize
from midfold.offload.sinks import FileSession, FileSink, MemorySink, Quotas
from midfold.offload.tool import OutputReader, read_tool_schema

__all__ = [
    "MAX_READ_CHARS",
    "READER",
    "REFERENCE",
    "BadPattern",
    "Budgets",
    "CutResult",
    "FileSession",
    "FileSink",
    "Find",
    "MemorySink",
    "OffloadPlan",
    "OffloadReason",
    "OffloadStep",
    "OffloadedMessages",
    "OffloadedResult",
    "Original",
    "Output",
    "OutputInfo",
    "OutputMatch",
    "OutputMatches",
    "OutputReader",
    "OutputSink",
    "Quotas",
    "SafeText",
    "ShortenedResult",
    "Slice",
    "apply",
    "enforce",
    "is_reference",
    "literal",
    "name_folder",
    "offload_result",
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
