"""What stays of a result that was put aside before: its reference, without which nobody reads it back.

A result counts as put aside if all of it has the form of such a block. A tool can print one; all it gets is a
reference in a stub, under which nothing is found.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from midfold.compression.excerpts import one_line
from midfold.compression.stubs import name_of, write_stub
from midfold.compression.tools import kind_of, subject_of
from midfold.messages import ToolCall, ToolResult

_LONGEST_STUB_CHARS = 1_000
_SUBJECT_CHARS = 120
_REFERENCE = r'reference="(?P<reference>[^"<>\s\[\]]{1,200})"'
_BLOCK = re.compile(
    rf"<persisted-output {_REFERENCE}>\n"
    r"This result has (?P<size>[\d,]{1,15} characters \([\d,.]{1,10} [KM]B\)), "
    r"[^\n]{1,300}: call `(?P<reader>\w{1,60})` with the reference above [^\n]{1,300}?\."
    r"(?: It is also the file (?P<path>[^\n\[\]]{1,260}))?\n"
    r"(?P<preview>.*)\n</persisted-output>\n?",
    re.DOTALL,
)
_NOTE = re.compile(rf"\[persisted-output {_REFERENCE}: [^\n\[\]]{{1,400}}\]")


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
    brief = (
        f'persisted-output reference="{block["reference"]}": {block["size"]}, `{block["reader"]}` reads it'
    )
    path = one_line(block["path"] or "", len(text))
    notes = (f"[{brief}; also the file {path}]", f"[{brief}]") if path else (f"[{brief}]",)
    note = next((note for note in notes if redact(note) == note), None)
    return Kept(block["preview"], note) if note else None


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
