"""Folds that were made for a history before: found again, and applied without asking any model."""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

from midfold.folding import Fold, MessageSource, WalkStep
from midfold.late_dataclasses import dataclass, field
from midfold.messages import Media, Message, Part, Text, chain_digests, newest_request
from midfold.store import Store, StoredFold
from midfold.wire import render


@dataclass(frozen=True, slots=True)
class FoldedHistory:
    """A history with the folds that were found for it, oldest first."""

    messages: list[Message]
    folds: tuple[StoredFold, ...] = ()
    kept: int = 0
    """how many of the newest messages none of them took out"""


class FoldMemo:
    """What the folds of a conversation made of its last request, so that nothing is written twice.

    A client sends its history again, and most messages come out as they did before: those are the same
    objects then, with the items that were written for them, and all that was found out about them.
    """

    def __init__(self) -> None:
        self._steps: list[_Written] = []

    def keep(self, step: int, messages: Sequence[Message], dialect: str) -> list[Message]:
        """Return the messages that a fold made, the `step`th one of a request, as they are sent."""
        before = self._steps[step] if step < len(self._steps) else _Written()
        alike = zip_longest(messages, before.made[: len(messages)], before.messages[: len(messages)])
        written = [
            old if made is not None and old is not None and _is_same(new, made) else _write(new, dialect)
            for new, made, old in alike
        ]
        self._steps[step:] = [_Written(list(messages), written)]
        return written


@dataclass(frozen=True, slots=True)
class _Written:
    """Messages as a fold made them, and as they are sent."""

    made: list[Message] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


def _is_same(message: Message, other: Message) -> bool:
    """Whether two messages are sent alike; what says the same may still be marked for the cache elsewhere."""
    return message is other or (message.raw is other.raw and message == other)


def _write(message: Message, dialect: str) -> Message:
    """Write the item of a message that is new or changed."""
    if message.raw is not None and not message.edited:
        return message
    items = render([message], dialect)
    return message.with_raw(items[0]) if len(items) == 1 else message


def apply_stored_folds(
    store: Store,
    messages: list[Message],
    chain: Sequence[bytes],
    session_id: str | None,
    keep: Callable[[int, Sequence[Message]], list[Message]] = lambda _step, messages: list(messages),
) -> FoldedHistory:
    """Apply the folds that were made for a history: each finds the next.

    Those of the conversation itself come first, so that another one that begins alike changes nothing for it.
    `keep` is given what each makes of the history, and may return the same messages from before.
    """
    folds: list[StoredFold] = []
    kept = len(messages)
    while (found := _find_fold(store, messages, chain, session_id)) is not None:
        kept = min(kept, _count_kept(found.steps))
        made = [step.message for step in found.steps if step.message is not None]
        messages = keep(len(folds), made)
        chain = chain_digests(messages)
        folds.append(found.stored)
    return FoldedHistory(messages, tuple(folds), kept)


def count_kept(fold: Fold, messages: Sequence[Message]) -> int:
    """Count the newest messages that a fold does not take out; it may shorten them."""
    return _count_kept(fold.walk(messages))


def _count_kept(steps: Iterable[WalkStep]) -> int:
    kept = 0
    for step in steps:
        kept = 0 if step.message is None or step.index is None else kept + 1
    return kept


@dataclass(frozen=True, slots=True)
class _Found:
    """A fold that belongs to a history, and what it does to each of its messages."""

    stored: StoredFold
    steps: list[WalkStep]


def _find_fold(
    store: Store, messages: Sequence[Message], chain: Sequence[bytes], session_id: str | None
) -> _Found | None:
    """Find the fold that reaches furthest and leaves the newest request alone.

    A client that goes back to an earlier message may ask what a later fold has put into its summary.
    """
    while (found := store.find_fold(chain, session_id=session_id)) is not None:
        if found.fold.belongs_to(messages):
            steps = list(found.fold.walk(messages))
            if _leaves_request(steps, messages):
                return _Found(found, steps)
        chain = chain[: list(chain).index(found.fold.prefix_digest)]
    return None


def _leaves_request(steps: Sequence[WalkStep], messages: Sequence[Message]) -> bool:
    """Whether a fold leaves the newest request word for word, and behind the summary."""
    newest = newest_request(messages)
    if newest is None:
        return True
    is_left = False
    for step in steps:
        if step.index == newest:
            is_left = step.message is not None and _words_of(step.message) == _words_of(messages[newest])
        elif step.source is MessageSource.SUMMARY:
            is_left = False
    return is_left


def _words_of(request: Message) -> list[Part]:
    """Return what the user says or shows; a result that rides in the same message is not the user's."""
    return [part for part in request.parts if part.is_covered and isinstance(part, Text | Media)]
