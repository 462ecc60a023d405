"""What the ledger is made of: deeds, words, rules and steps, each with the message it came from."""

from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from midfold.summaries.ledger.files import find_names
from midfold.summaries.ledger.words import LEAST_LINES, Lines, Words, telling_lines, weigh_lines


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a digest will most likely ask of an act, worked out before it does."""

    names: tuple[str, ...]
    lines: Lines
    content_lines: Lines


@dataclass(frozen=True, slots=True)
class Act:
    """One call and what came back, wherever they stand. All texts are the conversation's, but for secrets."""

    tool: str
    kind: str
    """the family of the tool; empty when unknown"""
    aim: str
    """the same when it is tried again"""
    subject: str
    """what the call is about: a command, a pattern, an address; its first line"""
    details: tuple[str, ...] = ()
    """short arguments beside the subject, as `name=value`"""
    content: tuple[str, ...] = ()
    """the first lines of long arguments"""
    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    status: str = ""
    """how it ended, as the tool spelled it"""
    failures: tuple[str, ...] = ()
    output: str = ""
    has_failed: bool = False
    ahead: Ahead | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The files, and other things with a name, that the call is about."""
        return self.ahead.names if self.ahead else (*self.changes, *self.reads, *find_names(self.subject))

    def lines(self, most: int, said: Container[str] = ()) -> Lines:
        """Return up to `most` telling lines of the output; those that were `said` before need not be told."""
        if self.ahead and most == LEAST_LINES:
            return self.ahead.lines
        return telling_lines(self.output, most, said)

    def content_lines(self, most: int) -> Lines:
        """Return up to `most` lines of the content."""
        if self.ahead and most == LEAST_LINES:
            return self.ahead.content_lines
        return weigh_lines(self.content[:most])

    def read_ahead(self) -> "Act":
        """Return the act with what a digest will most likely ask for."""
        ahead = Ahead(self.names, self.lines(LEAST_LINES), self.content_lines(LEAST_LINES))
        return replace(self, ahead=ahead)


@dataclass(frozen=True, slots=True)
class Deed:
    """An act in its place."""

    index: int
    act: Act
    answered: int | None = None
    """the message with the result"""


@dataclass(frozen=True, slots=True)
class Saying:
    """Words of the user or the model."""

    index: int
    role: str
    words: Words

    @property
    def text(self) -> str:
        return self.words.text


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence in which the user sets a rule, word for word."""

    index: int | None
    """`None` for one that was pinned by hand"""
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """One item of the newest to-do list."""

    index: int
    text: str
    state: str


@dataclass(frozen=True)
class Ledger:
    """What was said and done in some messages, in their order."""

    deeds: tuple[Deed, ...] = ()
    sayings: tuple[Saying, ...] = ()
    rules: tuple[Rule, ...] = ()
    steps: tuple[Step, ...] = ()
    asks: frozenset[int] = field(default_factory=frozenset)
    """the requests that nobody took up"""

    @cached_property
    def changed_files(self) -> dict[str, list[int]]:
        """Paths in the order of their first change, each with the messages that changed it."""
        return _places((path, deed.index) for deed in self.deeds for path in deed.act.changes)

    @cached_property
    def read_files(self) -> dict[str, list[int]]:
        """Paths that were read, each with the messages that read it."""
        return _places((path, deed.index) for deed in self.deeds for path in deed.act.reads)

    @cached_property
    def fixes(self) -> dict[int, int]:
        """For each deed that failed, by its place in `deeds`, the message of its first later success."""
        fixes: dict[int, int] = {}
        succeeded: dict[str, int] = {}
        for place in range(len(self.deeds) - 1, -1, -1):
            deed = self.deeds[place]
            if not deed.act.has_failed:
                succeeded[deed.act.aim] = deed.index
            elif deed.act.aim in succeeded:
                fixes[place] = succeeded[deed.act.aim]
        return fixes

    @cached_property
    def open_failures(self) -> frozenset[int]:
        """The places in `deeds` of what failed when it was last tried."""
        last = {deed.act.aim: place for place, deed in enumerate(self.deeds)}
        return frozenset(place for place in last.values() if self.deeds[place].act.has_failed)

    @property
    def facts(self) -> tuple[str, ...]:
        """Exact strings that must survive: rules, changed files, what is still broken."""
        broken = (self.deeds[place].act.failures[:1] for place in sorted(self.open_failures))
        return tuple(
            dict.fromkeys(
                [
                    *(rule.text for rule in self.rules),
                    *self.changed_files,
                    *(line for lines in broken for line in lines),
                ]
            )
        )


def _places(uses: Iterator[tuple[str, int]]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for path, index in uses:
        places.setdefault(path, []).append(index)
    return places
