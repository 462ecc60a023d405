"""The built-in summariser: no model, no network, the same answer every time.

It lists what happened under the template's headings: the user's words first, then files, errors, actions
with their outcomes, and as much of the results as the budget allows.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from midfold.compression.excerpts import excerpt
from midfold.compression.policy import Template
from midfold.compression.results import Span
from midfold.compression.sections import join_sections, split_sections
from midfold.compression.stubs import decisive_line, write_stub
from midfold.messages import Location, Message, Pairing, Text, ToolCall, ToolResult

_FILL_ROUNDS = 5
_FULL_ENOUGH = 0.98
_MOST_CHARS_PER_TOKEN = 8
_ASSISTANT_CHARS = 400
_REQUEST_CHARS = 1_200
_PATH = re.compile(r"^[~.\w@+-]*(?:[/\\][\w.@+ -]+)+$|^[\w@+-]+\.[A-Za-z0-9]{1,8}$")


class Rank(IntEnum):
    """What is kept first."""

    REQUEST = 0
    ERROR = 1
    FILE = 2
    ACTION = 3
    WORDS = 4
    EARLIER = 5
    DETAIL = 6


_HEADINGS: dict[Template, dict[Rank, str]] = {
    Template.HANDOFF: {
        Rank.REQUEST: "Goal",
        Rank.ERROR: "Blocked",
        Rank.FILE: "Relevant Files",
        Rank.ACTION: "Completed Actions",
        Rank.WORDS: "Key Decisions",
        Rank.DETAIL: "Critical Context",
    },
    Template.PROGRESS: {
        Rank.REQUEST: "Goal",
        Rank.ERROR: "Progress",
        Rank.FILE: "Relevant Files",
        Rank.ACTION: "Progress",
        Rank.WORDS: "Key Decisions",
        Rank.DETAIL: "Critical Context",
    },
    Template.BRIEF: {
        Rank.REQUEST: "Task Context",
        Rank.ERROR: "Pending Questions",
        Rank.FILE: "Active Files",
        Rank.ACTION: "Task Context",
        Rank.WORDS: "Key Decisions Resolved",
        Rank.DETAIL: "Remaining Work",
    },
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a digest, and how much it matters."""

    rank: Rank
    order: int
    text: str
    heading: str = ""
    """set for a line carried over from an earlier summary"""


def digest(
    messages: Sequence[Message],
    spans: Iterable[Span],
    pairing: Pairing,
    *,
    count_text: Callable[[str], int],
    budget_tokens: int,
    template: Template = Template.HANDOFF,
    previous: str | None = None,
    skip: int | None = None,
    stubs: Mapping[Location, str] | None = None,
) -> str:
    """Summarise the messages of `spans` within `budget_tokens`, building on an earlier summary's lines.

    `skip` is the index of the message that held the earlier summary; `stubs` are lines for results that
    were written before.
    """
    indices = [index for span in spans for index in span if index != skip]
    entries = [
        *_carry_over(previous),
        *_collect(messages, indices, pairing, stubs or {}, budget_tokens * _MOST_CHARS_PER_TOKEN),
    ]
    entries.sort(key=lambda entry: (entry.rank, -entry.order))
    chars_per_token = 3.2
    best = ""
    for _ in range(_FILL_ROUNDS):
        text = _write(_take(entries, int(budget_tokens * chars_per_token)), template)
        tokens = count_text(text)
        if tokens <= budget_tokens and len(text) >= len(best):
            best = text
        if budget_tokens * _FULL_ENOUGH <= tokens <= budget_tokens:
            break
        chars_per_token *= min(2.0, budget_tokens / max(tokens, 1)) * (
            0.99 if tokens > budget_tokens else 1.0
        )
    return best


