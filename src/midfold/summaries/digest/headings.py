"""Which heading of a template an entry stands under."""

import re

from midfold.summaries.digest.entries import CHANGED_MARK, FILE_USES, EntryKind
from midfold.summaries.sections import Template

RULES_HEADING = "Constraints & Preferences"
"""What stands under it was put there by code, in every template."""
NOTED_HEADING = "Constraints & Preferences (noted)"
"""What a model wrote under that heading."""
NOTES_HEADING = "Notes"
"""What a model wrote without a heading."""
KIND_HEADINGS: dict[Template, dict[EntryKind, str]] = {
    Template.HANDOFF: {
        EntryKind.REQUEST: "Goal",
        EntryKind.RULE: RULES_HEADING,
        EntryKind.ACTION: "Completed Actions",
        EntryKind.CHANGED: "Active State",
        EntryKind.DOING: "In Progress",
        EntryKind.BROKEN: "Blocked",
        EntryKind.WORDS: "Key Decisions",
        EntryKind.OPEN_REQUEST: "Pending User Asks",
        EntryKind.READ: "Relevant Files",
        EntryKind.STEP: "Remaining Work",
        EntryKind.EARLIER: "Critical Context",
    },
    Template.PROGRESS: {
        EntryKind.REQUEST: "Goal",
        EntryKind.RULE: RULES_HEADING,
        EntryKind.ACTION: "Progress",
        EntryKind.DOING: "Progress",
        EntryKind.BROKEN: "Progress",
        EntryKind.WORDS: "Key Decisions",
        EntryKind.CHANGED: "Relevant Files",
        EntryKind.READ: "Relevant Files",
        EntryKind.OPEN_REQUEST: "Next Steps",
        EntryKind.STEP: "Next Steps",
        EntryKind.EARLIER: "Critical Context",
    },
    Template.BRIEF: {
        EntryKind.REQUEST: "Task Context",
        EntryKind.RULE: RULES_HEADING,
        EntryKind.ACTION: "Task Context",
        EntryKind.BROKEN: "Task Context",
        EntryKind.EARLIER: "Task Context",
        EntryKind.WORDS: "Key Decisions Resolved",
        EntryKind.CHANGED: "Active Files",
        EntryKind.READ: "Active Files",
        EntryKind.OPEN_REQUEST: "Pending Questions",
        EntryKind.DOING: "Remaining Work",
        EntryKind.STEP: "Remaining Work",
    },
}


REQUEST_HEADINGS = frozenset(
    names[kind] for names in KIND_HEADINGS.values() for kind in (EntryKind.REQUEST, EntryKind.OPEN_REQUEST)
)
"""Where the user's messages are quoted, line breaks and all."""
_ACTION = re.compile(r"\[[\d, ]{1,80}\] [^\s:]{1,80}(?::|$)")


def kind_of_item(heading: str, head: str) -> EntryKind:
    """Tell what an item of an earlier summary is about, whatever the template was and whoever wrote it."""
    if heading == NOTED_HEADING:
        return EntryKind.EARLIER
    kinds = [kind for names in KIND_HEADINGS.values() for kind, name in names.items() if name == heading]
    if FILE_USES.search(head):
        return EntryKind.CHANGED if CHANGED_MARK in head else EntryKind.READ
    if EntryKind.ACTION in kinds and _ACTION.match(head):
        return EntryKind.ACTION
    return kinds[0] if kinds else EntryKind.EARLIER
