"""A fold derived from two lists: the one that a plain engine was given, and the one that it returned.

Engines of the plain contract return a list and say nothing about it. Messages that are the same object or
equal stayed; runs of other messages replace the runs of old ones that stood there.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from midfold.engines.run import Run
from midfold.errors import DialectError, EngineContractError
from midfold.folding import (
    Compression,
    Edit,
    Fold,
    Replacement,
    Span,
    count_leading_system,
    note_outcome,
    splice,
)
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Media, Message, Part, ToolCall, ToolResult, canonical_bytes, is_request
from midfold.pipeline import render_compression
from midfold.ports import Count
from midfold.wire import Request, detect, parse, render

_SHORTENED = (ToolCall, ToolResult, Media)
"""Parts that engines shorten in place; other words that changed were written by the engine."""


class ResultRejected(Exception):
    """A host does not go on with what an engine returned; `str()` says why."""


class NotAFold(Exception):
    """The list that an engine returned is no fold of the one it was given; `str()` says why."""


@dataclass(frozen=True, slots=True)
class _Change:
    """Old messages and the new ones that replace them; either may be none."""

    old: Span
    new: Sequence[Message]


def derive_fold(before: Sequence[Message], after: Sequence[Message]) -> Fold | None:
    """Return the fold that makes `after` of `before`; `None` where nothing changed.

    Raises `NotAFold` where the system prompt was changed, to which a fold only adds a note.
    """
    lead = count_leading_system(before)
    note = _find_note(before[:lead], after[:lead])
    replacements: list[Replacement] = []
    edits: list[Edit] = []
    for change in _find_changes(before, after, lead):
        shortened = _shorten(before, change)
        edits += shortened
        replacements += () if shortened else _replace(change)
    if not (replacements or edits or note):
        return None
    fold = Fold(tuple(replacements), tuple(edits), note=note).identified(before)
    made = splice(fold, before)
    if list(map(canonical_bytes, made[lead:])) != list(map(canonical_bytes, after[lead:])):
        raise NotAFold("its messages cannot be told apart from those before")
    return fold


def _find_note(before: Sequence[Message], after: Sequence[Message]) -> str | None:
    """Return the text that was added to the system prompt."""
    if len(before) != len(after) or any(map(_differ, before[1:], after[1:])):
        raise NotAFold("it changed the system prompt")
    if not before or not _differ(before[0], after[0]):
        return None
    old, new = before[0].text, after[0].text
    if after[0].role != before[0].role or not new.startswith(old) or not new[len(old) :].strip():
        raise NotAFold("it changed the system prompt")
    return new[len(old) :].strip()


def _find_changes(before: Sequence[Message], after: Sequence[Message], lead: int) -> Iterator[_Change]:
    """Yield the runs between the messages that stayed."""
    old, new = lead, lead
    for index, match in enumerate(_align(before, after, lead), lead):
        if match is None:
            continue
        if (old, new) != (match, index):
            yield _Change(Span(old, match), after[new:index])
        old, new = match + 1, index + 1
    if (old, new) != (len(before), len(after)):
        yield _Change(Span(old, len(before)), after[new:])


def _shorten(before: Sequence[Message], change: _Change) -> list[Edit]:
    """Read a run as messages that were shortened where they stand; nothing where it is no such change."""
    if len(change.old) != len(change.new):
        return []
    edits = []
    for index, new in zip(change.old, change.new, strict=True):
        changed = _changed_parts(before[index], new)
        if changed is None:
            return []
        edits.append(Edit.at(index, before[index], changed))
    return edits


def _changed_parts(old: Message, new: Message) -> list[tuple[int, Part]] | None:
    """Return the parts that say less than they did; `None` where more than that changed."""
    if old.role != new.role or len(old.parts) != len(new.parts):
        return None
    changed = [
        (position, part)
        for position, (was, part) in enumerate(zip(old.parts, new.parts, strict=True))
        if was != part
    ]
    covered = frozenset(old.covered)
    is_shortened = all(
        isinstance(part, _SHORTENED)
        and type(part) is type(old.parts[position])
        and _call_of(part) == _call_of(old.parts[position])
        and position in covered
        for position, part in changed
    )
    return changed if changed and is_shortened else None


def _call_of(part: Part) -> str:
    match part:
        case ToolCall():
            return part.id
        case ToolResult():
            return part.call_id
        case _:
            return ""


def _replace(change: _Change) -> Iterator[Replacement]:
    """Replace the old messages by the first new one, and insert the others behind it."""
    made = [Message(message.role, message.parts) for message in change.new]
    if len(change.old):
        yield Replacement(change.old, made.pop(0) if made else None)
    behind = Span(change.old.stop, change.old.stop)
    for message in made:
        yield Replacement(behind, message)


def _align(before: Sequence[Message], after: Sequence[Message], lead: int) -> list[int | None]:
    """Say of each new message behind the system prompt which old one it is: by identity, then equality."""
    indices = {id(before[index].raw): index for index in range(len(before) - 1, lead - 1, -1)}
    known = [indices.get(id(message.raw)) for message in after[lead:]]
    anchors = _longest_rise([(index, match) for index, match in enumerate(known, lead) if match is not None])
    found: dict[int, int] = dict(anchors)
    start = (lead, lead)
    for stop in [*anchors, (len(after), len(before))]:
        found |= _match_equal(before, after, (start[0], stop[0]), (start[1], stop[1]))
        start = (stop[0] + 1, stop[1] + 1)
    return [found.get(index) for index in range(lead, len(after))]


def _match_equal(
    before: Sequence[Message], after: Sequence[Message], new: tuple[int, int], old: tuple[int, int]
) -> dict[int, int]:
    """Match what is equal between two anchors: the beginning, the end, and what is there once in between."""
    (new_start, new_stop), (old_start, old_stop) = new, old
    found: dict[int, int] = {}
    while new_start < new_stop and old_start < old_stop and not _differ(after[new_start], before[old_start]):
        found[new_start] = old_start
        new_start, old_start = new_start + 1, old_start + 1
    while (
        new_start < new_stop
        and old_start < old_stop
        and not _differ(after[new_stop - 1], before[old_stop - 1])
    ):
        new_stop, old_stop = new_stop - 1, old_stop - 1
        found[new_stop] = old_stop
    olds: dict[bytes, list[int]] = {}
    for index in range(old_start, old_stop):
        olds.setdefault(canonical_bytes(before[index]), []).append(index)
    pairs = []
    for index in range(new_start, new_stop):
        same = olds.get(canonical_bytes(after[index]), ())
        if len(same) == 1 and not _differ(after[index], before[same[0]]):
            pairs.append((index, same[0]))
    return found | dict(_longest_rise(pairs))


def _differ(one: Message, other: Message) -> bool:
    return one.raw is not other.raw and (one.role != other.role or one.raw != other.raw)


def _longest_rise(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return as many of the pairs as rise in both numbers; the first ones rise already."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int | None] = []
    for at, (_, old) in enumerate(pairs):
        slot = bisect_left(tails, old)
        previous.append(ends[slot - 1] if slot else None)
        tails[slot : slot + 1] = [old]
        ends[slot : slot + 1] = [at]
    chosen: list[tuple[int, int]] = []
    at_end = ends[-1] if ends else None
    while at_end is not None:
        chosen.append(pairs[at_end])
        at_end = previous[at_end]
    return chosen[::-1]


def read_result(returned: object, run: Run, *, engine: str, count: Count) -> Compression[object] | None:
    """Return the compression that a plain engine made; `None` where it left everything as it was.

    It is legal and smaller, or `ResultRejected` is raised; `EngineContractError` for what is no list of
    messages.
    """
    if not isinstance(returned, list):
        raise EngineContractError(engine, f"compress returns a list, not {type(returned).__name__}")
    try:
        run = _settle_dialect(run, returned)
        fold = derive_fold(run.messages, parse(returned, run.request.dialect))
    except DialectError as error:
        raise EngineContractError(engine, f"compress returns messages that can be read; {error}") from error
    except NotAFold as error:
        raise ResultRejected(str(error)) from error
    if fold is None:
        return None
    result = render_compression(_apply(fold, run, engine, count), run.request, run.state)
    if not result.changed:
        raise ResultRejected(result.reason)
    return result


def _settle_dialect(run: Run, returned: list[object]) -> Run:
    """Read the old messages in the dialect that the new ones prove: plain words fit several."""
    items = run.request.messages
    try:
        dialect = detect([*items, *returned]) if items or returned else run.request.dialect
    except DialectError:
        dialect = detect(returned)  # it raises, with the index in the list that was returned
    if dialect == run.request.dialect:
        return run
    return replace(run, request=Request(dialect, items), messages=parse(items, dialect))


def _apply(fold: Fold, run: Run, engine: str, count: Count) -> Compression[Message]:
    messages = splice(fold, run.messages)
    tokens_after = run.tokens_with(messages, count)
    if tokens_after >= run.tokens:
        raise ResultRejected(f"{tokens_after:,} tokens are no fewer than {run.tokens:,}")
    if any(len(render([message], run.request.dialect)) != 1 for message in fold.summaries):
        raise ResultRejected("one of its messages says nothing")
    newest = _newest_request(run.messages)
    if newest and _newest_request(messages) != newest:
        raise ResultRejected("the newest request is no longer the newest, word for word")
    return Compression(
        messages=messages,
        before=tuple(run.messages),
        fold=fold,
        reason=f"compressed by the engine {engine!r}",
        state=note_outcome(run.state, effective=True, is_fold=bool(fold.summaries), tokens=tokens_after),
        tokens_before=run.tokens,
        tokens_after=tokens_after,
        budget_tokens=run.policy.target_tokens,
        summarizer=engine if fold.summaries else None,
        summary_tokens=sum(map(count, fold.summaries)),
    )


def _newest_request(messages: Sequence[Message]) -> str:
    return next((message.text for message in reversed(messages) if is_request(message)), "")
