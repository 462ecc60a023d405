"""Reads PowerShell's errors: the message stands above the place, the command and the category."""

from itertools import dropwhile

from midfold.late_patterns import compile_late

CATEGORY = "+ CategoryInfo"
_READ_CHARS = 2_000
_MOST_LINES = 4
_PLACE = compile_late(r".{0,300}:\s?\d{1,6}\s*$")
_OPENING = compile_late(r"\S.{0,120}? : \S|\S+: \S")
_UNREADABLE = "\ufffd"


def find_message(before: str) -> str:
    """Return the first line of the message above a category; empty if none can be read."""
    lines = [line.strip() for line in before[-_READ_CHARS:].split("\n")]
    above = list(dropwhile(_is_command, reversed(lines)))
    if len(above) < 2 or not _PLACE.match(above[0]):
        return ""
    said = ""
    for line in above[1 : 1 + _MOST_LINES]:
        if not line or line.startswith("```"):
            break
        said = line
        if _OPENING.match(line):
            break
    return "" if _UNREADABLE in said else said


def _is_command(line: str) -> bool:
    return not line or line.startswith("+")
