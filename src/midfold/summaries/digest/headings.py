"""Which heading of a template an entry stands under."""

import re

from midfold.summaries.digest.entries import CHANGED_MARK, FILE_USES, Kind
from midfold.summaries.sections import Template

RULES_HEADING = "Constraints & Preferences"
"""What stands under it was put there by code, in every template."""
NOTED_HEADING = "Constraints & Preferences (noted)"
"""What a model wrote under that heading."""
NOTES_HEADING = "Notes"
"""What a model wrote without a heading."""
KIND_HEADINGS: dict[Template, dict[Kind, str]] = {
    Template.HANDOFF: {
        Kind.REQUEST: "Goal",
        Kind.RULE: RULES_HEADING,
        Kind.DEED: "Completed Actions",
        Kind.CHANGED: "Active State",
        Kind.DOING: "In Progress",
        Kind.BROKEN: "Blocked",
        Kind.WORDS: "Key Decisions",
        Kind.ASK: "Pending User Asks",
        Kind.READ: "Relevant Files",
        Kind.STEP: "Remaining Work",
        Kind.EARLIER: "Critical Context",
    },
    Template.PROGRESS: {
        Kind.REQUEST: "Goal",
        Kind.RULE: RULES_HEADING,
        Kind.DEED: "Progress",
        Kind.DOING: "Progress",
        Kind.BROKEN: "Progress",
        Kind.WORDS: "Key Decisions",
        Kind.CHANGED: "Relevant Files",
        Kind.READ: "Relevant Files",
        Kind.ASK: "Next Steps",
        Kind.STEP: "Next Steps",
        Kind.EARLIER: "Critical Context",
    },
    Template.BRIEF: {
        Kind.REQUEST: "Task Context",
        Kind.RULE: RULES_HEADING,
        Kind.DEED: "Task Context",
        Kind.BROKEN: "Task Context",
        Kind.EARLIER: "Task Context",
        Kind.WORDS: "Key Decisions Resolved",
        Kind.CHANGED: "Active Files",
        Kind.READ: "Active Files",
        Kind.ASK: "Pending Questions",
        Kind.DOING: "Remaining Work",
        Kind.STEP: "Remaining Work",
    },
}


REQUEST_HEADINGS = frozenset(
    names[kind] for names in KIND_HEADINGS.values() for kind in (Kind.REQUEST, Kind.ASK)
)
"""Where the user's messages are quoted, line breaks and all."""
_DEED = re.compile(r"\[[\d, ]{1,80}\] [^\s:]{1,80}(?::|$)")


def kind_of_item(heading: str, head: str) -> Kind:
    """Tell what an item of an earlier summary is about, whatever the template was and whoever wrote it."""
    if heading == NOTED_HEADING:
        return Kind.EARLIER
    kinds = [kind for names in KIND_HEADINGS.values() for kind, name in names.items() if name == heading]
    if FILE_USES.search(head):
        return Kind.CHANGED if CHANGED_MARK in head else Kind.READ
    if Kind.DEED in kinds and _DEED.match(head):
        return Kind.DEED
    return kinds[0] if kinds else Kind.EARLIER
