"""A fold as data: what happens to a list of messages, and to any other list that begins with the same ones.

`Fold.walk` goes through a list once and says what becomes of each message; `apply` returns the folded list.
Everything that shows, stores, splices or undoes a compression works on this one value.

Indices are those of the list that the fold was made from. A client that sends its history again may have
reworded its system prompt and dropped thinking, so a walk first finds the same messages in the list at hand.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from midfold.errors import StaleFold
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import (
    EMPTY_CHAIN,
    SILENT,
    SYSTEM_ROLES,
    Message,
    MessageDigest,
    Part,
    Reasoning,
    Text,
    digest_messages,
    join_digests,
    own_digest,
)


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
class Replacement:
    """`message` stands where the messages of `span` stood; without one they are taken out.

    An empty span only puts the message in.
    """

    span: Span
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Parts of `messages[index]` that are said more briefly.

    A part is named by its ordinal among the parts that a digest covers, since a client may drop the others.
    """

    index: int
    parts: tuple[tuple[int, Part], ...]

    @classmethod
    def at(cls, index: int, message: Message, parts: Iterable[tuple[int, Part]]) -> "Edit":
        """Make an edit of the parts at these positions of `message`."""
        ordinals = {position: ordinal for ordinal, position in enumerate(message.covered)}
        return cls(index, tuple((ordinals[position], part) for position, part in parts))

    def positions(self, message: Message) -> list[tuple[int, Part]]:
        """Return the position of each edited part in `message`, and what it becomes."""
        covered = message.covered
        return [(covered[ordinal], part) for ordinal, part in self.parts]

    def apply(self, message: Message) -> Message:
        """Return the shortened message."""
        for position, part in self.positions(message):
            message = message.with_part(position, part)
        return message


@dataclass(frozen=True, slots=True)
class Insert:
    """A message that comes in behind `messages[after]`: the stub result of a call that never got one."""

    after: int
    message: Message


class Fate(StrEnum):
    """The fate of a message."""

    KEPT = "kept"
    SHORTENED = "shortened"
    FOLDED = "folded"


class MessageSource(StrEnum):
    """Where a message of a folded list comes from."""

    OLD = "old"
    SHORTENED = "shortened"
    NOTED = "noted"
    """the system prompt, with a note behind it"""
    SUMMARY = "summary"
    STUB = "stub"


@dataclass(frozen=True, slots=True)
class WalkStep:
    """One step of a walk: a message of the new list, or one of the old list that is gone.

    `index` is where the old message stands in the list that is walked; a new message has none.
    """

    message: Message | None
    index: int | None
    source: MessageSource


