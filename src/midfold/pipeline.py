"""A compression from wire to wire: one way to read, fold, render and check a request, for all callers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from midfold.errors import DialectError
from midfold.folding import (
    Compression,
    CompressionPolicy,
    CompressionState,
    Flow,
    Fold,
    Insert,
    compress,
    note_outcome,
)
from midfold.late_dataclasses import replace
from midfold.messages import Message
from midfold.ports import Count
from midfold.summaries.tool_calls import BUILT_IN, StubWriter
from midfold.tokens import TokenCounter
from midfold.wire import Request, parse, render
from midfold.wire.validate import continues_stored_history, find_errors

if TYPE_CHECKING:
    from midfold.summaries import NoteChange


def compress_request(
    request: Request,
    *,
    policy: CompressionPolicy,
    count: TokenCounter,
    state: CompressionState | None = None,
    focus: str | None = None,
    use_model: bool = False,
    is_manual: bool = False,
    stub_writers: Mapping[str, StubWriter] = BUILT_IN,
) -> Flow[object]:
    """Read and measure a request, and compress it; system prompt and tools count, too."""
    state = state or CompressionState()
    flow = compress(
        parse(request.messages, request.dialect),
        policy=policy,
        count=count,
        state=state,
        overhead_tokens=count.count_text(request.system_text) + count.count_tools(request.tools or ()),
        focus=focus,
        use_model=use_model,
        is_manual=is_manual,
        stub_writers=stub_writers,
    )
    return (yield from render_flow(flow, request, state))


def correct_request(
    request: Request,
    change: "NoteChange",
    *,
    count: Count,
    key: bytes = b"",
    state: CompressionState | None = None,
) -> Compression[object]:
    """Correct the notes that a fold left in a request; raises `NoteNotFound` and `ConfigError`."""
    from midfold.folding import correct_notes

    state = state or CompressionState()
    messages = parse(request.messages, request.dialect)
    return render_compression(
        correct_notes(messages, change, count=count, key=key, state=state), request, state
    )


def render_flow(flow: Flow[Message], request: Request, state: CompressionState) -> Flow[object]:
    """Go on from a flow over the messages of `request`, which began with `state`, to its wire items."""
    return render_compression((yield from flow), request, state)


def render_compression(
    compression: Compression[Message], request: Request, before: CompressionState
) -> Compression[object]:
    """Render the result as its provider expects; one that the provider would refuse is thrown away.

    `before` is the state the pass started from: a result thrown away is a vain pass, not a compression.
    """
    try:
        items = render(compression.messages, request.dialect)
    except DialectError as error:
        return _throw_away(compression, request, before, f"it cannot be written: {error}")
    faults = _count_errors(items, request) if compression.changed else 0
    # The original is long and seldom at fault, so it is looked at only when the result is.
    if faults and faults > _count_errors(request.messages, request):
        return _throw_away(compression, request, before, "the result would not be legal for its provider")
    return replace(compression.with_messages(items), fold=_read_back(compression.fold, request.dialect))


def _throw_away(
    compression: Compression[Message], request: Request, before: CompressionState, reason: str
) -> Compression[object]:
    """Leave everything as it was; a vain pass is remembered as one."""
    tokens = compression.tokens_before
    unchanged = Compression.unchanged(
        list(request.messages),
        compression.before,
        reason,
        state=note_outcome(before, effective=False, is_fold=False, tokens=tokens),
        tokens=tokens,
        budget_tokens=compression.budget_tokens,
    )
    return replace(unchanged, warning=compression.warning)


def _count_errors(items: Sequence[object], request: Request) -> int:
    return len(
        find_errors(
            items,
            dialect=request.dialect,
            system=request.system,
            tools=request.tools,
            continues=continues_stored_history(request.raw),
        )
    )


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
