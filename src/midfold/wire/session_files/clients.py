"""Where clients keep their session files, how they name them, and how a person resumes one."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.wire.dialect import Item
from midfold.wire.session_files.records import text_or_none

ClientFormat: TypeAlias = Literal["claude_code", "codex"]

_NAME_CHARS = 200
"""Claude Code cuts longer names of folders and adds a hash to them."""


@dataclass(frozen=True, slots=True)
class SessionClient:
    """A client whose sessions can be found and written.

    Its files are in `sessions` of its home, which an environment variable can move.
    """

    format: ClientFormat
    label: str
    home_variable: str
    home_name: str
    sessions: str
    patterns: Callable[[str], Sequence[str]]
    """which files of `sessions` can belong to a folder, as globs"""
    path_of: Callable[[str, str, datetime], str]
    """the path in `sessions` for a folder, a session id and a local time"""
    keeps_by_folder: bool
    """whether the sessions of one folder stand beside one another"""
    command: tuple[str, ...]
    """what resumes a session, before its id"""

    def find_sessions_folder(self, environment: Mapping[str, str], home: Path) -> Path:
        """Return where the files of sessions are."""
        moved = environment.get(self.home_variable)
        return (Path(moved) if moved else home / self.home_name) / self.sessions


def read_folder(record: object) -> str | None:
    """Return the folder that a line of a session file says the client ran in."""
    if not isinstance(record, dict):
        return None
    payload: Item = record["payload"] if isinstance(record.get("payload"), dict) else {}
    return text_or_none(record.get("cwd")) or text_or_none(payload.get("cwd"))


def holds_words(record: object) -> bool:
    """Say whether a line of a session file has a message in it."""
    return isinstance(record, dict) and record.get("type") in ("user", "assistant", "response_item")


def is_subagent_file(name: str) -> bool:
    """Say whether a file holds what a subagent said, which nobody resumes."""
    return name.startswith("agent-")


def _folder_name(folder: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", folder)


def _claude_code_patterns(folder: str) -> tuple[str, ...]:
    name = _folder_name(folder)
    return (f"{name if len(name) <= _NAME_CHARS else f'{name[:_NAME_CHARS]}*'}/*.jsonl",)


def _codex_patterns(_folder: str) -> tuple[str, ...]:
    return ("[0-9]*/[0-9]*/[0-9]*/rollout-*.jsonl", "rollout-*.jsonl")


def _claude_code_path(folder: str, session_id: str, _at: datetime) -> str:
    return f"{_folder_name(folder)}/{session_id}.jsonl"


def _codex_path(_folder: str, session_id: str, at: datetime) -> str:
    return f"{at:%Y/%m/%d}/rollout-{at:%Y-%m-%dT%H-%M-%S}-{session_id}.jsonl"


CLIENTS: Mapping[ClientFormat, SessionClient] = {
    "claude_code": SessionClient(
        format="claude_code",
        label="Claude Code",
        home_variable="CLAUDE_CONFIG_DIR",
        home_name=".claude",
        sessions="projects",
        patterns=_claude_code_patterns,
        path_of=_claude_code_path,
        keeps_by_folder=True,
        command=("claude", "--resume"),
    ),
    "codex": SessionClient(
        format="codex",
        label="Codex",
        home_variable="CODEX_HOME",
        home_name=".codex",
        sessions="sessions",
        patterns=_codex_patterns,
        path_of=_codex_path,
        keeps_by_folder=False,
        command=("codex", "resume"),
    ),
}
