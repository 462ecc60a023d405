"""What the engine remembers of a conversation: read when it is taken up, saved when it changes.

Earlier versions kept pins in files beside the store; those are taken over, one conversation at a time.
"""

import json
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from midfold.agent.conversation import Conversation
from midfold.compression.state import CompressionState
from midfold.compression.state_json import state_from_json
from midfold.store.sqlite.store import SqliteStore

STATE = "compression"
"""The name that the state is saved by."""
PINS_FOLDER = "pins"


def load_state(store: SqliteStore, conversation: Conversation) -> CompressionState:
    """Return what was remembered of a conversation; how often it was folded is what the store has of it.

    Raises `StoreError`.
    """
    if not conversation.is_stored:
        return CompressionState()
    folds = store.folds(conversation.id)
    return replace(
        state_from_json(store.load_state(conversation.id, STATE)),
        count=len(folds),
        folds=sum(stored.fold.summary is not None for stored in folds),
    )


def read_old_pins(home: Path, conversation_id: str) -> tuple[str, ...]:
    """Return the pins of a conversation that an earlier version kept in a file."""
    try:
        found = json.loads(_old_path(home, conversation_id).read_text("utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(pin for pin in found if isinstance(pin, str)) if isinstance(found, list) else ()


def remove_old_pins(home: Path, conversation_id: str) -> None:
    """Remove the file, and its folder with the last one."""
    with suppress(OSError):
        _old_path(home, conversation_id).unlink()
        (home / PINS_FOLDER).rmdir()


def _old_path(home: Path, conversation_id: str) -> Path:
    # An id may be anything that somebody imported.
    return home / PINS_FOLDER / f"{sha256(conversation_id.encode()).hexdigest()[:32]}.json"
