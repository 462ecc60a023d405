"""Between wire items and the pure fold: checking that what comes out is legal where it goes."""

from collections.abc import Sequence
from dataclasses import replace

from midfold.compression.pressure import note_outcome
from midfold.compression.results import Compression
from midfold.compression.state import CompressionState
from midfold.errors import DialectError
from midfold.messages import Message
from midfold.wire import Request, render
from midfold.wire.validate import continues_stored_history, is_waiting, validate


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
        return compression.spelled(items)
    return _thrown_away(compression, request, before, "the result would not be legal for its provider")


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
    faults = validate(
        items,
        dialect=request.dialect,
        system=request.system,
        tools=request.tools,
        continues=continues_stored_history(request.raw),
    )
    return sum(fault.severity == "error" and not is_waiting(fault) for fault in faults)
