"""What users pinned by hand, kept for the next time their conversation is resumed."""

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from midfold.files import read_bytes, replace_file
from midfold.redact import redact


@dataclass(frozen=True, slots=True)
class Pins:
    """A folder with a small file for each conversation that has pins."""

    folder: Path

    def read(self, conversation_id: str) -> tuple[str, ...]:
        """Return the pins of a conversation; none where the file is missing or broken."""
        try:
            found = json.loads(read_bytes(self._path(conversation_id)))
        except (OSError, ValueError):
            return ()
        return tuple(pin for pin in found if isinstance(pin, str)) if isinstance(found, list) else ()

    def write(self, conversation_id: str, pins: tuple[str, ...]) -> None:
        """Replace the pins of a conversation; raises `OSError`."""
        path = self._path(conversation_id)
        if not pins:
            path.unlink(missing_ok=True)
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, json.dumps([redact(pin) for pin in pins], ensure_ascii=False).encode())

    def _path(self, conversation_id: str) -> Path:
        # An id may be anything that somebody imported.
        return self.folder / f"{sha256(conversation_id.encode()).hexdigest()[:32]}.json"
