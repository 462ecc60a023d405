"""A fold as data, and what a compression tells about itself.

`Fold` says what happens to a list of messages; `apply` does it, to the list the fold was made for or to a
longer one that begins with the same messages. Everything that shows, stores, splices or undoes a
compression works on this one value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Generic, TypeVar

from midfold.compression.feedback import headline
from midfold.compression.seals import join_digests
from midfold.compression.state import CompressionState
from midfold.errors import StaleFold
from midfold.messages import Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.messages.digests import spell


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


def join_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Sort spans and join those that touch."""
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].stop:
            joined[-1] = Span(joined[-1].start, max(joined[-1].stop, span.stop))
        else:
            joined.append(span)
    return tuple(joined)


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
class Insert:
    """A message that comes in behind `messages[after]`: the stub result of a call that never got one."""

    after: int
    message: Message


@dataclass(frozen=True, slots=True)
class Fold:
    """What a compression does to a list.

    The messages of `spans` go, `summary` comes in at the index `at` of the old list, `edits` shorten some
    that stay, and `inserts` mend what a provider would refuse. A fold that only pruned has no spans and no
    summary.
    """

    spans: tuple[Span, ...]
    at: int
    summary: Message | None
    edits: tuple[Edit, ...]
    inserts: tuple[Insert, ...]
    prefix_digest: bytes
    """chained digest of everything up to the last message the fold touches: the key to find it again by"""
    span_digest: bytes
    """digest of the messages the fold touches: what `apply` insists on"""

    @property
    def touched(self) -> frozenset[int]:
        """The indices that go or are shortened."""
        return frozenset({edit.index for edit in self.edits}.union(*self.spans))

    @property
    def stop(self) -> int:
        """The first index that the fold leaves alone, and all after it."""
        edited = (edit.index + 1 for edit in self.edits)
        mended = (insert.after + 1 for insert in self.inserts)
        return max([self.at, *(span.stop for span in self.spans), *edited, *mended])


def apply(fold: Fold, messages: Sequence[Message]) -> list[Message]:
    """Return the folded list; untouched messages are the same objects.

    Raises `StaleFold` when the messages that the fold is about are not the ones in `messages`.
    """
    if fold.stop > len(messages) or span_digest(messages, fold.touched) != fold.span_digest:
        raise StaleFold
    return splice(fold, messages)


def splice(fold: Fold, messages: Sequence[Message]) -> list[Message]:
    """Do what `apply` does without asking whether the fold belongs to these messages."""
    edits = {edit.index: edit for edit in fold.edits}
    inserts = {insert.after: insert.message for insert in fold.inserts}
    folded = {index for span in fold.spans for index in span}
    result: list[Message] = []
    for index, message in enumerate(messages):
        if index == fold.at and fold.summary is not None:
            result.append(fold.summary)
        if index not in folded:
            result.append(edits[index].apply(message) if index in edits else message)
        if index in inserts:
            result.append(inserts[index])
    return result


def span_digest(messages: Sequence[Message], touched: Iterable[int]) -> bytes:
    """Digest the messages that a fold removes or shortens."""
    return join_digests(sha256(spell(messages[index])).digest() for index in sorted(touched))


@dataclass(frozen=True, slots=True)
class PruneCounts:
    """How much was said more briefly, by kind."""

    results: int = 0
    duplicates: int = 0
    arguments: int = 0
    media: int = 0


@dataclass(frozen=True, slots=True)
class Retention:
    """How many of the facts that must survive a fold did, and what its summary says without a source."""

    facts: int
    kept: int
    missing: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()


class Fate(StrEnum):
    """What became of a message."""

    KEPT = "kept"
    SHORTENED = "shortened"
    FOLDED = "folded"


@dataclass(frozen=True, slots=True)
class Match:
    """Where a text stands in a message that is no longer in the context word for word."""

    index: int
    snippet: str


_SNIPPET_CHARS = 80

M = TypeVar("M")
N = TypeVar("N")


@dataclass(frozen=True, slots=True)
class Compression(Generic[M]):
    """What a compression did, or why it did nothing.

    `messages` are the new ones: values from the core, wire items from engines and the API. Everything that
    left the context is still in `before`.
    """

    messages: list[M]
    before: tuple[Message, ...]
    fold: Fold | None
    reason: str
    """why nothing changed, or what was done"""
    state: CompressionState
    tokens_before: int
    tokens_after: int
    budget_tokens: int
    pruned: PruneCounts = PruneCounts()
    summarizer: str | None = None
    summary_tokens: int = 0
    retention: Retention | None = None
    warning: str | None = None
    system_note: str | None = None
    """for callers that keep the system prompt beside the messages"""

    @property
    def changed(self) -> bool:
        return self.fold is not None

    @property
    def over_budget(self) -> bool:
        """Whether the result is larger than what was asked for."""
        return self.tokens_after > self.budget_tokens

    @property
    def saved_tokens(self) -> int:
        return self.tokens_before - self.tokens_after

    @property
    def folded(self) -> tuple[Span, ...]:
        """The ranges of the old list that the summary stands for."""
        return self.fold.spans if self.fold else ()

    @property
    def summary(self) -> str | None:
        """The words of the summary, as the next model reads them."""
        return self.fold.summary.text if self.fold and self.fold.summary else None

    @property
    def headline(self) -> str:
        """One line for people."""
        return headline(len(self.before), len(self.messages), changed=self.changed)

    @property
    def fates(self) -> list[Fate]:
        """What became of each message of the old list, by its index."""
        folded = {index for span in self.folded for index in span}
        edited = {edit.index for edit in self.fold.edits} if self.fold else set()
        return [
            Fate.FOLDED if index in folded else Fate.SHORTENED if index in edited else Fate.KEPT
            for index in range(len(self.before))
        ]

    @property
    def originals(self) -> list[object]:
        """The wire items as they were before."""
        return [message.raw for message in self.before]

    def restore(self) -> list[object]:
        """Take the compression back: the list as it was, every item the same object."""
        return self.originals

    def spelled(self, items: list[N]) -> "Compression[N]":
        """Return the same facts with the messages in another spelling."""
        return Compression(
            messages=items,
            before=self.before,
            fold=self.fold,
            reason=self.reason,
            state=self.state,
            tokens_before=self.tokens_before,
            tokens_after=self.tokens_after,
            budget_tokens=self.budget_tokens,
            pruned=self.pruned,
            summarizer=self.summarizer,
            summary_tokens=self.summary_tokens,
            retention=self.retention,
            warning=self.warning,
            system_note=self.system_note,
        )

    def find(self, text: str) -> list[Match]:
        """Find words in what is no longer in the context as it was, ignoring case."""
        wanted = text.casefold()
        return [
            match
            for index in (sorted(self.fold.touched) if self.fold else ())
            if (match := _match(self.before[index], index, wanted)) is not None
        ]


def _match(message: Message, index: int, wanted: str) -> Match | None:
    for text in texts_of(message):
        place = text.casefold().find(wanted)
        if place >= 0:
            start = max(0, place - _SNIPPET_CHARS // 2)
            return Match(index, text[start : place + len(wanted) + _SNIPPET_CHARS // 2])
    return None


def texts_of(message: Message) -> Iterator[str]:
    """Yield what a message says; arguments as they are spelled, and the strings that they spell."""
    for part in message.parts:
        if isinstance(part, ToolCall):
            yield part.arguments
            if "\\" in part.arguments:
                yield "\n".join(_strings(part.parse_arguments()))
        elif isinstance(part, Text | Reasoning | ToolResult | Opaque):
            yield part.text


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
