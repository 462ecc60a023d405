"""A continuation as it will be written when a fold ends a session, worked out before the transaction.

Hosts edit their lists: a tool result is offloaded, a notice is added, a turn is taken back. What was folded
must be in the store all the same. So a list that differs from the stored one is written down as the caller
had it: named where the store has it, written where it has not, as a session of its own between the one that
was stored and the continuation.
"""

import secrets
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from midfold.errors import StoreError
from midfold.folding import Compression, Fold, MessageSource, splice
from midfold.late_dataclasses import dataclass
from midfold.messages import Message, chain_digests, own_digest
from midfold.store.codec import pack_exact, pack_value
from midfold.store.fold_json import fold_to_json
from midfold.store.rows import COPY, SAID, STUB, SUMMARY, MessageRow, agree, make_rows, read_items
from midfold.store.values import BeforeContinue, Item
from midfold.wire import render


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A message of the new list: the old one at `index`, or a `row` of its own."""

    index: int | None = None
    row: MessageRow | None = None


@dataclass(frozen=True, slots=True)
class DivergedList:
    """A list that differs from the stored one, message by message: an index in the stored one, or rows."""

    session_id: str
    stored: int
    """how many messages the store knew when this was worked out"""
    messages: tuple[int | tuple[MessageRow, ...], ...]
    late_from: int
    """from here on, stored messages came in after the list was taken and follow it"""

    @property
    def changed(self) -> tuple[int | tuple[MessageRow, ...], ...]:
        """The list up to the last message that the store has; others in it say in other words what it has."""
        stop = len(self.messages)
        while stop and not isinstance(self.messages[stop - 1], int):
            stop -= 1
        return self.messages[:stop]

    @property
    def unsaved(self) -> tuple[tuple[MessageRow, ...], ...]:
        """The messages after `changed`: the history goes on with them."""
        return tuple(each for each in self.messages[len(self.changed) :] if not isinstance(each, int))


@dataclass(frozen=True, slots=True)
class Continuation:
    """Everything that a continuation needs in the store."""

    child_id: str
    before: tuple[bytes, ...]
    """the digest of each message of the old list"""
    unsaved_from: int
    unsaved: tuple[MessageRow, ...]
    """messages of the old list that the store had not seen: they are saved first"""
    view: tuple[ViewEntry, ...]
    since: tuple[MessageRow, ...]
    """what was said after the fold was made"""
    diverged: DivergedList | None
    """the old list, where the store knows another one"""
    fold: str
    facts: str
    prefix_digest: bytes
    span_digest: bytes
    base_digest: bytes
    system: str | None
    """`None` keeps that of the old session"""
    states: Mapping[str, str | None]
    """what engines remember after the fold, to be saved with it"""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """The dialect of a session's messages, and the key that hides their credentials."""

    dialect: str
    key: bytes | None

    def rows(self, messages: Sequence[Message], origin: str) -> list[MessageRow]:
        """Prepare messages that are one wire item each."""
        return [row for message in messages for row in self._rows_of(message, origin)]

    def _rows_of(self, message: Message, origin: str) -> list[MessageRow]:
        items = render([message], self.dialect)
        # A message made here may take several items, or none; each is a row that says the same.
        return make_rows([message] * len(items), items, self.dialect, self.key, origin=origin)


def run_hooks(hooks: Sequence[BeforeContinue], session_id: str, messages: Sequence[Item]) -> list[str]:
    """Let others save what must outlive a fold; an error there is returned and stops nothing."""
    failed = []
    for hook in hooks:
        try:
            hook(session_id, messages)
        except Exception as error:  # noqa: BLE001 - anybody's code
            failed.append(f"{getattr(hook, '__name__', 'hook')}: {type(error).__name__}: {error}")
    return failed


