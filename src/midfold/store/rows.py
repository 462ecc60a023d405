"""Messages on their way into the store: everything that can be worked out before the transaction begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.messages import Message, own_digest
from midfold.store.codec import clean_text, hide_text, pack_item, read_body, texts_in
from midfold.store.search.words import index_words
from midfold.wire import parse, render

SAID, SUMMARY, COPY, STUB = "said", "summary", "copy", "stub"
"""Who made a message: somebody in the conversation, or a fold."""
MADE = (SUMMARY, COPY, STUB)


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message that can be written as it is."""

    origin: str
    role: str
    tools: str
    dialect: str
    body: str
    tokens: int | None
    finish_reason: str | None
    is_redacted: bool
    is_exact: bool
    """what is stored says what was said"""
    digest: bytes
    """of what was said, before credentials were hidden"""


def make_rows(
    messages: Sequence[Message],
    items: Sequence[object],
    dialect: str,
    key: bytes | None,
    *,
    origin: str = SAID,
    tokens: Sequence[int] | None = None,
    finish_reason: str | None = None,
) -> list[MessageRow]:
    """Prepare messages, each with its wire item; `finish_reason` is that of the last one."""
    rows = []
    last = len(messages) - 1
    for index, (message, item) in enumerate(zip(messages, items, strict=True)):
        packed = pack_item(item, key)
        # An item that is stored letter by letter says what its message says.
        stored = message if packed.is_exact and message.raw is item else read_body(dialect, packed.body)
        rows.append(
            MessageRow(
                origin=origin,
                role=hide_text(stored.role, key),
                tools=" ".join(_tools_of(stored)),
                dialect=dialect,
                body=packed.body,
                tokens=tokens[index] if tokens else None,
                finish_reason=hide_text(finish_reason, key) if finish_reason and index == last else None,
                is_redacted=packed.is_redacted,
                is_exact=stored is message or own_digest(stored) == own_digest(message),
                digest=own_digest(message),
            )
        )
    return rows


def agree(digests: Sequence[bytes], stored: Sequence[Sequence[bytes]]) -> bool:
    """Whether two lists say the same as far as both go.

    A stored message has the digest of what was said, and another one where it is stored with placeholders:
    whoever resumes a session sends those.
    """
    return all(digest in either for digest, either in zip(digests, stored, strict=False))


def words_of(message: Message) -> str:
    """Return what a message is found by."""
    return index_words(texts_in(message))


def read_items(items: Sequence[object], dialect: str) -> list[Message]:
    """Read wire items as messages; messages come back as they are."""
    if all(isinstance(item, Message) for item in items):
        return [item for item in items if isinstance(item, Message)]
    return parse(items, dialect)


def spell_items(items: Sequence[object], dialect: str) -> list[object]:
    """Return wire items; messages are spelled in the session's dialect."""
    spelled: list[object] = []
    for item in items:
        spelled += render([item], dialect) if isinstance(item, Message) else [item]
    return spelled


def _tools_of(message: Message) -> list[str]:
    names = {call.name for call in message.calls} | {result.name for result in message.results}
    return sorted(clean_text("_".join(name.split())) for name in names if name.strip())
