"""Folds that one gateway prepared, for others on the same store: whoever needs it first applies it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from midfold.engines import ContextCompressor, FoldingEngine
from midfold.errors import StoreError
from midfold.folding import Compression
from midfold.late_dataclasses import dataclass
from midfold.messages import Message
from midfold.store import Store, fold_from_json, fold_to_json

PREPARED_STATE = "prepared_fold"
"""The name by which the store keeps a fold that is ready, until one is made."""
_NUMBERS = ("tokens_before", "tokens_after", "budget_tokens", "summary_tokens", "model_tokens")


class StoredPlace(Protocol):
    """The conversation of a gateway, as far as it has a place in the store."""

    id: str
    is_stored: bool


@dataclass(frozen=True, slots=True)
class SharedFolds:
    """Hands prepared folds from gateway to gateway."""

    store: Store

    def publish(self, session: StoredPlace, prepared: Compression[Message]) -> None:
        """Keep a fold for all; without the store it is this gateway's alone."""
        if prepared.fold is None or not session.is_stored:
            return
        kept = {
            "session": session.id,
            "length": len(prepared.before),
            "fold": fold_to_json(prepared.fold),
            "summarizer": prepared.summarizer,
            **{name: getattr(prepared, name) for name in _NUMBERS},
        }
        with suppress(StoreError):
            self.store.save_state(session.id, PREPARED_STATE, kept)

    def offer(self, session: StoredPlace, engine: FoldingEngine, messages: Sequence[Message]) -> None:
        """Give an engine the fold that another gateway prepared for these messages, where there is one."""
        if type(engine) is not ContextCompressor or not engine.wants_fold or not session.is_stored:
            return
        with suppress(StoreError, KeyError, TypeError, ValueError):
            kept = self.store.load_state(session.id, PREPARED_STATE)
            if isinstance(kept, dict) and kept["session"] == session.id:
                engine.take_prepared(_read(kept, engine, messages))


def _read(
    kept: dict[str, object], engine: ContextCompressor, messages: Sequence[Message]
) -> Compression[Message]:
    numbers = {name: int(str(kept[name])) for name in _NUMBERS}
    summarizer = kept["summarizer"]
    return Compression(
        messages=[],
        before=tuple(messages[: int(str(kept["length"]))]),
        fold=fold_from_json(kept["fold"]),
        reason="prepared by another gateway",
        state=engine.state,
        tokens_before=numbers["tokens_before"],
        tokens_after=numbers["tokens_after"],
        budget_tokens=numbers["budget_tokens"],
        summarizer=summarizer if isinstance(summarizer, str) else None,
        summary_tokens=numbers["summary_tokens"],
        model_tokens=numbers["model_tokens"],
    )
