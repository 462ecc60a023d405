"""What came of a model's words on the way: the files that it changed because of them.

"The test checks a field that is gone" is true until the next edit. With the edit beside it, it is the reason
of a change, which stays true. A pair is found by position, so it holds in every language.
"""

import re
from bisect import bisect_left
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice

from midfold.late_patterns import compile_late
from midfold.provenance import Author
from midfold.summaries.digest.entries import format_indices
from midfold.summaries.ledger.invocations import RunEnd
from midfold.summaries.ledger.shell import last_name
from midfold.summaries.ledger.values import Action, Ledger, Statement
from midfold.summaries.ledger.welcomes import is_cheer

_MOST_FILES = 3
_LATER_CHANGES = 12
"""the changes after a statement that are asked whether they replaced what it names"""
_LEAST_QUOTED = 12
"""the letters of a line that a statement quotes"""

_REDIRECTED = compile_late(r"(?<![>&=-])>\s*[\"']?([^\s\"'|;&<>()]+)")
"""the file that a command writes its output to"""
_SCRATCH = compile_late(
    r"(?:^|[/\\])(?:te?mp|\.te?mp|scratch)[/\\]|(?:\.(?:bak|backup|orig|rej|patch|diff|log|tmp)|~)$",
    re.IGNORECASE,
)
"""copies, patches and logs: changing them mends nothing"""


class Outcomes:
    """For each statement on the way, the changes that followed before the model had something else to say."""

    def __init__(self, ledger: Ledger) -> None:
        """Find the changes."""
        self._ledger = ledger
        actions = (*ledger.actions, *(ledger.after.actions if ledger.after else ()))
        self._changes = [action for action in actions if _is_change(action)]
        self._starts = [action.index for action in self._changes]
        self._stops: Mapping[int, tuple[int, int]] = {}

    def find(self, statement: Statement, idle: Container[int]) -> str:
        """Name the files that were changed and the messages that did; empty if there was nothing to mend.

        Statements of the messages `idle` only go on; they are the same for all.
        """
        self._stops = self._stops or _find_stops(self._ledger, idle)
        stop, turn = self._stops.get(statement.index, (0, 0))
        changes = list(self._between(statement.index, stop)) or self._later(statement, turn)
        files = list(dict.fromkeys(name for change in changes for name in _mended(change)))
        if not files:
            return ""
        named = ", ".join(files[:_MOST_FILES]) + (", …" if len(files) > _MOST_FILES else "")
        return f"{named} {format_indices([change.index for change in changes if _mended(change)])}"

    def _between(self, start: int, stop: int) -> Iterator[Action]:
        first = bisect_left(self._starts, start)
        return islice(self._changes, first, bisect_left(self._starts, stop))

    def _later(self, statement: Statement, turn: int) -> list[Action]:
        """Return the first change of the turn, if any, that took lines out which the statement quotes."""
        text = statement.text
        for change in islice(self._between(statement.index, turn), _LATER_CHANGES):
            if any(line in text for line in change.run.removed if len(line) >= _LEAST_QUOTED):
                return [change]
        return []


def _is_change(action: Action) -> bool:
    """Whether an action changed what was there; a file that is written anew mends nothing."""
    run = action.run
    return bool(run.changes) and not run.is_whole and run.end not in (RunEnd.FAILED, RunEnd.REFUSED)


def _mended(change: Action) -> list[str]:
    """Name the files of the work that an action changed: none that it only wrote its output to."""
    anew = set(map(last_name, _REDIRECTED.findall(change.run.subject)))
    names = [last_name(path) for path in change.run.changes if not _SCRATCH.search(path)]
    return [name for name in names if name not in anew]


def _find_stops(ledger: Ledger, idle: Container[int]) -> Mapping[int, tuple[int, int]]:
    """Say for each statement where the model's next statement of anything stands, and where its turn ends.

    One that begins with a cheer says that a step is done: what is changed after it belongs to the next.
    """
    said: Sequence[Statement] = (*ledger.statements, *(ledger.after.statements if ledger.after else ()))
    end = max((each.index for each in said), default=0) + 2
    stops: dict[int, tuple[int, int]] = {}
    stop = turn = end
    for statement in reversed(said):
        stops[statement.index] = stop, turn
        if statement.author is Author.PERSON or statement.is_told:
            stop = turn = statement.index
        elif statement.author is Author.MODEL and (statement.index not in idle or is_cheer(statement.text)):
            stop = statement.index
    return stops
