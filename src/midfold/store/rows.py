"""Messages on their way into a store: everything that can be worked out before the transaction begins.

The dialect is found out, credentials are hidden, and each message becomes a row that can be written as it is.
"""

from collections.abc import Iterator, Sequence

from midfold.errors import StoreError, UnknownDialect
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, own_digest
from midfold.store.codec import clean_text, hide_text, pack_item, read_body
from midfold.store.values import ImportedMessage
from midfold.wire import DEFAULT_DIALECT, Evidence, Recognition, parse, recognise, render

SAID, SUMMARY, COPY, STUB = "said", "summary", "copy", "stub"
"""The origin of a message: somebody in the conversation, or a fold."""
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


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """Rows that can be written, and the dialect that they prove, where they do."""

    rows: tuple[MessageRow, ...]
    dialect: str | None


def prepare(
    messages: object,
    dialect: str | None,
    key: bytes | None,
    *,
    tokens: Sequence[int] | None = None,
    finish_reason: str | None = None,
) -> PreparedRows:
    """Prepare one message or many, wire items or `Message` values, for a session of this dialect."""
    given = _as_list(messages)
    if not given:
        return PreparedRows((), None)
    proven = _recognise(given, dialect)
    target = dialect or (proven.dialect if proven else DEFAULT_DIALECT)
    items = render_items(given, target)
    if len(items) == len(given):
        read = read_items(given, target)
    else:
        read = read_items(items, target)
        tokens = None
    if tokens is not None and len(tokens) != len(given):
        raise StoreError(f"{len(given)} messages came with {len(tokens)} counts")
    rows = make_rows(read, items, target, key, tokens=tokens, finish_reason=finish_reason)
    is_new = dialect is None and proven is not None and proven.evidence is not Evidence.NONE
    return PreparedRows(tuple(rows), target if is_new else None)


@dataclass(frozen=True, slots=True)
class DatedRows:
    """Rows that were said at one time; `None` is now."""

    prepared: PreparedRows
    at: float | None


def prepare_runs(said: Sequence[ImportedMessage], dialect: str, key: bytes | None) -> list[DatedRows]:
    """Prepare what a file says for a session of this dialect."""
    return [_prepare(run, dialect, key) for run in _runs(said)]


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
    a client that resumes a session sends those.
    """
    return all(digest in either for digest, either in zip(digests, stored, strict=False))


def read_items(items: Sequence[object], dialect: str) -> list[Message]:
    """Read wire items as messages; messages come back as they are."""
    if all(isinstance(item, Message) for item in items):
        return [item for item in items if isinstance(item, Message)]
    return parse(items, dialect)


def render_items(items: Sequence[object], dialect: str) -> list[object]:
    """Return wire items; messages are rendered in the session's dialect."""
    rendered: list[object] = []
    for item in items:
        rendered += render([item], dialect) if isinstance(item, Message) else [item]
    return rendered


def _prepare(run: Sequence[ImportedMessage], dialect: str, key: bytes | None) -> DatedRows:
    counts = [said.tokens for said in run if said.tokens is not None]
    prepared = prepare(
        [said.item for said in run],
        dialect,
        key,
        tokens=counts if len(counts) == len(run) else None,
        finish_reason=run[-1].finish_reason,
    )
    rows = tuple(
        replace(row, is_redacted=True) if said.is_redacted and not row.is_redacted else row
        for row, said in zip(prepared.rows, run, strict=True)
    )
    return DatedRows(replace(prepared, rows=rows), run[0].at)


def _runs(said: Sequence[ImportedMessage]) -> Iterator[list[ImportedMessage]]:
    """Part messages into those that are prepared together: said at one time, the last with a reason to
    stop, all of them counted or none."""
    run: list[ImportedMessage] = []
    for each in said:
        if run and not _goes_on(run[-1], each):
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def _goes_on(before: ImportedMessage, after: ImportedMessage) -> bool:
    return (
        before.at == after.at
        and before.finish_reason is None
        and (before.tokens is None) == (after.tokens is None)
    )


def _as_list(messages: object) -> list[object]:
    if isinstance(messages, Sequence) and not isinstance(messages, str):
        return list(messages)
    return [messages]


def _recognise(given: Sequence[object], dialect: str | None) -> Recognition | None:
    """Find the dialect of wire items, or raise where the session has another.

    `Message` values can be rendered in any.
    """
    items = [item for item in given if not isinstance(item, Message)]
    try:
        found = recognise(items) if items else None
    except UnknownDialect:
        if dialect is None:
            raise
        return None
    if dialect and found and found.evidence is Evidence.PROOF and found.dialect != dialect:
        raise StoreError(f"the session is in the dialect {dialect}, and these messages in {found.dialect}")
    return found


def _tools_of(message: Message) -> list[str]:
    names = {call.name for call in message.calls} | {result.name for result in message.results}
    return sorted(clean_text("_".join(name.split())) for name in names if name.strip())
