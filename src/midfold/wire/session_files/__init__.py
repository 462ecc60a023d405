"""The session files that agents leave on disk, read as plain lists of wire messages.

These files hold more than a conversation: bookkeeping, abandoned branches, messages cut into lines. What
stays out is counted in the notes, so that nobody mistakes a session file for a request.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from midfold.wire.dialect import Item
from midfold.wire.session_files.claude_code import is_claude_code, read_claude_code
from midfold.wire.session_files.claude_code_output import write_claude_code
from midfold.wire.session_files.clients import (
    CLIENTS,
    ClientFormat,
    SessionClient,
    holds_words,
    is_subagent_file,
    read_folder,
)
from midfold.wire.session_files.codex import is_codex, read_codex
from midfold.wire.session_files.codex_output import write_codex
from midfold.wire.session_files.hermes import is_hermes, read_hermes
from midfold.wire.session_files.records import ClientCall, OutgoingSession, SessionFacts, SessionFile

__all__ = [
    "CLIENTS",
    "ClientCall",
    "ClientFormat",
    "OutgoingSession",
    "SessionClient",
    "SessionFacts",
    "SessionFile",
    "SessionFormat",
    "detect_session",
    "holds_words",
    "is_subagent_file",
    "read_folder",
    "read_session",
    "write_session",
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


def write_session(kind: ClientFormat, session: SessionFile, outgoing: OutgoingSession) -> list[Item]:
    """Return the lines of a session file with other messages, for the client to resume."""
    return _WRITERS[kind](session, outgoing)


_WRITERS: Mapping[ClientFormat, Callable[[SessionFile, OutgoingSession], list[Item]]] = {
    "claude_code": write_claude_code,
    "codex": write_codex,
}
_FORMATS: Mapping[
    SessionFormat, tuple[Callable[[Sequence[object]], bool], Callable[[Sequence[object]], SessionFile]]
] = {
    "claude_code": (is_claude_code, read_claude_code),
    "codex": (is_codex, read_codex),
    "hermes": (is_hermes, read_hermes),
}
"""The recogniser and the reader of each agent's files, in the order in which they are tried."""
