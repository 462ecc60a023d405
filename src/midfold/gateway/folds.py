"""Folds that were made for a history before: found again, and applied without asking any model."""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.folding import Fold, MessageSource, splice
from midfold.messages import Media, Message, Part, Text, chain_digests, newest_request
from midfold.store import Store, StoredFold


@dataclass(frozen=True, slots=True)
class FoldedHistory:
    """A history with the folds that were found for it, oldest first."""

    messages: list[Message]
    folds: tuple[StoredFold, ...] = ()
    kept: int = 0
    """how many of the newest messages none of them took out"""


def apply_stored_folds(
    store: Store, messages: list[Message], chain: Sequence[bytes], session_id: str | None
) -> FoldedHistory:
    """Apply the folds that were made for a history: each finds the next.

    Those of the conversation itself come first, so that another one that begins alike changes nothing for it.
    """
    folds: list[StoredFold] = []
    kept = len(messages)
    while (found := _find_fold(store, messages, chain, session_id)) is not None:
        kept = min(kept, count_kept(found.fold, messages))
        messages = splice(found.fold, messages)  # whether it belongs here was asked before
        chain = chain_digests(messages)
        folds.append(found)
    return FoldedHistory(messages, tuple(folds), kept)


def count_kept(fold: Fold, messages: Sequence[Message]) -> int:
    """Count the newest messages that a fold does not take out; it may shorten them."""
    kept = 0
    for step in fold.walk(messages):
        kept = 0 if step.message is None or step.index is None else kept + 1
    return kept


def _find_fold(
    store: Store, messages: Sequence[Message], chain: Sequence[bytes], session_id: str | None
) -> StoredFold | None:
    """Find the fold that reaches furthest and leaves the newest request alone.

    A client that goes back to an earlier message may ask what a later fold has put into its summary.
    """
    while (found := store.find_fold(chain, session_id=session_id)) is not None:
        if found.fold.belongs_to(messages) and _leaves_request(found.fold, messages):
            return found
        chain = chain[: list(chain).index(found.fold.prefix_digest)]
    return None


def _leaves_request(fold: Fold, messages: Sequence[Message]) -> bool:
    """Whether a fold leaves the newest request word for word, and behind the summary."""
    newest = newest_request(messages)
    if newest is None:
        return True
    is_left = False
    for step in fold.walk(messages):
        if step.index == newest:
            is_left = step.message is not None and _words_of(step.message) == _words_of(messages[newest])
        elif step.source is MessageSource.SUMMARY:
            is_left = False
    return is_left


def _words_of(request: Message) -> list[Part]:
    """Return what the user says or shows; a result that rides in the same message is not the user's."""
    return [part for part in request.parts if part.is_covered and isinstance(part, Text | Media)]