def _take(entries: Sequence[Entry], budget_chars: int) -> list[Entry]:
    """Take entries by rank while they fit; a detail that does not is cut to what is left."""
    taken = []
    left = budget_chars
    for entry in entries:
        if len(entry.text) + 1 <= left:
            taken.append(entry)
            left -= len(entry.text) + 1
        elif left > 200:
            half = left // 2 - 40
            shorter = excerpt(entry.text, half, half)
            if len(shorter) <= left:
                taken.append(Entry(entry.rank, entry.order, shorter, entry.heading))
                left -= len(shorter) + 1
    return taken


def _write(entries: Iterable[Entry], template: Template) -> str:
    """Put entries under their headings, in the order in which things happened."""
    headings = _HEADINGS[template]
    sections: dict[str, list[str]] = {name: [] for name in dict.fromkeys(headings.values())}
    for entry in sorted(entries, key=lambda entry: entry.order):
        sections.setdefault(entry.heading or headings[entry.rank], []).append(entry.text)
    return join_sections({name: "\n".join(lines) for name, lines in sections.items()})


def _carry_over(previous: str | None) -> Iterator[Entry]:
    """Bring the lines of an earlier summary along, below everything that is news."""
    order = -1_000_000
    for heading, text in split_sections(previous or "").items():
        if heading == "Active Task":
            continue
        for line in text.split("\n"):
            order += 1
            rank = Rank.REQUEST if heading in ("Goal", "Constraints & Preferences") else Rank.EARLIER
            yield Entry(rank, order, line, heading or "Critical Context")


def _collect(
    messages: Sequence[Message],
    indices: Sequence[int],
    pairing: Pairing,
    stubs: Mapping[Location, str],
    most_chars: int,
) -> Iterator[Entry]:
    """Yield entries from the newest message to the oldest; outcomes only as many as could ever fit."""
    files: dict[str, str] = {}
    errors: set[str] = set()
    left = most_chars
    for index in reversed(indices):
        for position, part in enumerate(messages[index].parts):
            if isinstance(part, Text) and part.text.strip():
                yield _words(messages[index].role, index, part.text)
            elif isinstance(part, ToolCall):
                for path in _paths(part):
                    files.setdefault(path, f"{part.name} [{index}]")
                place = pairing.answers.get(Location(index, position))
                result = messages[place.message].parts[place.part] if place and left > 0 else None
                if place and isinstance(result, ToolResult):
                    for entry in _outcome(part, result, index, stubs.get(place), errors):
                        left -= len(entry.text) if entry.rank is Rank.ACTION else 0
                        yield entry
    for path, use in files.items():
        yield Entry(Rank.FILE, indices[-1], f"- {path}: {use}")


def _outcome(
    call: ToolCall, result: ToolResult, index: int, stub: str | None, errors: set[str]
) -> Iterator[Entry]:
    """Say what a call did in one line, what went wrong in another, and what came back as far as it fits."""
    stub = stub or write_stub(call, result)
    yield Entry(Rank.ACTION, index, f"- [{index}] {stub}")
    # A stub names what went wrong behind a semicolon; without one there is nothing to look for.
    wrong = decisive_line(result.text) if "; " in stub else None
    if wrong and wrong not in errors:
        errors.add(wrong)
        yield Entry(Rank.ERROR, index, f"- [{index}] {wrong}")
    if result.text.strip():
        yield Entry(Rank.DETAIL, index, f"- [{index}] {call.name}: {result.text.strip()}")


def _words(role: str, index: int, text: str) -> Entry:
    is_user = role == "user"
    most = _REQUEST_CHARS if is_user else _ASSISTANT_CHARS
    said = excerpt(text.strip(), most * 3 // 4, most // 4)
    return Entry(Rank.REQUEST if is_user else Rank.WORDS, index, f"- [{index}] {role}: {said}")


def _paths(call: ToolCall) -> Iterator[str]:
    """Find the arguments that name files."""
    arguments = call.parse_arguments()
    for value in arguments.values() if isinstance(arguments, dict) else ():
        if isinstance(value, str) and len(value) < 200 and _PATH.match(value):
            yield value
