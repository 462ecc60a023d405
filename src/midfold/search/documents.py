"""Documents to search, and a collection of them with an index of their terms."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from midfold.late_dataclasses import dataclass
from midfold.search.query import Key

SEARCH_TOOLS = frozenset({"recall", "lcm_grep", "lcm_describe", "lcm_expand", "lcm_expand_query"})
"""Tools that search: their calls and results say again what is elsewhere."""


class Origin(StrEnum):
    """The kind of a document."""

    MESSAGE = "message"
    SUMMARY = "summary"
    TOOL_OUTPUT = "tool output"
    PERSISTED_OUTPUT = "persisted output"


@dataclass(frozen=True, slots=True)
class Document:
    """Something that can be found. Two with the same `identity` are one; `None` is like no other."""

    texts: tuple[str, ...]
    """what it says"""
    role: str = ""
    """who speaks: a person is `user`, also in the result of a tool that asked"""
    origin: Origin = Origin.MESSAGE
    identity: Hashable = None
    carried: tuple[str, ...] = ()
    """what it only passes on: the arguments of calls, with whole files in them"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document that was found, by its number in the collection, and how well it fits."""

    number: int
    score: float


class Collected(Protocol):
    """Documents with numbers that rise with time, and an index of their terms."""

    @property
    def total(self) -> int:
        """The number of documents, or about so many."""
        ...

    def find(self, keys: Sequence[Key], most: int) -> Sequence[int]:
        """Return the documents that have all of these terms, the newest first, at most so many."""
        ...

    def lengths(self, numbers: Collection[int]) -> Mapping[int, int]:
        """Return of how many terms documents are made."""
        ...

    def neighbours(self, numbers: Collection[int]) -> Mapping[int, tuple[int | None, int | None]]:
        """Return what was said right before and right after documents."""
        ...

    def read(self, numbers: Collection[int]) -> Mapping[int, Document]:
        """Read documents; what may not be shown is not among them."""
        ...
