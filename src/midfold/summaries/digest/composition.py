"""Turns a ledger into entries, and says how much each weighs.

What a thing weighs by its kind is multiplied by factors around one: newer things weigh more, and so do those
still in use and those still broken.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from midfold.late_patterns import compile_late
from midfold.messages import Message
from midfold.summaries.digest.entries import (
    MUST,
    PIN_LABEL,
    DigestEntry,
    EntryKind,
    Unit,
    format_indices,
)
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.digest.kept import as_kept
from midfold.summaries.digest.quotations import quote_words
from midfold.summaries.digest.requests import quote_requests
from midfold.summaries.ledger.file_states import FileState, live_lines, trace_files
from midfold.summaries.ledger.invocations import Aim, RunEnd
from midfold.summaries.ledger.values import FINISHED, STATE_PROGRAMS, Action, Ledger, Rule, ToolRun
from midfold.summaries.ledger.words import (
    COMMIT,
    DEFINITION,
    LEAST_LINES,
    WeightedLines,
    weigh_lines,
)
from midfold.summaries.tool_calls.families import is_task_call
from midfold.summaries.tool_calls.output import fit_sizes

# What things weigh, relative to one another: a line of output is about one.
_STEP_WEIGHT = 20.0
_DONE_STEP_WEIGHT = 6.0
_ACTION_WEIGHT = 16.0
_FAILED_ACTION_WEIGHT = 18.0
_LOOK_WEIGHT = 12.0
"""for what only looks, and changes nothing"""
_PLAN_WEIGHT = 0.3
"""The newest to-do list stands for itself."""
_OPENING = compile_late(r"(?:<<-?\s?['\"]?\w{1,20}['\"]?|['\"(\\{])$")
"""how a line ends that only opens what a command is about"""
_OPENING_FACTOR = 0.5
_CHANGED_FILE_WEIGHT = MUST / 100
_READ_FILE_WEIGHT = 9.0
_DETAIL_WEIGHT = 3.0
_PLAN_DETAIL_WEIGHT = 0.1
_STATUS_WEIGHT = 6.0
_OVERCOME, _MOST_OVERCOME = 0.5, 3
"""for what went wrong and was overcome"""
_FAILURE_WEIGHTS = (20.0, 14.0, 9.0, 5.0, 3.0)
_READ_LINE_FACTOR = 0.15
"""what a file says can be read again"""
_CONTENT_WEIGHT, _LATER_CONTENT_WEIGHT = 1.5, 0.8
_FIRST_CONTENT_LINES = 3

_DETAILS_IN_HEAD_CHARS = 160
_ECHO_CHARS = 8
_FULL_DETAIL_CHARS = 12
_LOOKING_KINDS = ("search", "list")
_PRINTING_KINDS = ("shell", "")
_FILE_KINDS = ("read", "edit", "write", "")

_SUPERSEDED = 0.5
"""for output of a program that was run again since"""
_WHOLE, _WHOLE_LINES = 1.7, 3
"""for output of a few lines, which is all there is to say"""
_RESULT = 4.5
"""for the last lines of the newest run of a program"""
_RESULT_LINES = 3
_COMMITTED = 6.0
"""for the line that tells of a commit"""
_DEFINED = 2.0
"""for a line of an edit that gives something a name"""
_EMPTY = ("[]", "{}", "null", "None", "(empty)")
_CAME_BACK_EMPTY = "came back empty"
_WENT_WELL = (RunEnd.PASSED, RunEnd.UNCLEAR)
_MANY_TIMES, _LOOP_STEPS = 6, 3
_CAUSE = 10.0
_BYTES_PER_TOKEN = 3.3
_LINE_BYTES = 60
_CHOICE = 2
"""The lines that are looked at, for each that could fit."""


def find_factors(ledger: Ledger, kept: Iterable[Message], newest: int) -> WeightFactors:
    """Look at what stays in the context, and at how things ended."""
    return WeightFactors(
        newest=newest,
        in_use=as_kept(kept).names,
        broken=frozenset(ledger.actions[position].index for position in ledger.open_failures),
        fixed=frozenset(ledger.actions[position].index for position in ledger.fixes),
    )


def compose(
    ledger: Ledger, *, pins: Sequence[Rule], factors: WeightFactors, most_lines: int
) -> list[DigestEntry]:
    """Write down everything a digest of this ledger could say."""
    writer = _Writer(ledger, factors, most_lines)
    return [
        *(_pin(number, rule) for number, rule in enumerate(pins)),
        *quote_requests(ledger, {rule.text for rule in pins}),
        *quote_words(ledger, factors, writer.seen),
        *_steps(ledger),
        *writer.actions(),
    ]


def lines_per_action(ledger: Ledger, budget_tokens: int) -> int:
    """Return how many lines of each output to look at, so that there are several times what could fit."""
    lines = [len(action.run.output) // _LINE_BYTES + 1 for action in ledger.actions]
    return max(LEAST_LINES, fit_sizes(lines, int(budget_tokens * _BYTES_PER_TOKEN / _LINE_BYTES * _CHOICE)))


def _pin(number: int, rule: Rule) -> DigestEntry:
    if rule.index is None:
        return DigestEntry(EntryKind.RULE, number - MUST, f"{PIN_LABEL}{rule.text}", MUST)
    source = f"({rule.source}) " if rule.source else ""
    return DigestEntry(EntryKind.RULE, rule.index, f"[{rule.index}] {source}{rule.text}", MUST)


def _steps(ledger: Ledger) -> Iterator[DigestEntry]:
    """Write the newest to-do list as it stands; one that stays in the context speaks for itself."""
    after = ledger.after or Ledger()
    if after.steps:
        return
    newest = max((step.index for step in ledger.steps), default=0)
    ended = ledger.exchanges.find_end(newest)
    if ended is not None and ledger.exchanges.is_followed(ended):
        return  # the turn that it belonged to is over, and other things were asked since
    steps = [replace(step, state=after.step_states.get(step.key, step.state)) for step in ledger.steps]
    done = [step for step in steps if step.state in FINISHED]
    for step in steps:
        if step.state not in FINISHED:
            kind = EntryKind.DOING if step.state.startswith("in") else EntryKind.STEP
            mark = f" (list not touched since; [{ended}] ended the turn)" if ended is not None else ""
            kind = EntryKind.STEP if mark else kind
            yield DigestEntry(kind, step.index, f"[{step.index}] {step.text}{mark}", _STEP_WEIGHT)
    if done:
        units = [Unit(step.text, _DONE_STEP_WEIGHT) for step in done]
        head = f"[{done[0].index}] to-do list, ticked off"
        yield DigestEntry(EntryKind.ACTION, done[0].index, head, _DONE_STEP_WEIGHT, units)


@dataclass(slots=True)
class _Writer:
    """Writes entries about words and actions; a line that was offered once says nothing a second time."""

    ledger: Ledger
    factors: WeightFactors
    most_lines: int
    seen: set[str] = field(default_factory=set)
    action_factors: list[float] = field(default_factory=list)
    """how much each action matters beside what it is"""

    def actions(self) -> Iterator[DigestEntry]:
        """Join runs of one retry key, and all that happened to one file."""
        actions = self.ledger.actions
        self.action_factors = [self.factors.of_action(action.index, action.run.names) for action in actions]
        runs: dict[str, list[int]] = {}
        has_steps = bool(self.ledger.steps or (self.ledger.after and self.ledger.after.steps))
        for position, action in enumerate(actions):
            is_told = has_steps and (action.run.kind == "plan" or is_task_call(action.run.tool))
            if not _is_about_files(action.run) and not is_told:
                runs.setdefault(action.run.retry_key, []).append(position)
        yield from (self._retried(positions) for positions in runs.values())
        yield from map(self._file, trace_files(actions))

    def _retried(self, positions: Sequence[int]) -> DigestEntry:
        actions = [self.ledger.actions[position] for position in positions]
        first = actions[0].run
        head, units = _introduce(first, [action.index for action in actions])
        units += _tell_repetition(actions, positions)
        over = _find_overcome(self.ledger.actions, positions)
        for position in positions:
            units += self._overcome(position) if position in over else self._outcome(position)
        weight = _FAILED_ACTION_WEIGHT if actions[-1].run.has_failed else _ACTION_WEIGHT
        weight = _LOOK_WEIGHT if _only_looks(actions[-1].run) and weight == _ACTION_WEIGHT else weight
        weight = _PLAN_WEIGHT if first.kind == "plan" else weight
        weight *= _OPENING_FACTOR if _OPENING.search(first.subject) else 1.0
        kind = EntryKind.BROKEN if positions[-1] in self.ledger.open_failures else EntryKind.ACTION
        if positions[-1] in self.ledger.settlers:
            head = f"{head} (failed, settled by [{self.ledger.settlers[positions[-1]]}])"
        elif kind is EntryKind.BROKEN:
            units = _raise_cause(units, actions[-1])
        elif actions[-1].run.end is RunEnd.FAILED:
            head = f"{head} (failed{', overcome' if positions[-1] in self.ledger.fixes else ''})"
        return DigestEntry(kind, actions[0].index, head, weight * self.action_factors[positions[-1]], units)

    def _file(self, state: FileState) -> DigestEntry:
        actions = self.ledger.actions
        uses: dict[str, list[int]] = {}
        # Of what was changed, only the changes are told: to look at it changes nothing.
        for position in state.changed or state.positions:
            uses.setdefault(actions[position].run.tool, []).append(actions[position].index)
        said = ", ".join([f"{tool} {format_indices(indices)}" for tool, indices in uses.items()])
        live = live_lines(actions, state)
        about = [position for position in state.positions if _is_about_files(actions[position].run)]
        about = [] if state.is_gone else about  # how it came about says nothing about what is not there
        over = _find_overcome(actions, about)
        units = [
            unit
            for position in about
            if position not in over  # an edit that was refused and then worked
            for unit in self._outcome(position, live[position])
        ]
        if state.fate or state.is_changed:
            kind, weight, mark = EntryKind.CHANGED, _CHANGED_FILE_WEIGHT, f" ({state.fate or 'changed'}): "
        else:
            kind, weight, mark = EntryKind.READ, _READ_FILE_WEIGHT, ": "
        weight *= self.action_factors[state.positions[-1]]
        return DigestEntry(
            kind, actions[state.positions[0]].index, f"{state.path}{mark}{said}", weight, units
        )

    def _outcome(self, position: int, content: Sequence[str] | None = None) -> list[Unit]:
        """Say how an action ended, what went wrong, what it printed, and what it was given at length.

        `content` is what is left of that, where a later action replaced some of it.
        """
        action, factor = self.ledger.actions[position], self.action_factors[position]
        run, answered, units = action.run, action.answered, []
        if run.output.strip() in _EMPTY:
            units.append(Unit(_CAME_BACK_EMPTY, _STATUS_WEIGHT, answered))
        if run.status and (run.has_failed or not run.status.rstrip(">)]").endswith(" 0")):
            units.append(Unit(run.status, _STATUS_WEIGHT, answered))
        for number, failure in enumerate(run.failures[: len(_FAILURE_WEIGHTS)]):
            if number == 0 or failure not in self.seen:
                self.seen.add(failure)
                units.append(Unit(failure, _FAILURE_WEIGHTS[number] * factor, answered))
        factor *= _READ_LINE_FACTOR if run.kind == "read" else 1.0
        factor *= self._standing(position)
        is_result = position in self.ledger.newest_results
        lines = run.lines(self.most_lines, self.seen)
        most = len(lines.texts)
        factor *= _WHOLE if most <= _WHOLE_LINES and run.kind in _PRINTING_KINDS else 1.0
        is_state = run.invocations[-1].program in STATE_PROGRAMS
        for number, (line, weight) in enumerate(lines):
            if line not in self.seen and not _repeats(line, run.subject):
                self.seen.add(line)
                is_commit = COMMIT.match(line) is not None
                is_end = number in (0, most - 1) if is_state else number >= most - _RESULT_LINES
                tells = is_commit or run.kind == "ask" or (is_result and is_end)
                by_standing = _COMMITTED if is_commit else _RESULT if tells else 1.0
                units.append(Unit(line, weight * factor * by_standing, answered, is_conclusion=tells))
        given = run.content_lines(self.most_lines) if content is None else weigh_lines(content)
        return [*units, *self._given(given, action.index, factor, run.subject)]

    def _overcome(self, position: int) -> list[Unit]:
        """Say what went wrong before it went well: a successor may meet it again."""
        action = self.ledger.actions[position]
        causes = [cause for cause in action.run.failures[:_MOST_OVERCOME] if cause not in self.seen]
        self.seen.update(causes)
        factor = self.action_factors[position] * _OVERCOME
        weights = [weight * factor for weight in _FAILURE_WEIGHTS]
        return [
            Unit(f"{cause} (overcome)", weight, action.answered)
            for cause, weight in zip(causes, weights, strict=False)
        ]

    def _standing(self, position: int) -> float:
        """Lower what an action printed if a newer run of the same program says how it is now."""
        if position in self.ledger.newest_results:
            return 1.0
        aim = self.ledger.actions[position].run.invocations[-1].aim
        return 1.0 if aim in (Aim.NONE, Aim.LOOK) else _SUPERSEDED

    def _given(self, lines: WeightedLines, index: int, factor: float, subject: str) -> Iterator[Unit]:
        """Quote what an action was given at length; a line that names something is a result of the work."""
        for number, (line, weight) in enumerate(lines):
            if line not in self.seen and not _repeats(line, subject):
                self.seen.add(line)
                by_position = _CONTENT_WEIGHT if number < _FIRST_CONTENT_LINES else _LATER_CONTENT_WEIGHT
                defines = DEFINITION.match(line) is not None
                by_position *= _DEFINED if defines else 1.0
                yield Unit(line, by_position * weight * factor, index, is_conclusion=defines)


def _repeats(line: str, subject: str) -> bool:
    """Whether a line only says again what a call is about, as a terminal that echoes its command does."""
    return len(line) >= _ECHO_CHARS and (
        line in subject or (len(subject) >= _ECHO_CHARS and subject in line and len(line) < 2 * len(subject))
    )


def _find_overcome(actions: Sequence[Action], positions: Sequence[int]) -> frozenset[int]:
    """Return the positions of failures after which the same thing went well; the last result decides."""
    if positions and actions[positions[-1]].run.has_failed:
        return frozenset()
    good = [at for at in positions if not actions[at].run.has_failed and actions[at].run.end in _WENT_WELL]
    last = good[-1] if good else -1
    return frozenset(at for at in positions if at < last and actions[at].run.has_failed)


def _raise_cause(units: Sequence[Unit], action: Action) -> list[Unit]:
    """Let what is broken say what went wrong."""
    causes = action.run.failures[:1]
    return [replace(unit, weight=unit.weight * _CAUSE) if unit.text in causes else unit for unit in units]


def _tell_repetition(actions: Sequence[Action], positions: Sequence[int]) -> list[Unit]:
    """Say that a call was made again and again, with little else between and one result: a loop, perhaps."""
    said = actions[-1].run.output
    times = sum(1 for action in actions if action.run.output == said)
    if times < _MANY_TIMES or positions[-1] - positions[0] >= _LOOP_STEPS * times:
        return []
    return [Unit(f"{times} times, each with the same result", _STATUS_WEIGHT, actions[-1].answered)]


def _is_about_files(run: ToolRun) -> bool:
    return bool(run.changes or run.reads) and run.kind in _FILE_KINDS


def _only_looks(run: ToolRun) -> bool:
    return run.kind in _LOOKING_KINDS or all(each.aim is Aim.LOOK for each in run.invocations)


def _introduce(run: ToolRun, indices: Sequence[int]) -> tuple[str, list[Unit]]:
    """Name a call by what it is about; a call without a subject by its arguments, where these are short."""
    name = f"{format_indices(indices)} {run.tool}"
    details = ", ".join(run.details)
    if run.subject:
        return f"{name}: {run.subject}", [Unit(each, _detail_weight(run, each)) for each in run.details]
    if len(details) <= _DETAILS_IN_HEAD_CHARS:
        return f"{name}: {details}" if details else name, []
    return name, [Unit(each, 2 * _detail_weight(run, each)) for each in run.details]


def _detail_weight(run: ToolRun, detail: str) -> float:
    """Plans repeat themselves, and a flag says less than a name."""
    value = detail.partition("=")[2]
    weight = _PLAN_DETAIL_WEIGHT if run.kind == "plan" else _DETAIL_WEIGHT
    return weight * min(1.0, len(value) / _FULL_DETAIL_CHARS)
