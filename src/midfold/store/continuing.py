"""What is written when a fold ends a session, worked out before the transaction that writes it."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from midfold.errors import StoreError
from midfold.folding import Compression, Fold, Source, splice
from midfold.messages import Message, chain_digests, own_digest
from midfold.store.base import BeforeContinue, Item
from midfold.store.codec import pack_exact, pack_value
from midfold.store.diverging import DivergedList, align, find_late
from midfold.store.fold_json import fold_to_json
from midfold.store.rows import COPY, SAID, STUB, SUMMARY, MessageRow, agree, make_rows, read_items
from midfold.wire import render


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A message of the new list: the old one at `index`, or a `row` of its own."""

    index: int | None = None
    row: MessageRow | None = None


@dataclass(frozen=True, slots=True)
class Continuation:
    """Everything that a continuation needs in the store."""

    child_id: str
    before: tuple[bytes, ...]
    """the digest of each message of the old list"""
    unsaved_from: int
    unsaved: tuple[MessageRow, ...]
    """messages of the old list that the store had not seen: they are saved first"""
    made: tuple[ViewEntry, ...]
    since: tuple[MessageRow, ...]
    """what was said after the fold was made"""
    basis: DivergedList | None
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
    """How messages of a session are spelled and what hides their credentials."""

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
    """Let others save what must outlive a fold; what goes wrong there is returned and stops nothing."""
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
    writing: RowFormat,
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
    basis = None if agree(digests, stored) else _find_basis(before, digests, stored, writing)
    return Continuation(
        child_id=child_id,
        before=digests,
        unsaved_from=known,
        unsaved=() if basis else tuple(writing.rows(before[known:], SAID)),
        made=tuple(_name(fold, before, writing)),
        since=tuple(writing.rows(read_items(messages[len(made) :], writing.dialect), SAID)),
        basis=basis,
        fold=pack_exact(fold_to_json(fold), writing.key),
        facts=pack_value({**describe(compression), **facts}, writing.key),
        prefix_digest=fold.prefix_digest,
        span_digest=fold.span_digest,
        base_digest=(chain_digests(splice(fold, before)) or [b""])[-1],
        system=None if system is None else pack_value(system, writing.key),
        states=states or {},
    )


def _find_basis(
    before: Sequence[Message], digests: Sequence[bytes], stored: Sequence[Sequence[bytes]], writing: RowFormat
) -> DivergedList:
    places = align(digests, stored)
    if all(place is None for place in places):
        raise StoreError("the compression is of another conversation than this session's")
    return DivergedList(
        session_id=secrets.token_hex(16),
        stored=len(stored),
        messages=tuple(
            tuple(writing.rows([message], SAID)) if place is None else place
            for message, place in zip(before, places, strict=True)
        ),
        late_from=find_late(places, len(stored)),
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


_ORIGINS = {Source.SUMMARY: SUMMARY, Source.STUB: STUB, Source.SHORTENED: COPY, Source.NOTED: COPY}


def _name(fold: Fold, before: Sequence[Message], writing: RowFormat) -> list[ViewEntry]:
    """Go through the new list: what stays is named by its place, what is new becomes a row."""
    made: list[ViewEntry] = []
    for step in fold.walk(before):
        if step.message is not None and step.source is Source.OLD:
            made.append(ViewEntry(step.index))
        elif step.message is not None:
            made += _own(writing.rows([step.message], _ORIGINS[step.source]))
    return made


def _own(rows: Sequence[MessageRow]) -> list[ViewEntry]:
    return [ViewEntry(row=row) for row in rows]
