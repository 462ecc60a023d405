"""Files in which a project tells agents how to work, and the headers under which clients show them."""

import re

from midfold.late_patterns import compile_late

_NAMES = compile_late(
    r"(?:^|[/\\])(?:AGENTS?|CLAUDE|GEMINI|QWEN|CODEX|WARP|CRUSH|CONVENTIONS|CONTRIBUTING|GUIDELINES|RULES"
    r"|copilot-instructions|project_rules|user_rules)(?:\.(?:local|override|[a-z]{2}))?\.(?:md|mdc|txt|rst|adoc)$"
    r"|(?:^|[/\\])\.(?:cursor|windsurf|cline|roo|kilocode|trae|augment|continue|goose|amazonq)?"
    r"(?:rules|hints|guidelines)(?:-\w{1,20})?(?:[/\\][\w .-]{1,80}\.(?:md|mdc|txt))?$"
    r"|(?:^|[/\\])(?:\.\w{1,20}[/\\])(?:rules|steering|instructions)[/\\][\w .-]{1,80}\.(?:md|mdc|txt)$"
    r"|(?:^|[/\\])[\w.-]{1,60}\.(?:instructions\.md|mdc)$"
    r"|(?:^|[/\\])(?:CONTRIBUTING|\.goosehints|\.cursorrules|\.windsurfrules|\.clinerules)$",
    re.IGNORECASE,
)
_BODY_NAMES = compile_late(
    r"(?:^|[/\\])(?:SKILL\.md|(?:commands|prompts|skills)[/\\][\w ./\\-]{1,120})$", re.IGNORECASE
)
_PATH = r"[`'\"(]?((?:[A-Za-z]:)?[\w.@~+/\\-]{2,200})[`'\")]?"
_HEADER_PATH = compile_late(_PATH)
_HEADER_CHARS = 300
_LINE_NUMBER = compile_late(r"^[ \t]{0,8}\d{1,6}(?:\t|→|: |\| ?)", re.MULTILINE)


def is_rules_file(path: str) -> bool:
    """Whether a path is that of a file with a project's rules, by the names that agents look for."""
    return _NAMES.search(path) is not None


def find_header(line: str) -> str | None:
    """Return the rules file that a header names: a heading, a rule of dashes, a label with a colon."""
    line = line.strip()
    if not 0 < len(line) <= _HEADER_CHARS or not _is_header(line):
        return None
    for path in _HEADER_PATH.findall(line):
        if is_rules_file(path.rstrip(".:,")):
            return str(path.rstrip(".:,"))
    return None


def find_body_header(line: str) -> str | None:
    """Return the folder or file of a skill or command that a header names."""
    line = line.strip()
    label, colon, rest = line.partition(":")
    path = _HEADER_PATH.match(rest.strip())
    if colon and path and "/" in path[1].replace("\\", "/"):
        words = label.lower().split()
        if {"skill", "command", "workflow", "prompt", "plugin"} & set(words) and len(words) <= 8:
            return path[1]
    return path[1] if colon and path and _BODY_NAMES.search(path[1]) and len(label) <= 40 else None


def strip_line_numbers(text: str) -> str:
    """Take away the numbers that tools print before the lines of a file."""
    return _LINE_NUMBER.sub("", text)


def _is_header(line: str) -> bool:
    return line.endswith(":") or line.startswith(("#", "---", "===", "[", "<!--", "***"))
