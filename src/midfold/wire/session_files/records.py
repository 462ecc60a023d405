"""Shared by the readers of session files: the value they return, and how lines are checked and counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from midfold.errors import MalformedMessage
from midfold.wire.dialect import Item, describe


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A conversation as an agent recorded it, in the format of one provider."""

    dialect: str
    messages: list[object]
    system: object | None = None
    tools: list[object] | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()
    """One-line remarks for people: what was left out of `messages`, and where the agent had compacted."""


def require_objects(records: Sequence[object]) -> list[Item]:
    """Return the lines as objects; raise `MalformedMessage` at the first that is none."""
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            raise MalformedMessage(index, f"the line is {describe(record)}; expected an object")
    return [record for record in records if isinstance(record, dict)]


def text_or_none(value: object) -> str | None:
    """Return `value` where it is text with something in it."""
    return value if isinstance(value, str) and value else None


def list_or_none(value: object) -> list[object] | None:
    """Return `value` where it is a list with something in it."""
    return value if isinstance(value, list) and value else None


def counted(number: int, noun: str, rest: str = "") -> tuple[str, ...]:
    """Say how many there are of something, as a note; no note when there are none."""
    return (f"{number} {noun}{'' if number == 1 else 's'}{rest}",) if number else ()


def note_compactions(product: str, positions: Sequence[int]) -> tuple[str, ...]:
    """Say before which messages the product had compacted the conversation."""
    *earlier, last = map(str, positions or [0])
    where = f"messages {', '.join(earlier)} and {last}" if earlier else f"message {last}"
    return counted(len(positions), "compaction", f" by {product}, before {where}")


def note_other_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Say which lines are no part of the conversation, most frequent first."""
    counts = Counter(kinds)
    listed = ", ".join(f"{kind} {number}" for kind, number in counts.most_common())
    return counted(counts.total(), "line", f" of other kinds skipped: {listed}")
