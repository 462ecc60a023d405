"""The session files that agents leave on disk, read as plain lists of wire messages.

These files hold more than a conversation: bookkeeping, abandoned branches, messages cut into lines. What
stays out is counted in the notes, so that nobody mistakes a session file for a request.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias, assert_never

from midfold.wire.session_files.claude_code import is_claude_code, read_claude_code
from midfold.wire.session_files.codex import is_codex, read_codex
from midfold.wire.session_files.hermes import is_hermes, read_hermes
from midfold.wire.session_files.records import SessionFile

__all__ = ["SessionFile", "SessionKind", "detect_session", "read_session"]

SessionKind: TypeAlias = Literal["claude_code", "codex", "hermes"]


def detect_session(records: Sequence[object]) -> SessionKind | None:
    """Name the agent that wrote a file, or `None` when it is not a session file.

    `records` are the decoded lines of a .jsonl file, or the one decoded value of a .json file.
    """
    if is_claude_code(records):
        return "claude_code"
    if is_codex(records):
        return "codex"
    return "hermes" if is_hermes(records) else None


def read_session(kind: SessionKind, records: Sequence[object]) -> SessionFile:
    """Read the conversation out of a session file.

    `records` are not changed, and a message that stands on one line is handed over by identity. Raises
    `MalformedMessage` with the index of the line for one that is not an object or holds an odd message.
    """
    match kind:
        case "claude_code":
            return read_claude_code(records)
        case "codex":
            return read_codex(records)
        case "hermes":
            return read_hermes(records)
        case _:
            assert_never(kind)
