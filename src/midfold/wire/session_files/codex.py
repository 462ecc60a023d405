"""Codex rollouts: lines of `{timestamp, type, payload}`, whose response items are the conversation.

The oldest files have no such envelope: a first line about the session, then bare response items.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.errors import MalformedMessage
from midfold.wire.dialect import Item, describe
from midfold.wire.session_files.records import (
    SessionFile,
    counted,
    note_compactions,
    note_other_kinds,
    require_objects,
    text_or_none,
)

_ENVELOPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
# Codex keeps the state of the working tree among the items to undo with, and never sends it.
_UNSENT_ITEMS = ("ghost_snapshot",)


def is_codex(records: Sequence[object]) -> bool:
    """True when a line has Codex's envelope, or the file starts like its oldest ones."""
    lines = [record for record in records if isinstance(record, dict)]
    if any(line.get("type") in _ENVELOPES and "payload" in line for line in lines):
        return True
    return bool(lines) and "type" not in lines[0] and {"id", "timestamp", "instructions"} <= lines[0].keys()


def read_codex(records: Sequence[object]) -> SessionFile:
    """Read a rollout. All items stay, also those from before a compaction or of turns taken back."""
    messages: list[object] = []
    system: str | None = None
    model: str | None = None
    compactions: list[int] = []
    rollbacks = 0
    other: list[str] = []
    for index, line in enumerate(require_objects(records)):
        entry = _open(index, line)
        match entry.kind:
            case "response_item" if entry.payload.get("type") in _UNSENT_ITEMS:
                other.append(entry.payload["type"])
            case "response_item":
                messages.append(_require_item(index, entry.payload))
            case "session_meta":
                system = system or _instructions(entry.payload)
            case "turn_context":
                model = text_or_none(entry.payload.get("model")) or model
            case "compacted":
                compactions.append(len(messages))
            case "event_msg" if entry.payload.get("type") == "thread_rolled_back":
                rollbacks += 1
            case kind:
                other.append(kind)
    notes = (
        *note_compactions("Codex", compactions),
        *counted(rollbacks, "rollback", "; the turns taken back are kept"),
        *note_other_kinds(other),
    )
    return SessionFile("openai_responses", messages, system, model=model, notes=notes)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line without its envelope."""

    kind: str
    payload: Item


def _open(index: int, line: Item) -> _Entry:
    """Take a line out of its envelope, or recognise a line without one by its keys."""
    kind = line.get("type")
    if "payload" not in line:
        if kind is not None:
            return _Entry("response_item", line)
        return _Entry("session_meta" if "instructions" in line else "state", line)
    payload = line["payload"]
    if not isinstance(kind, str):
        raise MalformedMessage(index, f"the line's type is {describe(kind)}; expected text")
    if not isinstance(payload, dict):
        raise MalformedMessage(index, f"the payload is {describe(payload)}; expected an object")
    return _Entry(kind, payload)


def _require_item(index: int, item: Item) -> Item:
    if not isinstance(item.get("type"), str):
        raise MalformedMessage(index, f"the item's type is {describe(item.get('type'))}; expected text")
    return item


def _instructions(meta: Item) -> str | None:
    """Return the system prompt of a session, which has had two names and two shapes."""
    base = meta.get("base_instructions")
    if isinstance(base, dict):
        base = base.get("text")
    return text_or_none(base) or text_or_none(meta.get("instructions"))
