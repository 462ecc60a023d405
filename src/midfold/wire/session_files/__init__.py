"""The session files that agents leave on disk, read as plain lists of wire messages.

These files hold more than a conversation: bookkeeping, abandoned branches, messages cut into lines. What
stays out is counted in the notes, so that nobody mistakes a session file for a request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from midfold.wire.session_files.claude_code import is_claude_code, read_claude_code
from midfold.wire.session_files.codex import is_codex, read_codex
from midfold.wire.session_files.hermes import is_hermes, read_hermes
from midfold.wire.session_files.records import RecordedCall, SessionFacts, SessionFile

__all__ = [
    "RecordedCall",
    "SessionFacts",
    "SessionFile",
    "SessionFormat",
    "detect_session",
    "read_session",
]

SessionFormat: TypeAlias = Literal["claude_code", "codex", "hermes"]


def detect_session(records: Sequence[object]) -> SessionFormat | None:
    """Name the agent that wrote a file, or `None` when it is not a session file.

    `records` are the decoded lines of a .jsonl file, or the one decoded value of a .json file.
    """
    return next((kind for kind, (is_its, _) in _FORMATS.items() if is_its(records)), None)


def read_session(kind: SessionFormat, records: Sequence[object]) -> SessionFile:
    """Read the conversation out of a session file.

    `records` are not changed, and a message that stands on one line is handed over by identity. Raises
    `MalformedMessage` with the index of the line for one that is not an object or holds an odd message.
    """
    _, read = _FORMATS[kind]
    return read(records)


_FORMATS: Mapping[
    SessionFormat, tuple[Callable[[Sequence[object]], bool], Callable[[Sequence[object]], SessionFile]]
] = {
    "claude_code": (is_claude_code, read_claude_code),
    "codex": (is_codex, read_codex),
    "hermes": (is_hermes, read_hermes),
}
"""The recogniser and the reader of each agent's files, in the order in which they are tried."""
