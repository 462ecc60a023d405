"""The values of the ledger: actions, words, rules and steps, each with the message it came from."""

from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from midfold.provenance import Author
from midfold.summaries.ledger.words import (
    LEAST_LINES,
    WeightedLines,
    Words,
    find_names,
    weigh_lines,
    weigh_output,
)


@dataclass(frozen=True, slots=True)
class Precomputed:
    """The results that a digest will most likely ask of a run, worked out before it does."""

    names: tuple[str, ...]
    lines: WeightedLines
    content_lines: WeightedLines


@dataclass(frozen=True, slots=True)
class ToolRun:
    """One call and what came back, wherever they stand. All texts are the conversation's, but for secrets."""

    tool: str
    kind: str
    """the family of the tool; empty when unknown"""
    retry_key: str
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
    """how it ended, as the tool wrote it"""
    failures: tuple[str, ...] = ()
    output: str = ""
    has_failed: bool = False
    precomputed: Precomputed | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The files, and other things with a name, that the call is about."""
        return (
            self.precomputed.names
            if self.precomputed
            else (*self.changes, *self.reads, *find_names(self.subject))
        )

    def lines(self, most: int, said: Container[str] = ()) -> WeightedLines:
        """Weigh up to `most` lines of the output; a line that was `said` before weighs nothing."""
        if self.precomputed and most == LEAST_LINES:
            return self.precomputed.lines
        return weigh_output(self.output, most, said)

    def content_lines(self, most: int) -> WeightedLines:
        """Return up to `most` lines of the content."""
        if self.precomputed and most == LEAST_LINES:
            return self.precomputed.content_lines
        return weigh_lines(self.content[:most])

    def precompute(self) -> "ToolRun":
        """Return the run with what a digest will most likely ask for."""
        precomputed = Precomputed(self.names, self.lines(LEAST_LINES), self.content_lines(LEAST_LINES))
        return replace(self, precomputed=precomputed)


@dataclass(frozen=True, slots=True)
class Action:
    """A run at its index."""

    index: int
    run: ToolRun
    answered: int | None = None
    """the message with the result"""


@dataclass(frozen=True, slots=True)
class Statement:
    """Words of the user or the model, or of somebody who is quoted in their place."""

    index: int
    role: str
    words: Words
    author: Author = Author.PERSON

    @property
    def text(self) -> str:
        return self.words.text


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence in which the user sets a rule, word for word."""

    index: int | None
    """`None` for one that was pinned by hand"""
    text: str
    author: Author = Author.PERSON


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One item of the newest to-do list."""

    index: int
    text: str
    state: str


@dataclass(frozen=True)
class Ledger:
    """The words and actions of some messages, in their order."""

    actions: tuple[Action, ...] = ()
    statements: tuple[Statement, ...] = ()
    rules: tuple[Rule, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    open_requests: frozenset[int] = field(default_factory=frozenset)
    """the requests that nobody took up"""

    @cached_property
    def changed_files(self) -> dict[str, list[int]]:
        """Paths in the order of their first change, each with the messages that changed it."""
        return _group((path, action.index) for action in self.actions for path in action.run.changes)

    @cached_property
    def fixes(self) -> dict[int, int]:
        """For each action that failed, by its position, the message of its first later success."""
        fixes: dict[int, int] = {}
        succeeded: dict[str, int] = {}
        for position in range(len(self.actions) - 1, -1, -1):
            action = self.actions[position]
            if not action.run.has_failed:
                succeeded[action.run.retry_key] = action.index
            elif action.run.retry_key in succeeded:
                fixes[position] = succeeded[action.run.retry_key]
        return fixes

    @cached_property
    def open_failures(self) -> frozenset[int]:
        """The positions in `actions` of what failed when it was last tried."""
        last = {action.run.retry_key: position for position, action in enumerate(self.actions)}
        return frozenset(position for position in last.values() if self.actions[position].run.has_failed)

    @property
    def facts(self) -> tuple[str, ...]:
        """Exact strings that must survive: rules, changed files, what is still broken."""
        broken = (self.actions[position].run.failures[:1] for position in sorted(self.open_failures))
        return tuple(
            dict.fromkeys(
                [
                    *(rule.text for rule in self.rules),
                    *self.changed_files,
                    *(line for lines in broken for line in lines),
                ]
            )
        )


def _group(uses: Iterator[tuple[str, int]]) -> dict[str, list[int]]:
    indices: dict[str, list[int]] = {}
    for path, index in uses:
        indices.setdefault(path, []).append(index)
    return indices