def plan_continuation(
    messages: Sequence[object],
    compression: Compression[object],
    stored: Sequence[Sequence[bytes]],
    row_format: RowFormat,
    *,
    child_id: str,
    facts: Mapping[str, object],
    system: object = None,
    states: Mapping[str, str | None] | None = None,
) -> Continuation:
    """Say what to write; `stored` are the digests of what the session says as far as the store knows.

    `messages` are those of the compression, and what was said since.
    """
    fold, before = compression.fold, compression.before
    if fold is None:
        raise StoreError("a compression that changed nothing opens no continuation")
    made = compression.messages
    if len(messages) < len(made) or any(
        new is not old and new != old for new, old in zip(messages, made, strict=False)
    ):
        raise StoreError("the messages must begin with those of the compression")
    digests = tuple(map(own_digest, before))
    known = min(len(stored), len(before))
    diverged = None if agree(digests, stored) else _diverge(before, digests, stored, row_format)
    return Continuation(
        child_id=child_id,
        before=digests,
        unsaved_from=known,
        unsaved=() if diverged else tuple(row_format.rows(before[known:], SAID)),
        view=tuple(_list_view(fold, before, row_format)),
        since=tuple(row_format.rows(read_items(messages[len(made) :], row_format.dialect), SAID)),
        diverged=diverged,
        fold=pack_exact(fold_to_json(fold), row_format.key),
        facts=pack_value({**describe(compression), **facts}, row_format.key),
        prefix_digest=fold.prefix_digest,
        span_digest=fold.span_digest,
        base_digest=(chain_digests(splice(fold, before)) or [b""])[-1],
        system=None if system is None else pack_value(system, row_format.key),
        states=states or {},
    )


def _diverge(
    before: Sequence[Message],
    digests: Sequence[bytes],
    stored: Sequence[Sequence[bytes]],
    row_format: RowFormat,
) -> DivergedList:
    indices = align(digests, stored)
    if all(index is None for index in indices):
        raise StoreError("the compression is of another conversation than this session's")
    return DivergedList(
        session_id=secrets.token_hex(16),
        stored=len(stored),
        messages=tuple(
            tuple(row_format.rows([message], SAID)) if index is None else index
            for message, index in zip(before, indices, strict=True)
        ),
        late_from=find_late(indices, len(stored)),
    )


def describe(compression: Compression[object]) -> dict[str, object]:
    """Return what people want to know of a fold later."""
    return {
        "reason": compression.reason,
        "messages_before": len(compression.before),
        "messages_after": len(compression.messages),
        "tokens_before": compression.tokens_before,
        "tokens_after": compression.tokens_after,
        "summarizer": compression.summarizer,
        "summary_tokens": compression.summary_tokens,
        "warning": compression.warning,
    }


_ORIGINS = {
    MessageSource.SUMMARY: SUMMARY,
    MessageSource.STUB: STUB,
    MessageSource.SHORTENED: COPY,
    MessageSource.NOTED: COPY,
}


def _list_view(fold: Fold, before: Sequence[Message], row_format: RowFormat) -> list[ViewEntry]:
    """Go through the new list: an old message is named by its index, a new one becomes a row."""
    entries: list[ViewEntry] = []
    for step in fold.walk(before):
        if step.message is not None and step.source is MessageSource.OLD:
            entries.append(ViewEntry(step.index))
        elif step.message is not None:
            rows = row_format.rows([step.message], _ORIGINS[step.source])
            entries += [ViewEntry(row=row) for row in rows]
    return entries


def align(digests: Sequence[bytes], stored: Sequence[Sequence[bytes]]) -> list[int | None]:
    """Return, for each message, the stored one that says the same; the order is kept on both sides."""
    names = {digest: either[0] for either in stored for digest in either}
    ours = [names.get(digest, digest) for digest in digests]
    matcher = SequenceMatcher(None, ours, [either[0] for either in stored], autojunk=False)
    indices: list[int | None] = [None] * len(digests)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            indices[block.a + offset] = block.b + offset
    return indices


def find_late(indices: Sequence[int | None], stored: int) -> int:
    """Return where stored messages begin that are newer than a list.

    A list that ends otherwise than the stored one has taken another way, and nothing follows it.
    """
    last = indices[-1] if indices else None
    return stored if last is None else last + 1
