"""A summary as sections: reading the headings of one, and putting one together."""

import re
from collections.abc import Mapping
from enum import StrEnum

_HEADING = re.compile(r"^## +(\S.*)$", re.MULTILINE)
FOLDED_HEADING = "Folded Messages"


class Template(StrEnum):
    """The headings of a summary."""

    HANDOFF = "handoff"
    PROGRESS = "progress"
    BRIEF = "brief"


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


def quote_headings(text: str) -> str:
    """Return a text that is quoted in a section, so that no line of it is taken for a heading."""
    return _HEADING.sub(r" \g<0>", text) if "## " in text else text


def with_section(body: str, name: str, text: str) -> str:
    """Return the summary with `text` as its first section `name`, whatever it said there before."""
    rest = {heading: words for heading, words in split_sections(body).items() if heading != name}
    return join_sections({name: quote_headings(text), **rest})


def _add(sections: dict[str, str], name: str, text: str) -> None:
    text = text.strip()
    if text:
        sections[name] = f"{sections[name]}\n{text}" if name in sections else text
