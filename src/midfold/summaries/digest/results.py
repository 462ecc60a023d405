"""Quotes what actions gave back and what they were given: each line once, with its newest mention.

A line of a file that a later change replaced says how things were, and is not quoted. Nor is what a tool for
files says of its own success: the notes tell what was changed.
"""

import re
from collections.abc import Iterator, Sequence

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late
from midfold.summaries.digest.entries import Trait, Unit
from midfold.summaries.ledger.invocations import Aim, RunEnd
from midfold.summaries.ledger.run_ends import NOTHING_COMMITTED, is_echo, sums_up
from midfold.summaries.ledger.shell import last_name
from midfold.summaries.ledger.values import STATE_PROGRAMS, Action, Ledger
from midfold.summaries.ledger.words import COMMIT, DEFINITION, WeightedLines, weigh_lines
from midfold.summaries.tool_calls.frames import is_idle

_STATUS_WEIGHT = 6.0
_FAILURE_WEIGHTS = (20.0, 14.0, 9.0, 5.0, 3.0)
_READ_LINE_FACTOR = 0.15
"""what a file says can be read again"""
_CONTENT_WEIGHT, _LATER_CONTENT_WEIGHT = 1.5, 0.8
_FIRST_CONTENT_LINES = 3
_SCRIPT_LINE = 0.5
"""for a line of a script that was run once"""
_PRINTING_KINDS = ("shell", "")
_CHANGING_KINDS = ("edit", "write")
_SUPERSEDED = 0.5
"""for output of a program that was run again since"""
_WHOLE, _WHOLE_LINES = 1.7, 3
"""for output of a few lines, which is all there is to say"""
_RESULT = 4.5
"""for the last lines of the newest run of a program"""
_RESULT_LINES = 3
_COMMITTED = 6.0
"""for the line that tells of a commit"""
_RECORD, _RECORD_FIELDS = 2.5, 8
"""for the first fields of an object that a tool of the work's own gave back"""
_PIECE, _PIECE_CHARS = 0.3, 16
"""for what is so short that it is a piece of the lines around it"""
_DEFINED = 2.0
"""for a line of an edit that gives something a name"""
_COMMENT = compile_late(r"#(?![!a-z])|//|/\*|\*\s|--\s|<!--")
_REMARKED = 0.5
"""for a comment, beside the code that it is about"""
_EMPTY = ("[]", "{}", "null", "None", "(empty)")
_CAME_BACK_EMPTY = "came back empty"
_ENDED_WELL = compile_late(r"(?<![\d.-])0(?:</\w{1,20})?[>)\]\"'}]*$")
"""how a status ends that says that all went well"""
_MARGIN = compile_late(r"^(?:[E>|*]\s+|-+>\s*)+")
"""what a test runner puts before the lines of a cause"""
_SHORTEST_REPEATED = 12
_ECHO_CHARS = 8
_AT_LINE = compile_late(r"([^\s:]{1,200}):\d{1,6}[:-]\s*(\S.*)")
"""a line that a search found in a file"""
_SHORTEST_FRAGMENT = 8
_SHORT_OUTPUT_CHARS, _LAST_LINES = 1_500, 2
_ADDRESSES = ("https://", "http://")
_STATEFUL = ("git ", "gh ")
_DID_NOTHING = compile_late(
    rf"{NOTHING_COMMITTED}|\bnothing to (?:push|do)\b"
    r"|\balready (?:closed|merged|exists|up[- ]to[- ]date)\b"
    r"|\bup[- ]to[- ]date\b|\bno changes (?:added|to)\b",
    re.IGNORECASE,
)
"""how a program that keeps a state says that there was nothing to do"""
_EDGE = "│|>+- \t"
"""what a search draws before the lines that it found"""


