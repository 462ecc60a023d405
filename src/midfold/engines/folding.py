"""Between wire items and the pure fold: checking that what comes out is legal where it goes."""

from collections.abc import Sequence
from dataclasses import replace

from midfold.errors import DialectError
from midfold.folding import Compression, CompressionState, Fold, Insert, note_outcome
from midfold.messages import Message
from midfold.wire import Request, parse, render
from midfold.wire.validate import continues_stored_history, find_errors


def conclude(
    compression: Compression[Message], request: Request, before: CompressionState
) -> Compression[object]:
    """Spell the result as its provider expects; one that the provider would refuse is thrown away.

    `before` is the state the pass started from: a result thrown away is a vain pass, not a compression.
    """
    try:
        items = render(compression.messages, request.dialect)
    except DialectError as error:
        return _thrown_away(compression, request, before, f"it cannot be written: {error}")
    faults = _faults(items, request) if compression.changed else 0
    # The original is long and seldom at fault, so it is looked at only when the result is.
    if not faults or faults <= _faults(request.messages, request):
        return replace(compression.spelled(items), fold=_read_back(compression.fold, request.dialect))
    return _thrown_away(compression, request, before, "the result would not be legal for its provider")


def _read_back(fold: Fold | None, dialect: str) -> Fold | None:
    """Return the fold with its own messages as they are read once they were sent.

    A history that holds them must have the same digests before it is written and after it is read again.
    """
    if fold is None:
        return None
    replacements = (
        replace(each, message=_read_message(each.message, dialect)[0]) if each.message else each
        for each in fold.replacements
    )
    inserts = (
        Insert(each.after, message)
        for each in fold.inserts
        for message in _read_message(each.message, dialect)
    )
    return replace(fold, replacements=tuple(replacements), inserts=tuple(inserts))


def _read_message(message: Message, dialect: str) -> list[Message]:
    return [Message(each.role, each.parts) for each in parse(render([message], dialect), dialect)]


def _thrown_away(
    compression: Compression[Message], request: Request, before: CompressionState, reason: str
) -> Compression[object]:
    """Leave everything as it was; a vain pass is remembered as one."""
    tokens = compression.tokens_before
    return replace(
        compression.spelled(list(request.messages)),
        fold=None,
        reason=reason,
        state=note_outcome(before, effective=False, is_fold=False, tokens=tokens),
        tokens_after=tokens,
        summarizer=None,
        summary_tokens=0,
    )


def _faults(items: Sequence[object], request: Request) -> int:
    """Count what the provider would refuse; a call that waits for its result is the host's business."""
    errors = find_errors(
        items,
        dialect=request.dialect,
        system=request.system,
        tools=request.tools,
        continues=continues_stored_history(request.raw),
    )
    return len(errors)
