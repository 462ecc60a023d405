"""A fold worked out from two lists: what an engine was given, and what it returned.

Engines of the plain contract return a list and say nothing about it. What is the same object stayed, what is
equal stayed, and runs of other messages stand for the runs of old ones that they are found in place of.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from midfold.folding import Edit, Fold, Replacement, Span, count_leading_system, splice
from midfold.messages import Media, Message, Part, ToolCall, ToolResult, canonical_bytes

_SHORTENED = (ToolCall, ToolResult, Media)
"""What engines cut short where it stands; other words that changed were written by the engine."""


class NotAFold(Exception):
    """What was returned cannot be told as a fold; the words say why."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Old messages and the new ones in their place; either may be none."""

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
    for run in _runs(before, after, lead):
        shortened = _shorten(before, run)
        edits += shortened
        replacements += () if shortened else _replace(run)
    if not (replacements or edits or note):
        return None
    fold = Fold(tuple(replacements), tuple(edits), note=note).identified(before)
    made = splice(fold, before)
    if list(map(canonical_bytes, made[lead:])) != list(map(canonical_bytes, after[lead:])):
        raise NotAFold("its messages cannot be told apart from those before")
    return fold


def _find_note(before: Sequence[Message], after: Sequence[Message]) -> str | None:
    """Return what was added to the system prompt."""
    if len(before) != len(after) or any(map(_differ, before[1:], after[1:])):
        raise NotAFold("it changed the system prompt")
    if not before or not _differ(before[0], after[0]):
        return None
    old, new = before[0].text, after[0].text
    if after[0].role != before[0].role or not new.startswith(old) or not new[len(old) :].strip():
        raise NotAFold("it changed the system prompt")
    return new[len(old) :].strip()


def _runs(before: Sequence[Message], after: Sequence[Message], lead: int) -> Iterator[_Run]:
    """Yield what is between the messages that stayed."""
    old, new = lead, lead
    for index, place in enumerate(_align(before, after, lead), lead):
        if place is None:
            continue
        if (old, new) != (place, index):
            yield _Run(Span(old, place), after[new:index])
        old, new = place + 1, index + 1
    if (old, new) != (len(before), len(after)):
        yield _Run(Span(old, len(before)), after[new:])


def _shorten(before: Sequence[Message], run: _Run) -> list[Edit]:
    """Read a run as messages that were shortened where they stand; nothing where it is no such run."""
    if len(run.old) != len(run.new):
        return []
    edits = []
    for index, new in zip(run.old, run.new, strict=True):
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


def _replace(run: _Run) -> Iterator[Replacement]:
    """Put the first new message in place of the old ones, and the others behind it."""
    made = [Message(message.role, message.parts) for message in run.new]
    if len(run.old):
        yield Replacement(run.old, made.pop(0) if made else None)
    behind = Span(run.old.stop, run.old.stop)
    for message in made:
        yield Replacement(behind, message)


def _align(before: Sequence[Message], after: Sequence[Message], lead: int) -> list[int | None]:
    """Say of each new message behind the system prompt which old one it is: by identity, then equality."""
    places = {id(message.raw): index for index, message in reversed(list(enumerate(before))) if index >= lead}
    known = [places.get(id(message.raw)) for message in after[lead:]]
    anchors = _rising([(index, place) for index, place in enumerate(known, lead) if place is not None])
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
    digests = {canonical_bytes(before[index]): index for index in range(old_start, old_stop)}
    said = Counter(canonical_bytes(before[index]) for index in range(old_start, old_stop))
    pairs = []
    for index in range(new_start, new_stop):
        spelled = canonical_bytes(after[index])
        if said[spelled] == 1 and not _differ(after[index], before[digests[spelled]]):
            pairs.append((index, digests[spelled]))
    return found | dict(_rising(pairs))


def _differ(one: Message, other: Message) -> bool:
    return one.raw is not other.raw and (one.role != other.role or one.raw != other.raw)


def _rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return as many of the pairs as rise in both numbers; the first ones rise already."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int | None] = []
    for at, (_, place) in enumerate(pairs):
        slot = bisect_left(tails, place)
        previous.append(ends[slot - 1] if slot else None)
        tails[slot : slot + 1] = [place]
        ends[slot : slot + 1] = [at]
    chosen: list[tuple[int, int]] = []
    at_end = ends[-1] if ends else None
    while at_end is not None:
        chosen.append(pairs[at_end])
        at_end = previous[at_end]
    return chosen[::-1]