@dataclass(slots=True)
class ResultQuotes:
    """Quotes lines of actions; a line that was offered once says nothing a second time."""

    ledger: Ledger
    factors: Sequence[float]
    """how much each action matters beside what it is"""
    most_lines: int
    seen: set[str]
    replaced: dict[str, int] = field(default_factory=dict)
    """line of a file → the position of the newest change that replaced it"""
    fragments: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """file → the same, for what may be a part of a line"""
    changed_after: set[str] = field(default_factory=set)
    """files that are changed in messages that stay"""

    def __post_init__(self) -> None:
        after = self.ledger.after.actions if self.ledger.after else ()
        for position, action in enumerate((*self.ledger.actions, *after)):
            run = action.run
            if run.has_changed and position >= len(self.ledger.actions):
                self.changed_after.update(map(last_name, run.changes))
            if run.removed and run.has_changed:
                self.replaced.update(dict.fromkeys(run.removed, position))
                for line in run.content:
                    self.replaced.pop(line, None)
                pieces = [(line, position) for line in run.removed if len(line) >= _SHORTEST_FRAGMENT]
                for path in run.changes:
                    self.fragments.setdefault(last_name(path), []).extend(pieces)

    def last_change(self, path: str, changed: Sequence[int]) -> int:
        """Return the position of the last change of a file; what was read before it may be outdated."""
        if last_name(path) in self.changed_after:
            return len(self.ledger.actions)
        return changed[-1] if changed else -1

    def quote(
        self, position: int, content: Sequence[str] | None = None, *, is_older: bool = False
    ) -> list[Unit]:
        """Say how an action ended, what went wrong, what it printed, and what it was given at length.

        `content` is what is left of that, where a later action replaced some of it. `is_older` says that what
        it read was changed since.
        """
        action, factor = self.ledger.actions[position], self.factors[position]
        run, answered, units = action.run, action.answered, list[Unit]()
        if run.end is RunEnd.REFUSED:
            return units
        is_silent = run.end is RunEnd.UNCLEAR and is_echo(run.output, run.subject)
        if is_silent or run.output.strip() in _EMPTY:
            units.append(Unit(_CAME_BACK_EMPTY, _STATUS_WEIGHT, answered))
        if run.status and run.end is not RunEnd.PASSED and not _ENDED_WELL.search(run.status):
            units.append(Unit(run.status, _STATUS_WEIGHT, answered))
        for number, failure in enumerate(run.failures[: len(_FAILURE_WEIGHTS)]):
            if not _is_said(failure, units) and (number == 0 or failure not in self.seen):
                self.seen.add(failure)
                trait = Trait.OTHER if number else Trait.CAUSE
                weight = _FAILURE_WEIGHTS[number] * factor
                ends = _DID_NOTHING.search(failure) is not None
                units.append(Unit(failure, weight, answered, trait=trait, is_conclusion=ends))
        factor *= _READ_LINE_FACTOR if run.kind == "read" else 1.0
        factor *= self._standing(position)
        is_silent = is_older or (run.kind in _CHANGING_KINDS and not run.has_failed)
        if not is_silent:
            units += self._printed(position, factor, tuple(units))
        if content is None:
            given = run.content_lines(self.most_lines)
        else:
            given = weigh_lines([line for line in content if self.replaced.get(line, -1) <= position])
        return [*units, *self._given(given, action, factor)]

    def quote_overcome(self, position: int) -> list[Unit]:
        """Say what went wrong before it went well: a successor may meet it again. The same is told once."""
        action, factor = self.ledger.actions[position], self.factors[position]
        told = dict(zip(action.run.failures, _FAILURE_WEIGHTS, strict=False))
        told |= {action.run.status: _STATUS_WEIGHT} if action.run.status else {}
        units = [
            Unit(f"{what} (settled)", weight * factor, action.answered)
            for what, weight in told.items()
            if what not in self.seen
        ]
        self.seen.update(told)
        return units

    def _printed(self, position: int, factor: float, told: Sequence[Unit]) -> Iterator[Unit]:
        """Quote lines of the output that are not told yet and still hold."""
        action = self.ledger.actions[position]
        run = action.run
        is_result = position in self.ledger.newest_results
        lines = run.lines(self.most_lines, self.seen)
        most = len(lines.texts)
        factor *= _WHOLE if most <= _WHOLE_LINES and run.kind in _PRINTING_KINDS else 1.0
        is_record = not run.kind and run.output.startswith("{")
        is_state = run.invocations[-1].program in STATE_PROGRAMS
        for number, (line, weight) in enumerate(lines):
            if line in self.seen or _repeats(line, run.subject) or _is_said(line, told):
                continue
            if self._is_replaced(line, position):
                continue
            self.seen.add(line)
            is_commit = COMMIT.match(line) is not None
            is_end = number in (0, most - 1) if is_state else number >= most - _RESULT_LINES
            ends = is_commit or self._is_outcome(line, position, is_last=number >= most - _LAST_LINES)
            tells = ends or run.kind == "ask" or (is_result and is_end)
            by_standing = _COMMITTED if ends else _RESULT if tells else 1.0
            by_standing *= _RECORD if is_record and number < _RECORD_FIELDS else 1.0
            yield Unit(line, weight * factor * by_standing, action.answered, is_conclusion=tells)

    def _is_outcome(self, line: str, position: int, *, is_last: bool) -> bool:
        """Whether a line says what came of a run: a summary of tests, an address, that it did nothing."""
        run = self.ledger.actions[position].run
        tried = run.invocations[-1]
        if tried.aim in (Aim.TEST, Aim.LINT):
            return position in self.ledger.newest_results and sums_up(line)
        if tried.aim is Aim.LOOK or run.kind not in _PRINTING_KINDS or len(run.output) > _SHORT_OUTPUT_CHARS:
            return False
        if is_last and line.startswith(_ADDRESSES) and " " not in line:
            return True
        return tried.program.startswith(_STATEFUL) and _DID_NOTHING.search(line) is not None

    def _is_replaced(self, line: str, position: int) -> bool:
        """Whether a later change took this line out of its file."""
        if self.replaced.get(line.lstrip(_EDGE), -1) > position:
            return True
        found = _AT_LINE.match(line) if self.fragments else None
        if found is None:
            return False
        if self.replaced.get(found[2], -1) > position:
            return True
        return any(
            at > position and text in found[2] for text, at in self.fragments.get(last_name(found[1]), ())
        )

    def _standing(self, position: int) -> float:
        """Lower what an action printed if a newer run of the same program says how it is now."""
        if position in self.ledger.newest_results:
            return 1.0
        aim = self.ledger.actions[position].run.invocations[-1].aim
        return 1.0 if aim in (Aim.NONE, Aim.LOOK) else _SUPERSEDED

    def _given(self, lines: WeightedLines, action: Action, factor: float) -> Iterator[Unit]:
        """Quote what an action was given at length; a line that names something is a result of the work."""
        subject, index = action.run.subject, action.index
        factor *= _SCRIPT_LINE if action.run.kind == "shell" and not action.run.changes else 1.0
        said = [each for each in lines if not is_idle(each[0]) and not _repeats(each[0], subject)]
        number = 0
        for line, weight in said:
            is_comment = _COMMENT.match(line) is not None
            number += not is_comment
            if line not in self.seen:
                self.seen.add(line)
                by_position = _CONTENT_WEIGHT if number <= _FIRST_CONTENT_LINES else _LATER_CONTENT_WEIGHT
                defines = DEFINITION.match(line) is not None
                by_position *= _PIECE if len(line) < _PIECE_CHARS else 1.0
                by_position *= _DEFINED if defines else _REMARKED if is_comment else 1.0
                yield Unit(line, by_position * weight * factor, index, is_conclusion=defines)


def _repeats(line: str, subject: str) -> bool:
    """Whether a line only says again what a call is about, as a terminal that echoes its command does."""
    return len(line) >= _ECHO_CHARS and (
        line in subject or (len(subject) >= _ECHO_CHARS and subject in line and len(line) < 2 * len(subject))
    )


def _is_said(line: str, told: Sequence[Unit]) -> bool:
    """Whether a line only repeats what was told of the same result, but for its margin."""
    if not told:
        return False
    bare = _MARGIN.sub("", line)
    return len(bare) >= _SHORTEST_REPEATED and any(bare in unit.text for unit in told)
