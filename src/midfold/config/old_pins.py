"""Pins that earlier versions kept in files of the home folder: read once, removed with the conversation."""

import json
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from midfold.files import read_bytes

PINS_FOLDER = "pins"


def read_old_pins(home: Path, conversation_id: str) -> tuple[str, ...]:
    """Return the pins of a conversation that are in a file; none where there is no file, or a broken one."""
    try:
        found = json.loads(read_bytes(_path(home, conversation_id)))
    except (OSError, ValueError):
        return ()
    return tuple(pin for pin in found if isinstance(pin, str)) if isinstance(found, list) else ()


def remove_old_pins(home: Path, conversation_id: str) -> None:
    """Remove the file, and the folder with its last file."""
    with suppress(OSError):
        _path(home, conversation_id).unlink()
        (home / PINS_FOLDER).rmdir()


def _path(home: Path, conversation_id: str) -> Path:
    # An id may be anything that somebody imported.
    name = sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return home / PINS_FOLDER / f"{name}.json"
