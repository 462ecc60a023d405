"""Shared by the readers of session files: the value they return, and how lines are checked and counted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeGuard

from midfold.errors import MalformedMessage
from midfold.late_dataclasses import dataclass
from midfold.wire.dialect import Item, describe


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One call of a model that a client paid for, as its file has it.

    `id` names the call wherever the client copied its lines to. `at` is the time as the file writes it, or
    in seconds once it was read.
    """

    id: str
    model: str
    report: Item
    at: object = None


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """Facts about a session beside its messages, as far as its file has them."""

    session_id: str | None = None
    folder: str | None = None
    """where the client ran"""
    title: str | None = None
    """given by a person, else generated, else the first request"""
    window_tokens: int | None = None
    calls: tuple[ClientCall, ...] = ()


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
    facts: SessionFacts = SessionFacts()
    lines: tuple[tuple[Item, ...], ...] = ()
    """the lines behind each message, with the context that the client attached to it; empty where the
    format cannot be written"""
    preamble: tuple[Item, ...] = ()
    """lines about the session that its client needs to go on with it"""


@dataclass(frozen=True, slots=True)
class OutgoingSession:
    """A conversation on its way into a session file. `items` are its messages.

    Each of `origins` is the index of the message in the file that was read, or `None` for a message that was
    not in it. `written_at` is an ISO time.
    """

    items: tuple[object, ...]
    origins: tuple[int | None, ...]
    session_id: str
    written_at: str
    title: str | None = None


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


_TITLE_CHARS = 120


def make_title(*candidates: object) -> str | None:
    """Return the first candidate that is text, on one line and of a bearable length."""
    found = next((text for each in candidates if (text := text_or_none(each)) and text.strip()), None)
    if found is None:
        return None
    line = " ".join(found[: 4 * _TITLE_CHARS].split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def has_figures(report: object) -> TypeGuard[Item]:
    """Say whether a usage report counts anything; the lines of a session that was written here count none."""
    return isinstance(report, dict) and any(
        isinstance(figure, int) and not isinstance(figure, bool) and figure > 0 for figure in report.values()
    )
