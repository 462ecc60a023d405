"""Hermes sessions: an object with `messages`, or those messages as lines behind a `session_meta` line."""

from collections.abc import Sequence

from midfold.errors import MalformedMessage
from midfold.wire.dialect import Item, describe
from midfold.wire.session_files.records import (
    SessionFile,
    list_or_none,
    note_other_kinds,
    require_objects,
    text_or_none,
)

_META = "session_meta"
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def is_hermes(records: Sequence[object]) -> bool:
    """True for the object of a session file, or lines of which the first says what the session is."""
    first = records[0] if records else None
    if not isinstance(first, dict):
        return False
    if len(records) == 1 and isinstance(first.get("messages"), list):
        return "session_id" in first and any(
            key in first for key in ("session_start", "last_updated", "message_count")
        )
    return first.get("role") == _META


def read_hermes(records: Sequence[object]) -> SessionFile:
    """Read a session. Its messages have keys of Hermes's own beside those of the provider; they stay."""
    lines = require_objects(records)
    about = lines[0] if lines else {}
    if isinstance(about.get("messages"), list):
        lines = require_objects(about["messages"])
    roles = [_require_role(index, line) for index, line in enumerate(lines)]
    return SessionFile(
        "openai_chat",
        [line for line, role in zip(lines, roles, strict=True) if role in _ROLES],
        text_or_none(about.get("system_prompt")),
        list_or_none(about.get("tools")),
        text_or_none(about.get("model")),
        note_other_kinds(role for role in roles if role not in _ROLES and role != _META),
    )


def _require_role(index: int, line: Item) -> str:
    role = line.get("role")
    if not isinstance(role, str):
        raise MalformedMessage(index, f"the role is {describe(role)}; expected text")
    if not isinstance(line.get("content"), str | list | None):
        raise MalformedMessage(index, f"the content is {describe(line['content'])}; expected text or a list")
    return role