@dataclass(frozen=True, slots=True)
class Fold:
    """The changes of a compression to a list.

    `replacements` take messages out and put summaries in, in order, without overlaps; `edits` shorten
    messages that stay; `inserts` repair what a provider would refuse; `note` is added, once, to the
    system prompt.
    """

    replacements: tuple[Replacement, ...] = ()
    edits: tuple[Edit, ...] = ()
    inserts: tuple[Insert, ...] = ()
    note: str | None = None
    lead: int = 0
    """the number of system messages at the start of the list"""
    silent: tuple[int, ...] = ()
    """the messages before `stop` that say nothing a digest covers"""
    prefix_digest: bytes = b""
    """chained digest of everything before `stop`: the key to find the fold again by"""
    span_digest: bytes = b""
    """digest of the messages that the fold removes or shortens: what `apply` insists on"""

    @property
    def spans(self) -> tuple[Span, ...]:
        """The ranges that go."""
        return join_spans(each.span for each in self.replacements if len(each.span))

    @property
    def summaries(self) -> tuple[Message, ...]:
        """The messages that stand for what goes."""
        return tuple(each.message for each in self.replacements if each.message is not None)

    @property
    def summary(self) -> Message | None:
        """The first of the summaries; `None` where the fold only prunes."""
        return next(iter(self.summaries), None)

    @property
    def touched(self) -> frozenset[int]:
        """The indices that go or are shortened."""
        edited = {edit.index for edit in self.edits}
        return frozenset(edited.union(*(each.span for each in self.replacements)))

    @property
    def stop(self) -> int:
        """The first index that the fold leaves alone, and all after it."""
        edited = (edit.index + 1 for edit in self.edits)
        repaired = (insert.after + 1 for insert in self.inserts)
        return max([self.lead, *(each.span.stop for each in self.replacements), *edited, *repaired])

    def identified(
        self, messages: Sequence[Message], digests: Sequence[MessageDigest] | None = None
    ) -> "Fold":
        """Return the fold as one of these messages: with all that it is found and checked by.

        `digests` of the messages spare computing them.
        """
        fold = replace(self, lead=count_leading_system(messages))
        stop = fold.stop
        digests = list(digest_messages(messages[:stop])) if digests is None else digests
        silent = tuple(index for index in range(fold.lead, stop) if digests[index].own == SILENT)
        touched = sorted(fold.touched.difference(silent))
        return replace(
            fold,
            silent=silent,
            prefix_digest=digests[stop - 1].chained if stop else EMPTY_CHAIN,
            span_digest=join_digests(digests[index].own for index in touched),
        )

    def with_summary(self, message: Message, old: Message | None = None) -> "Fold":
        """Return the fold with `message` in place of the summary `old`, or else of the first one."""
        at = next(
            index
            for index, each in enumerate(self.replacements)
            if each.message is not None and (old is None or each.message is old)
        )
        changed = replace(self.replacements[at], message=message)
        return replace(self, replacements=(*self.replacements[:at], changed, *self.replacements[at + 1 :]))

    def walk(self, messages: Sequence[Message]) -> Iterator[WalkStep]:
        """Go through `messages` and what comes in between them, in the order of the new list.

        Whether the fold belongs to these messages is not asked; `apply` does that.
        """
        lead = count_leading_system(messages)
        yield from self._walk_system(messages[:lead])
        edits = {edit.index: edit for edit in self.edits}
        gone = self.touched.difference(edits)
        coming = deque(self._incoming())
        unknown: list[int] = []
        for index, known in enumerate(self._find(messages, lead), lead):
            if known is None:
                unknown.append(index)
                continue
            while coming and coming[0][0] <= known:
                yield coming.popleft()[1]
            for silent in unknown:
                yield _walk_silent(messages[silent], silent, is_folded=known in gone)
            unknown.clear()
            message = messages[index]
            if known in edits:
                yield WalkStep(edits[known].apply(message), index, MessageSource.SHORTENED)
            else:
                yield WalkStep(None if known in gone else message, index, MessageSource.OLD)
        for silent in unknown:
            yield _walk_silent(messages[silent], silent, is_folded=False)
        for _, step in coming:
            yield step

    def _walk_system(self, system: Sequence[Message]) -> Iterator[WalkStep]:
        for index, message in enumerate(system):
            if index == 0 and self.note and self.note not in message.text:
                yield WalkStep(add_note(message, self.note), index, MessageSource.NOTED)
            else:
                yield WalkStep(message, index, MessageSource.OLD)

    def _incoming(self) -> list[tuple[int, WalkStep]]:
        """List the messages that come in, each with the index that it stands before.

        A stub result belongs to the call before it, so that it comes before a summary at the same index.
        """
        stubs = [(each.after + 1, WalkStep(each.message, None, MessageSource.STUB)) for each in self.inserts]
        summaries = [
            (each.span.start, WalkStep(each.message, None, MessageSource.SUMMARY))
            for each in self.replacements
            if each.message is not None
        ]
        return sorted([*stubs, *summaries], key=lambda coming: coming[0])

    def _find(self, messages: Sequence[Message], lead: int) -> list[int | None]:
        """Return the index in this fold of each message behind the system prompt.

        `None` is one that says nothing and was not there when the fold was made.
        """
        stop, silent = self.stop, frozenset(self.silent)
        said = [index for index in range(self.lead, stop) if index not in silent]
        found: list[int | None] = []
        gap: list[int] = []
        start, following = self.lead, 0
        for index in range(lead, len(messages)):
            if following == len(said):
                break
            found.append(None)
            if messages[index].is_silent:
                gap.append(len(found) - 1)
                continue
            _pair(found, gap, range(start, said[following]))
            found[-1] = said[following]
            start, following, gap = said[following] + 1, following + 1, []
        behind = messages[lead + len(found) :]
        # Silent messages at the very end of the fold may have been dropped; no other takes their numbers.
        first = start if all(message.is_silent for message in behind[: stop - start]) else stop
        return [*found, *range(first, first + len(behind))]

    def belongs_to(self, messages: Sequence[Message], digests: Sequence[MessageDigest] | None = None) -> bool:
        """Whether these are the messages that the fold was made for, and perhaps more behind them."""
        lead = count_leading_system(messages)
        indices = {known: index for index, known in enumerate(self._find(messages, lead), lead)}
        silent = frozenset(self.silent)
        if any(index not in indices for index in range(self.lead, self.stop) if index not in silent):
            return False
        touched = [indices[index] for index in sorted(self.touched) if index not in silent]
        if digests is None:
            return join_digests(own_digest(messages[index]) for index in touched) == self.span_digest
        return join_digests(digests[index].own for index in touched) == self.span_digest


