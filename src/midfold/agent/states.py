"""What the engine remembers of a conversation, as the store keeps it."""

from dataclasses import replace

from midfold.agent.conversation import Conversation
from midfold.folding import CompressionState, state_from_json
from midfold.store import Store

STATE = "compression"
"""The name that the state is saved by."""


def load_state(store: Store, conversation: Conversation) -> CompressionState:
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
