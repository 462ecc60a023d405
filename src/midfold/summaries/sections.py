"""A summary as sections: reading the headings of one, and putting one together."""

import re
from collections.abc import Mapping

from midfold.late_patterns import compile_late
from midfold.settings import Template

_HEADING = compile_late(r"^## +(\S.*)$", re.MULTILINE)
TASK_HEADING = "Active Task"
FOLDED_HEADING = "Folded Messages"
CORRECTIONS_HEADING = "Corrections by the User"
"""Code wrote the lines under this heading."""
_BREAKS = ("\n", ". ", "。", "! ", "? ", " ")
_LEAST_PART = 0.6
NOTED = " (noted)"
"""The end of a heading where a model wrote the lines under it."""


HEADINGS: dict[Template, tuple[str, ...]] = {
    Template.HANDOFF: (
        "Active Task",
        "Goal",
        "Constraints & Preferences",
        "Completed Actions",
        "Active State",
        "In Progress",
        "Blocked",
        "Key Decisions",
        "Resolved Questions",
        "Pending User Asks",
        "Relevant Files",
        "Remaining Work",
        "Critical Context",
    ),
    Template.PROGRESS: (
        "Goal",
        "Constraints & Preferences",
        "Progress",
        "Key Decisions",
        "Relevant Files",
        "Next Steps",
        "Critical Context",
    ),
    Template.BRIEF: (
        "Task Context",
        "Key Decisions Resolved",
        "Active Files",
        "Pending Questions",
        "Remaining Work",
    ),
}
SUBHEADINGS: dict[str, tuple[str, ...]] = {"Progress": ("Done", "In Progress", "Blocked")}


def split_sections(body: str) -> dict[str, str]:
    """Read a summary by its `## ` headings; what stands before the first is under the empty name."""
    sections: dict[str, str] = {}
    name = ""
    start = 0
    for heading in _HEADING.finditer(body):
        _add(sections, name, body[start : heading.start()])
        name, start = heading[1].rstrip(), heading.end()
    _add(sections, name, body[start:])
    return sections


def join_sections(sections: Mapping[str, str]) -> str:
    """Write sections in their order, leaving out empty ones."""
    written = [f"## {name}\n{text}" if name else text for name, text in sections.items() if text.strip()]
    return "\n\n".join(written)


def as_noted(heading: str) -> str:
    """Return a heading that says of itself that a model wrote the lines under it."""
    return heading if heading.endswith(NOTED) else f"{heading}{NOTED}"


def quote_headings(text: str) -> str:
    """Return a text that is quoted in a section, so that no line of it is taken for a heading."""
    return _HEADING.sub(r" \g<0>", text) if "## " in text else text


def cut_at_break(text: str, most: int) -> str:
    """Return the beginning of a text, at most `most` characters, up to the end of a sentence or of a word."""
    if len(text) <= most:
        return text
    room = max(most, 1)
    for mark in _BREAKS:
        at = text.rfind(mark, int(room * _LEAST_PART), room - len(mark) + 1)
        if at > 0:
            return text[: at + len(mark)]
    return text[:room]


def with_section(body: str, name: str, text: str) -> str:
    """Return the summary with `text` as its first section `name`, whatever it said there before."""
    rest = {heading: words for heading, words in split_sections(body).items() if heading != name}
    return join_sections({name: quote_headings(text), **rest})


def _add(sections: dict[str, str], name: str, text: str) -> None:
    text = text.strip()
    if text:
        sections[name] = f"{sections[name]}\n{text}" if name in sections else text
