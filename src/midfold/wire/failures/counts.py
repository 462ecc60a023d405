"""Says what the numbers of an error text count: a limit, what was sent, or the output that was asked for.

Wordings are without end, but a number is known by its nearest words: those between it and the number before,
and the unit behind it. Where two numbers are held against each other, the larger is a size and the smaller
its limit, whatever they are called.
"""

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import islice, pairwise

from midfold.late_dataclasses import dataclass
from midfold.wire.failures import patterns

# A text about lengths holds some three numbers; where there are more, they are a list or an echo.
_MAX_NUMBERS = 48
_CHARS_BEFORE, _CHARS_AFTER = 80, 60
# Smaller numbers are positions and lengths of lists, unless a unit or the name of a window says otherwise.
_SMALLEST_COUNT = 16


class _Role(Enum):
    LIMIT = auto()
    SENT = auto()
    ASKED = auto()
    TOTAL = auto()
    SIZE = auto()
    CHARACTERS = auto()
    REMAINING = auto()


@dataclass(frozen=True, slots=True)
class _Number:
    """A number, and the words around it up to the next ones."""

    value: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class _Count:
    value: int
    role: _Role
    is_window: bool = False
    is_of_output: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a text, in tokens; `None` where it does not say."""

    limit: int | None = None
    sent: int | None = None
    asked: int | None = None
    """the output that was asked for"""
    total: int | None = None
    """what prompt and output come to"""
    size: int | None = None
    """one of these three: the text does not say which"""
    characters: int | None = None
    """what was sent, in characters"""
    is_window: bool = False
    """the limit is called a window, or one of the prompt"""
    is_of_output: bool = False
    """the limit is called one of the output"""


def read_counts(facts: str) -> Counts:
    """Read the counts of a text that has one sentence a line."""
    if total := patterns.SUM.search(facts):
        return Counts(limit=int(total[3]), sent=int(total[1]), asked=int(total[2]), is_window=True)
    found = list(islice(_read_all(patterns.LOWER_END.sub(" up to ", facts)), _MAX_NUMBERS))
    limit = next((count for count in found if count.role is _Role.LIMIT), None)
    parts = _read_parts(facts)
    return Counts(
        limit=limit.value if limit else None,
        sent=parts.sent if parts.sent is not None else _read_sent(found, limit),
        asked=parts.asked if parts.asked is not None else _first(found, _Role.ASKED),
        total=_first(found, _Role.TOTAL),
        size=_first(found, _Role.SIZE),
        characters=_first(found, _Role.CHARACTERS),
        is_window=limit is not None and limit.is_window,
        is_of_output=limit is not None and limit.is_of_output,
    )


def _read_parts(facts: str) -> Counts:
    """Add up a list such as `(658 of text input, 732 of tool input, 262000 in the output)`."""
    for listed in patterns.PARTS.finditer(facts):
        parts = [(int(part[1]), part[2]) for part in patterns.PART.finditer(listed[1])]
        asked = [count for count, name in parts if patterns.OUTPUT_PART.search(name)]
        if len(asked) < len(parts) and all(patterns.COUNTED_PART.search(name) for _, name in parts):
            sent = sum(count for count, _ in parts) - sum(asked)
            return Counts(sent=sent, asked=sum(asked) if asked else None)
    return Counts()


def _read_sent(found: Sequence[_Count], limit: _Count | None) -> int | None:
    """Return what was sent, or what it must be where only the room that is left is stated."""
    remaining = _first(found, _Role.REMAINING)
    sent = _first(found, _Role.SENT)
    if sent is None and limit and remaining is not None and remaining <= limit.value:
        return limit.value - remaining
    return sent


def _first(counts: Sequence[_Count], role: _Role) -> int | None:
    return next((count.value for count in counts if count.role is role), None)


def _read_all(facts: str) -> Iterator[_Count]:
    for sentence in facts.split("\n"):
        yield from _read_sentence(_split(sentence))


def _split(sentence: str) -> list[_Number]:
    """Cut a sentence at its numbers."""
    found = list(islice(patterns.NUMBER.finditer(sentence), _MAX_NUMBERS))
    ends = [0, *(number.end() for number in found)]
    starts = [*(number.start() for number in found[1:]), len(sentence)]
    return [
        _Number(
            int(number[0]),
            sentence[max(end, number.start() - _CHARS_BEFORE) : number.start()],
            sentence[number.end() : min(start, number.end() + _CHARS_AFTER)],
        )
        for number, end, start in zip(found, ends, starts, strict=False)
    ]


def _read_sentence(numbers: list[_Number]) -> Iterator[_Count]:
    pairs = list(enumerate(pairwise(numbers)))
    above = {index for index, (number, following) in pairs if _is_above(number, following)}
    limits = {index + 1 for index in above}
    above |= {index + 1 for index, (number, following) in pairs if _is_below(number, following)}
    for index, number in enumerate(numbers):
        if count := _read_number(number, is_above=index in above, is_limit=index in limits):
            yield count


def _is_above(number: _Number, following: _Number) -> bool:
    """Say whether a text holds a number against the next: it is then a size, and the next one its limit."""
    if patterns.EXCESS.search(following.before):
        return False
    if patterns.SLASH.match(number.after):
        return number.value >= following.value
    return number.value > following.value and bool(patterns.COMPARING.search(number.after))


def _is_below(number: _Number, following: _Number) -> bool:
    return number.value < following.value and bool(patterns.BELOW.match(number.after))


def _read_number(number: _Number, *, is_above: bool, is_limit: bool) -> _Count | None:
    before, after = number.before, number.after
    if patterns.CHARACTER_UNIT.match(after):
        return _Count(number.value, _Role.CHARACTERS) if patterns.INPUT.search(before + after) else None
    if patterns.OTHER_UNIT.match(after) or patterns.EXCESS.search(before):
        return None
    if patterns.REMAINING_UNIT.match(after):
        return _Count(number.value, _Role.REMAINING)
    if is_limit or (not is_above and _is_called_limit(before, after)):
        return _make_limit(number)
    role = _unit_role(after) or _size_role(number, is_above=is_above)
    return _Count(number.value, role) if role else None


def _is_called_limit(before: str, after: str) -> bool:
    is_size = (
        patterns.VERB.search(before) or patterns.NAMED_OUTPUT.search(before) or patterns.LEAST.search(before)
    )
    if is_size:
        return False
    return bool(
        patterns.LIMITING.search(before) or patterns.LIMIT_UNIT.match(after) or patterns.BELOW.match(after)
    )


def _make_limit(number: _Number) -> _Count | None:
    words = number.before + number.after
    is_window = bool(patterns.WINDOW.search(number.before))
    if number.value < _SMALLEST_COUNT and not is_window:
        return None
    value = number.value - 1 if patterns.EXCLUSIVE.match(number.after) else number.value
    is_of_output = bool(patterns.ABOUT_OUTPUT.search(words)) and not patterns.INPUT.search(words)
    return _Count(value, _Role.LIMIT, is_window=is_window, is_of_output=is_of_output)


def _unit_role(after: str) -> _Role | None:
    if patterns.ASKED_UNIT.match(after):
        return _Role.ASKED
    return _Role.SENT if patterns.SENT_UNIT.match(after) else None


def _size_role(number: _Number, *, is_above: bool) -> _Role | None:
    before = number.before
    if number.value < _SMALLEST_COUNT:
        return None
    if patterns.NAMED_OUTPUT.search(before):
        return _Role.ASKED
    is_of_input = patterns.INPUT.search(before)
    if patterns.ABOUT_OUTPUT.search(before):
        return _Role.TOTAL if is_of_input else _Role.ASKED
    is_size = patterns.SIZE.search(before) or patterns.VERB.search(before)
    if is_of_input and is_size:
        return _Role.SENT
    return _Role.SIZE if is_above or is_size else None
