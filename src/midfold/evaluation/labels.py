"""Labels that people gave a conversation: who wrote what, which rules hold, what changed, what is open.

They say what a successor must know. The lists are not complete: a rule that is missing from them is not
thereby wrong.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from midfold.errors import UnreadableTranscript
from midfold.files import read_bytes
from midfold.late_dataclasses import dataclass, field
from midfold.provenance import Author
from midfold.transcripts import decode_json


@dataclass(frozen=True, slots=True)
class SegmentLabel:
    """A part of a mixed message: its first characters, and who wrote it."""

    starts: str
    author: Author


@dataclass(frozen=True, slots=True)
class AuthorLabel:
    """The writer of a message with role `user`; where it is mixed, the main one, and the parts."""

    index: int
    author: Author
    segments: tuple[SegmentLabel, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleLabel:
    """A standing rule of a person or a project file."""

    index: int
    text: str
    by: Author
    holds_at_end: bool


@dataclass(frozen=True, slots=True)
class NonRuleLabel:
    """A sentence that looks like a rule and is none."""

    index: int
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class FactLabel:
    """A fact that a successor would ask for; importance 3 means that the work goes wrong without it."""

    index: int
    question: str
    answer: str
    category: str
    importance: int


@dataclass(frozen=True, slots=True)
class ChangeLabel:
    """Something that changed: the wording that holds, and the one that no longer does."""

    question: str
    current: str
    outdated: str
    outdated_index: int


@dataclass(frozen=True, slots=True)
class OpenLabel:
    """Something undone or broken after the last message."""

    index: int
    text: str
    evidence: str


@dataclass(frozen=True, slots=True)
class ClosedLabel:
    """A problem that came up at `index` and was overcome by `closed_index`."""

    index: int
    text: str
    evidence: str
    closed_index: int


@dataclass(frozen=True, slots=True)
class QueryLabel:
    """Search words, and the message that a person would want to find with them."""

    index: int
    query: str


@dataclass(frozen=True, slots=True)
class Labels:
    """All labels of one conversation."""

    authors: Mapping[int, AuthorLabel] = field(default_factory=lambda: MappingProxyType({}))
    rules: tuple[RuleLabel, ...] = ()
    non_rules: tuple[NonRuleLabel, ...] = ()
    facts: tuple[FactLabel, ...] = ()
    changes: tuple[ChangeLabel, ...] = ()
    open: tuple[OpenLabel, ...] = ()
    closed: tuple[ClosedLabel, ...] = ()
    queries: tuple[QueryLabel, ...] = ()


def read_labels(path: Path, count: int) -> Labels:
    """Read the labels of one conversation of `count` messages.

    Raises `UnreadableTranscript` when the file is none or an item lacks a field or
    names a message that is not there.
    """
    try:
        found = decode_json(read_bytes(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableTranscript(str(path), f"no labels can be read from it: {error}") from error
    reader = _Item(path, count, "it", found)
    return Labels(
        authors={label.index: label for label in map(_author, reader.items("authors"))},
        rules=tuple(map(_rule, reader.items("rules"))),
        non_rules=tuple(
            NonRuleLabel(item.index(), item.text("text"), item.text("why", ""))
            for item in reader.items("not_rules")
        ),
        facts=tuple(map(_fact, reader.items("facts"))),
        changes=tuple(map(_change, reader.items("stale"))),
        open=tuple(
            OpenLabel(item.index(), item.text("text"), item.text("evidence"))
            for item in reader.items("open_at_end")
        ),
        closed=tuple(map(_closed, reader.items("closed"))),
        queries=tuple(QueryLabel(item.index(), item.text("query")) for item in reader.items("queries")),
    )


def find_labels(transcript: Path, name: str, labels_dir: Path | None = None) -> Path | None:
    """Return the file with the labels of a transcript, by default in the folder `gold` beside its own."""
    listed = (labels_dir or transcript.resolve().parent.parent / "gold") / f"{name}.json"
    return listed if listed.is_file() else None


class _Item:
    """An object with labels; a missing field is told with the place it is missing from."""

    def __init__(self, path: Path, count: int, place: str, value: object) -> None:
        self._path = path
        self._count = count
        self._place = place
        if not isinstance(value, dict):
            raise self._error("is no object")
        self.value = value

    def text(self, key: str, default: str | None = None) -> str:
        found = self.value.get(key, default)
        if not isinstance(found, str) or (not found and default is None):
            raise self._error(f"has no text {key!r}")
        return found

    def number(self, key: str) -> int:
        found = self.value.get(key)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise self._error(f"has no number {key!r}")
        return found

    def author(self, key: str) -> Author:
        try:
            return Author(self.text(key))
        except ValueError:
            raise self._error(f"names an unknown author: {self.value[key]!r}") from None

    def index(self, key: str = "index") -> int:
        found = self.number(key)
        if found >= self._count:
            raise self._error(f"names message {found}, and there are {self._count}")
        return found

    def items(self, key: str) -> "list[_Item]":
        listed = self.value.get(key, [])
        if not isinstance(listed, list):
            raise self._error(f"has no list {key!r}")
        return [_Item(self._path, self._count, f"{key}[{number}]", one) for number, one in enumerate(listed)]

    def _error(self, reason: str) -> UnreadableTranscript:
        return UnreadableTranscript(str(self._path), f"{self._place} {reason}")


def _author(item: _Item) -> AuthorLabel:
    segments = [SegmentLabel(part.text("starts"), part.author("author")) for part in item.items("segments")]
    return AuthorLabel(item.index(), item.author("author"), tuple(segments))


def _rule(item: _Item) -> RuleLabel:
    holds = item.value.get("holds_at_end", True) is True
    return RuleLabel(item.index(), item.text("text"), item.author("by"), holds)


def _fact(item: _Item) -> FactLabel:
    return FactLabel(
        index=item.index(),
        question=item.text("question", ""),
        answer=item.text("answer"),
        category=item.text("category", ""),
        importance=item.number("importance"),
    )


def _change(item: _Item) -> ChangeLabel:
    return ChangeLabel(
        question=item.text("question", ""),
        current=item.text("current"),
        outdated=item.text("outdated"),
        outdated_index=item.index("outdated_index"),
    )


def _closed(item: _Item) -> ClosedLabel:
    return ClosedLabel(
        index=item.index(),
        text=item.text("text", ""),
        evidence=item.text("evidence"),
        closed_index=item.index("closed_index"),
    )
