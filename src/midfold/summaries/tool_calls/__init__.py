"""Tool calls and their results in few words: a stub for each, excerpts of output, failures found in it."""

from midfold.summaries.tool_calls.arguments import LEAF_CHARS, redact_arguments, shorten_strings
from midfold.summaries.tool_calls.families import (
    FAMILIES,
    family_of,
    first_of,
    format_argument,
    kind_of,
    subject_of,
)
from midfold.summaries.tool_calls.output import excerpt, is_excerpt, one_line
from midfold.summaries.tool_calls.stubs import (
    BUILT_IN,
    StubWriter,
    is_stub,
    name_of,
    write_pointer,
    write_stub,
)

__all__ = [
    "BUILT_IN",
    "FAMILIES",
    "LEAF_CHARS",
    "StubWriter",
    "excerpt",
    "family_of",
    "first_of",
    "format_argument",
    "is_excerpt",
    "is_stub",
    "kind_of",
    "name_of",
    "one_line",
    "redact_arguments",
    "shorten_strings",
    "subject_of",
    "write_pointer",
    "write_stub",
]
