"""The values of the ledger: actions, words, rules and steps, each with the message it came from."""

from collections.abc import Container, Iterator, Mapping
from functools import cached_property
from itertools import chain

from midfold.late_dataclasses import dataclass, field, replace
from midfold.provenance import Author
from midfold.summaries.ledger.exchanges import Exchanges, is_cancelled
from midfold.summaries.ledger.invocations import SCRIPT_RUNNERS, Aim, Invocation, RunEnd
from midfold.summaries.ledger.open_failures import BrokenRun, Course
from midfold.summaries.ledger.words import (
    LEAST_LINES,
    WeightedLines,
    Words,
    weigh_lines,
    weigh_output,
)
from midfold.summaries.tool_calls.output import find_names

FINISHED = ("completed", "done", "cancelled", "canceled")
"""states of steps that nobody takes up again"""
STATE_PROGRAMS = frozenset({"git status", "git branch", "git stash", "git log"})
"""Looks that say how the work stands."""


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
    """the first lines of long arguments; of an edit, lines that it wrote"""
    removed: frozenset[str] = frozenset()
    """lines that an edit replaced"""
    has_parts: bool = False
    """it is several commands, of which some may have done their work though the call failed"""
    is_whole: bool = False
    """it wrote a file anew"""
    undone: Mapping[str, str] = field(default_factory=dict)
    """files that it deleted, moved or reverted, each with what became of it"""
    reads: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    drafts: tuple[str, ...] = ()
    """files that a patch names which it wrote to a file"""
    status: str = ""
    """how it ended, as the tool wrote it"""
    failures: tuple[str, ...] = ()
    output: str = ""
    has_failed: bool = False
    """its output names an error, however it ended"""
    end: RunEnd = RunEnd.UNCLEAR
    invocations: tuple[Invocation, ...] = (Invocation(""),)
    """what it tried, the decisive one last"""
    has_tested: bool = False
    """it is a script that ran tests, all of which passed"""
    precomputed: Precomputed | None = field(default=None, compare=False, repr=False)

    @property
    def has_changed(self) -> bool:
        """Whether the files that it is to change are changed."""
        return self.end not in (RunEnd.FAILED, RunEnd.REFUSED) or self.has_parts

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
        return weigh_output(self.output, most, said, is_file=self.kind == "read")

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
    question: str = ""
    """what a person's few words answer"""
    is_reply: bool = False
    """it only answers what the model asked, or says to go on"""
    is_final: bool = False
    """a model's last words of a turn, which answer the request before it"""
    is_sent: bool = False
    """a model told it to somebody by a tool"""

    @property
    def is_told(self) -> bool:
        """Whether a model tells somebody what came of its work."""
        return self.is_final or self.is_sent

    @property
    def text(self) -> str:
        return self.words.text


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence in which a person or a file of the project sets a rule, word for word."""

    index: int | None
    """`None` for one that was pinned by hand"""
    text: str
    author: Author = Author.PERSON
    source: str = ""
    """the project's file that it stands in"""


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One item of the newest to-do list."""

    index: int
    text: str
    state: str
    key: str = ""
    """what it is updated by, where items are kept one by one"""


@dataclass(frozen=True)
class Ledger:
    """The words and actions of some messages, in their order."""

    actions: tuple[Action, ...] = ()
    statements: tuple[Statement, ...] = ()
    rules: tuple[Rule, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    step_states: Mapping[str, str] = field(default_factory=dict)
    """the newest state of each item that was updated by its key"""
    open_requests: frozenset[int] = field(default_factory=frozenset)
    """the requests that nobody took up"""
    after: "Ledger | None" = None
    """what stays in the context behind these messages, and may settle what is open in them"""

    @cached_property
    def changed_files(self) -> dict[str, list[int]]:
        """Paths in the order of their first change, each with the messages that changed it."""
        return _group(
            (path, action.index)
            for action in self.actions
            if action.run.has_changed
            for path in action.run.changes
        )

    @cached_property
    def exchanges(self) -> Exchanges:
        """The requests and how they ended, to the end of the conversation."""
        said = [*self.statements, *(self.after.statements if self.after else ())]
        people = [each for each in said if each.role == "user" and each.author is Author.PERSON]
        return Exchanges.of(
            {each.index: each.text for each in people},
            replies=(each.index for each in people if each.is_reply),
            finals=(each.index for each in said if each.is_final and not is_cancelled(each.text)),
            cancellations=(each.index for each in said if each.is_final and is_cancelled(each.text)),
        )

    @cached_property
    def course(self) -> Course:
        """The events that can close a failure, to the end of the conversation."""
        course = Course()
        after = self.after or Ledger()
        for action in chain(self.actions, after.actions):
            run = action.run
            course.add(action.index, run.tool, run.end, run.invocations)
            if run.has_tested:
                course.met_aims[Aim.TEST] = action.index
        for statement in chain(self.statements, after.statements):
            if statement.author is Author.MODEL:
                course.hear(statement.index, statement.words.claims)
            elif statement.author is Author.PERSON:
                course.requests.append(statement.index)
        return course

    @cached_property
    def fixes(self) -> dict[int, int]:
        """For each action that failed, by its position, the message that settled it."""
        closings = ((position, self.course.closing(failure)) for position, failure in self._failures)
        return {position: index for position, index in closings if index is not None}

    @cached_property
    def settlers(self) -> dict[int, int]:
        """For each action that failed, by its position, the first later success of the same thing."""
        found = ((position, self.course.find_success(failure)) for position, failure in self._failures)
        return {position: index for position, index in found if index is not None}

    @cached_property
    def proven(self) -> frozenset[int]:
        """The positions of failures that are settled by more than the model's word."""
        return frozenset(at for at, failure in self._failures if self.course.is_proven(failure))

    @cached_property
    def superseded(self) -> dict[int, int]:
        """For each script made here that failed, by position, the message of a later one that ran well."""
        scripts: set[str] = set()
        found: dict[int, int] = {}
        waiting: dict[str, list[int]] = {}
        for position, action in enumerate((*self.actions, *(self.after.actions if self.after else ()))):
            run = action.run
            tried = run.invocations[-1]
            scripts.update(path.replace("\\", "/").rpartition("/")[2] for path in run.changes)
            if tried.program not in SCRIPT_RUNNERS or tried.targets.isdisjoint(scripts):
                continue
            if run.end is RunEnd.PASSED:
                found |= dict.fromkeys(waiting.pop(tried.program, ()), action.index)
            elif run.end is RunEnd.FAILED:
                waiting.setdefault(tried.program, []).append(position)
        return found

    @cached_property
    def open_failures(self) -> frozenset[int]:
        """The positions in `actions` of what is broken at the end."""
        return frozenset(
            position
            for position, failure in self._failures
            if position not in self.fixes
            and position not in self.superseded
            and not self.course.has_lapsed(failure)
        )

    @cached_property
    def newest_results(self) -> frozenset[int]:
        """The positions of the newest run of each program whose result concerns the whole work."""
        newest = {
            action.run.invocations[-1].program: position
            for position, action in enumerate(self.actions)
            if action.run.invocations[-1].aim not in (Aim.NONE, Aim.LOOK)
            or action.run.invocations[-1].program in STATE_PROGRAMS
        }
        return frozenset(newest.values())

    @property
    def _failures(self) -> Iterator[tuple[int, BrokenRun]]:
        for position, action in enumerate(self.actions):
            run = action.run
            if run.end is RunEnd.FAILED:
                yield position, BrokenRun(action.index, run.invocations[-1], run.failures, run.tool)

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
