"""The model that a conversation was held with, as it is kept beside it: a chat that is resumed asks it again.

The key is never kept; it is found anew where the model is.
"""

from collections.abc import Mapping
from dataclasses import asdict

from midfold.late_dataclasses import dataclass
from midfold.store import Store

_STATE = "model"


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A model by its name, its address where that is not its provider's own, and the window that was set."""

    name: str
    base_url: str | None = None
    api: str | None = None
    context_length: int | None = None

    def save(self, store: Store, session_id: str) -> None:
        """Keep it with the conversation of a session; raises `StoreError`."""
        store.save_state(session_id, _STATE, asdict(self))


def load_saved_model(store: Store, session_id: str) -> SavedModel | None:
    """Return the model that is kept with the conversation of a session, if one is."""
    found = store.load_state(session_id, _STATE)
    if not isinstance(found, Mapping) or not isinstance(name := found.get("name"), str):
        return None
    length = found.get("context_length")
    return SavedModel(
        name,
        _text(found.get("base_url")),
        _text(found.get("api")),
        length if isinstance(length, int) and length > 0 else None,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
