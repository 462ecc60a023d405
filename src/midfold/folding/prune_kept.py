"""What stays of a result that was put aside before: its reference, without which nobody reads it back.

A result counts as put aside if all of it is such a block, word for word. A tool can print one; all it gets is
a stub with a reference under which nothing is found, and with a number.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from midfold.messages import ToolCall, ToolResult
from midfold.summaries.tool_calls import kind_of, name_of, one_line, subject_of, write_stub

_LONGEST_STUB_CHARS = 600
_SUBJECT_CHARS = 120
_READER = "read_persisted_output"
_REFERENCE = r'reference="(?P<reference>[a-z0-9_]{1,24}-[0-9a-f]{32})"'
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3}){0,4}"
_SIZE = rf"(?P<size>{_NUMBER} characters \({_NUMBER}\.[0-9] [KM]B\))"
# A path is none of ours to repeat: whoever prints such a block may write there what they like.
_BLOCK = re.compile(
    rf"<persisted-output {_REFERENCE}>\n"
    rf"This result has {_SIZE}, too many for the conversation, so it was put aside\."
    rf"(?: Credentials in it were replaced; {_NUMBER} characters are kept\.)?"
    rf" Nothing of it is lost: call `{_READER}` with the reference above to get any part of it,"
    rf" by `offset` and `limit` \(in characters, up to {_NUMBER}\), from the end, by lines,"
    r" or by a `pattern` to search for\.(?: It is also the file [^\n]{1,260})?\n"
    rf"The first {_NUMBER} characters:\n\n"
    r"(?P<preview>.*)\n</persisted-output>\n?",
    re.DOTALL,
)
_NOTE = re.compile(rf"\[persisted-output {_REFERENCE}: {_SIZE}, `{_READER}` reads it\]")


@dataclass(frozen=True, slots=True)
class Kept:
    """A result that was put aside: how it begins, and a note that says how to read all of it."""

    preview: str
    note: str


def find_kept(text: str, redact: Callable[[str], str]) -> Kept | None:
    """Read the block that stands for a result; one with a credential for its reference is none of ours."""
    block = _BLOCK.fullmatch(text)
    if block is None:
        return None
    note = f'[persisted-output reference="{block["reference"]}": {block["size"]}, `{_READER}` reads it]'
    return Kept(block["preview"], note) if redact(note) == note else None


def write_kept_stub(
    call: ToolCall | None, result: ToolResult, kept: Kept, redact: Callable[[str], str]
) -> str:
    """Say in one line what was put aside, and where it is."""
    shown = ToolResult(result.call_id, redact(kept.preview), result.is_error, (), result.name)
    call = call or ToolCall(result.call_id, name_of(None, result), "")
    writers = dict.fromkeys((call.name, kind_of(call)), _say_put_aside)
    return f"{redact(write_stub(call, shown, writers))} {kept.note}"


def is_kept_stub(text: str) -> bool:
    """Recognise a line with such a note at its end."""
    if len(text) > _LONGEST_STUB_CHARS or "\n" in text or not text.startswith("["):
        return False
    start = text.rfind("[persisted-output ")
    return start > 0 and _NOTE.fullmatch(text, start) is not None


def _say_put_aside(call: ToolCall, _: ToolResult) -> str:
    kind = kind_of(call)
    subject = one_line(subject_of(call, kind), _SUBJECT_CHARS) if kind else ""
    return f"{subject} -> output put aside".lstrip()