def apply(
    fold: Fold, messages: Sequence[Message], digests: Sequence[MessageDigest] | None = None
) -> list[Message]:
    """Return the folded list; untouched messages are the same objects.

    `digests` of the messages spare computing them. Raises `StaleFold` when the messages that the fold is
    about are not the ones in `messages`.
    """
    if not fold.belongs_to(messages, digests):
        raise StaleFold
    return splice(fold, messages)


def splice(fold: Fold, messages: Sequence[Message]) -> list[Message]:
    """Apply a fold without asking whether it belongs to these messages."""
    return [step.message for step in fold.walk(messages) if step.message is not None]


def replace_spans(spans: Sequence[Span], at: int, summary: Message | None) -> tuple[Replacement, ...]:
    """Take the spans out, and put the summary in at `at`: it replaces the span there, if there is one."""
    replacements = [Replacement(span) for span in join_spans(spans)]
    if summary is None:
        return tuple(replacements)
    for position, each in enumerate(replacements):
        if at in each.span:
            replacements[position] = replace(each, message=summary)
            return tuple(replacements)
    return tuple(sorted([*replacements, Replacement(Span(at, at), summary)], key=lambda each: each.span))


def add_note(system: Message, note: str) -> Message:
    """Append a note to a system prompt, as a part of its own."""
    return system.with_part(len(system.parts), Text(note))


def count_leading_system(messages: Sequence[Message]) -> int:
    """Count the messages at the start that are the system prompt, and silent ones between them.

    As in a chain of digests, a message that says nothing ends no system prompt.
    """
    lead = 0
    for index, message in enumerate(messages):
        if message.role in SYSTEM_ROLES:
            lead = index + 1
        elif not message.is_silent:
            break
    return lead


def _pair(found: list[int | None], gap: Sequence[int], known: Sequence[int]) -> None:
    """Name the silent messages between two that say something, if there are as many as there were."""
    if len(gap) == len(known):
        for position, index in zip(gap, known, strict=True):
            found[position] = index


def _walk_silent(message: Message, index: int, *, is_folded: bool) -> WalkStep:
    """Thinking goes with the message that it led to; an empty message is never missed."""
    thinks = any(isinstance(part, Reasoning) for part in message.parts)
    return WalkStep(message if thinks and not is_folded else None, index, MessageSource.OLD)
