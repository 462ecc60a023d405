"""A fold as data, and what a compression tells about itself.

`Fold` says what happens to a list of messages; `apply` does it, to the list the fold was made for or to a
longer one that begins with the same messages. Everything that shows, stores, splices or undoes a
compression works on this one value.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from midfold.errors import StaleFold
from midfold.messages import Message, Part, digest


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`messages[start:stop]`"""

    start: int
    stop: int

    def __len__(self) -> int:
        return max(0, self.stop - self.start)

    def __contains__(self, index: int) -> bool:
        return self.start <= index < self.stop

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self.stop))


@dataclass(frozen=True, slots=True)
class Edit:
    """Parts of `messages[index]` that are said more briefly: position and replacement of each."""

    index: int
    parts: tuple[tuple[int, Part], ...]

    def apply(self, message: Message) -> Message:
        for position, part in self.parts:
            message = message.with_part(position, part)
        return message


@dataclass(frozen=True, slots=True)
class Fold:
    """What a compression does to a list.

    The messages of `spans` go, `summary` comes in at the index `at` of the old list, and `edits` shorten some
    that stay. A fold that only pruned has no spans and no summary.
    """

    spans: tuple[Span, ...]
    at: int
    summary: Message | None
    edits: tuple[Edit, ...]
    prefix_digest: bytes
    """chained digest of everything up to the last message the fold touches: the key to find it again by"""
    span_digest: bytes
    """digest of the messages the fold touches: what `apply` insists on"""

    @property
    def stop(self) -> int:
        """The first index that the fold leaves alone, and all after it."""
        return max([self.at, *(span.stop for span in self.spans), *(edit.index + 1 for edit in self.edits)])


def apply(fold: Fold, messages: Sequence[Message]) -> list[Message]:
    """Return the folded list; untouched messages are the same objects.

    Raises `StaleFold` when the messages that the fold is about are not the ones in `messages`.
    """
    if fold.stop > len(messages) or span_digest(messages, fold.spans, fold.edits) != fold.span_digest:
        raise StaleFold
    edits = {edit.index: edit for edit in fold.edits}
    folded = {index for span in fold.spans for index in span}
    result: list[Message] = []
    for index, message in enumerate(messages):
        if index == fold.at and fold.summary is not None:
            result.append(fold.summary)
        if index not in folded:
            result.append(edits[index].apply(message) if index in edits else message)
    return result


def span_digest(messages: Sequence[Message], spans: Sequence[Span], edits: Sequence[Edit]) -> bytes:
    """Digest the messages that a fold removes or shortens."""
    touched = sorted({index for span in spans for index in span} | {edit.index for edit in edits})
    return sha256(b"".join([digest(messages[index]) or b"-" for index in touched])).digest()
