"""Turns a ledger into entries, and says how much each weighs.

What a thing weighs by its kind is multiplied by factors around one: newer things weigh more, and so do those
still in use and those still broken.
"""

from collections.abc import Container, Iterable, Iterator, Sequence

from midfold.late_dataclasses import dataclass, field, replace
from midfold.late_patterns import compile_late
from midfold.messages import Message
from midfold.provenance import Author, is_unanswered
from midfold.summaries.digest.entries import (
    MUST,
    NOT_CHANGED,
    PIN_LABEL,
    DigestEntry,
    EntryKind,
    Unit,
    format_indices,
)
from midfold.summaries.digest.factors import WeightFactors
from midfold.summaries.digest.freshness import Freshness
from midfold.summaries.digest.kept import as_kept
from midfold.summaries.digest.outcomes import Outcomes
from midfold.summaries.digest.quotations import quote_words
from midfold.summaries.digest.requests import quote_requests
from midfold.summaries.digest.results import ResultQuotes
from midfold.summaries.ledger.file_states import FileState, live_lines, trace_files
from midfold.summaries.ledger.invocations import SCRIPT_RUNNERS, Aim, RunEnd
from midfold.summaries.ledger.pending import PendingWishes, find_pending
from midfold.summaries.ledger.values import FINISHED, Action, Ledger, Rule, ToolRun
from midfold.summaries.ledger.words import LEAST_LINES
from midfold.summaries.tool_calls.families import is_task_call
from midfold.summaries.tool_calls.output import fit_sizes

# What things weigh, relative to one another: a line of output is about one.
_STEP_WEIGHT = 20.0
_DONE_STEP_WEIGHT = 6.0
_ACTION_WEIGHT = 16.0
_FAILED_ACTION_WEIGHT = 18.0
_LOOK_WEIGHT = 9.0
"""for what only looks, and changes nothing"""
_PLAN_WEIGHT = 0.3
"""The newest to-do list stands for itself."""
_OPENING = compile_late(r"(?:<<-?\s?['\"]?\w{1,20}['\"]?|['\"(\\{])$")
"""how a line ends that only opens what a command is about"""
_OPENING_FACTOR = 0.5
_CHANGED_FILE_WEIGHT = MUST / 100
_READ_FILE_WEIGHT = 9.0
_NEWEST_CHANGE = 3.0
_FEW_CHANGED, _MOST_PER_FILE = 6, 4.0
"""Where fewer files were changed, what was written into each weighs more: up to so many times as much."""
_PASSING, _TRIED = "made and deleted again:", "written and run:"
_FEW_TOGETHER, _LINE_OF_FILES, _MOST_TOGETHER = 2, 10, 40
_DETAIL_WEIGHT, _PLAN_DETAIL_WEIGHT = 3.0, 0.1
_PLAIN_COMMAND, _PLAIN_CHARS = 0.15, 80
_STATUS_WEIGHT = 6.0

_DETAILS_IN_HEAD_CHARS = 160
_FULL_DETAIL_CHARS = 12
_LOOKING_KINDS = ("search", "list")
_FILE_KINDS = ("read", "edit", "write", "")
_PATCHERS = ("apply_patch", "applypatch", "git apply", "patch")

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
    ledger: Ledger,
    *,
    pins: Sequence[Rule],
    factors: WeightFactors,
    most_lines: int,
    pending: PendingWishes | None = None,
) -> list[DigestEntry]:
    """Write down everything a digest of this ledger could say.

    `pending` is what `wishes_of` says of it, where that was asked before.
    """
    writer = _Writer(ledger, factors, most_lines)
    pending = wishes_of(ledger) if pending is None else pending
    return [
        *(_pin(number, rule) for number, rule in enumerate(pins)),
        *quote_requests(ledger, {rule.text for rule in pins}, pending),
        *quote_words(ledger, factors, writer.seen, Freshness(ledger).weigh, Outcomes(ledger).find),
        *_steps(ledger),
        *writer.actions(),
    ]


def wishes_of(ledger: Ledger) -> PendingWishes:
    """Return by message what a person asked for and nobody took up, here or behind."""
    after = ledger.after or Ledger()
    return find_pending((*ledger.statements, *after.statements), (*ledger.actions, *after.actions))


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
    is_done = ledger.course.is_done
    steps = [replace(each, state="done") if is_done(each.index, each.text) else each for each in steps]
    stopped = _find_stop(ledger, newest)
    done = [step for step in steps if step.state in FINISHED]
    for step in steps:
        if step.state not in FINISHED:
            kind = EntryKind.DOING if step.state.startswith("in") else EntryKind.STEP
            mark = f" (list not touched since; [{ended}] ended the turn)" if ended is not None else ""
            mark = f" (stopped by the user at [{stopped}])" if stopped is not None else mark
            kind = EntryKind.STEP if mark else kind
            yield DigestEntry(kind, step.index, f"[{step.index}] {step.text}{mark}", _STEP_WEIGHT)
    if done:
        units = [Unit(step.text, _DONE_STEP_WEIGHT) for step in done]
        head = f"[{done[0].index}] to-do list, ticked off"
        yield DigestEntry(EntryKind.ACTION, done[0].index, head, _DONE_STEP_WEIGHT, units)


def _find_stop(ledger: Ledger, since: int) -> int | None:
    """Return the message in which a person turned down the last thing that was tried since a list."""
    actions = [*ledger.actions, *(ledger.after.actions if ledger.after else ())][-1:]
    stops = [each.answered for each in actions if each.run.end is RunEnd.REFUSED and each.index > since]
    return stops[0] if stops else None


@dataclass(slots=True)
class _Writer:
    """Writes entries about words and actions; a line that was offered once says nothing a second time."""

    ledger: Ledger
    factors: WeightFactors
    most_lines: int
    seen: set[str] = field(default_factory=set)
    action_factors: list[float] = field(default_factory=list)
    """how much each action matters beside what it is"""
    quotes: ResultQuotes = field(init=False)
    per_file: float = 1.0
    """how much more what was written into a file weighs, since there are few"""

    def actions(self) -> list[DigestEntry]:
        """Join runs of one retry key, and all that happened to one file."""
        actions = self.ledger.actions
        self.action_factors = [self.factors.of_action(action.index, action.run.names) for action in actions]
        self.quotes = ResultQuotes(self.ledger, self.action_factors, self.most_lines, self.seen)
        runs: dict[str, list[int]] = {}
        has_steps = bool(self.ledger.steps or (self.ledger.after and self.ledger.after.steps))
        answers = {each.index for each in self.ledger.statements if each.author is Author.PERSON}
        for position, action in enumerate(actions):
            is_told = has_steps and (action.run.kind == "plan" or is_task_call(action.run.tool))
            if action.run.kind == "ask":  # with an answer, it is quoted with that
                is_told = action.answered in answers or is_unanswered(action.run.output)
            if not _is_about_files(action.run) and not is_told:
                runs.setdefault(action.run.retry_key, []).append(position)
        # A line stands with its newest mention: how things are comes before how they were.
        newest_first = sorted(runs.values(), key=lambda positions: -positions[-1])
        entries = [self._retried(positions) for positions in newest_first][::-1]
        files = trace_files(actions)
        together: list[DigestEntry] = []
        for label, states in ((_PASSING, self._find_passing(files)), (_TRIED, self._find_scripts(files))):
            if len(states) > _FEW_TOGETHER:
                together += _tell_together(actions, states, label)
                told = {state.path for state in states}
                files = [state for state in files if state.path not in told]
        changed = sum(1 for state in files if state.is_changed and not state.is_gone)
        self.per_file = min(_MOST_PER_FILE, max(1.0, _FEW_CHANGED / max(changed, 1)))
        return [*entries, *map(self._file, files), *together]

    def _retried(self, positions: Sequence[int]) -> DigestEntry:
        actions = [self.ledger.actions[position] for position in positions]
        first = actions[0].run
        head, units = _introduce(first, [action.index for action in actions])
        units += _tell_repetition(actions, positions)
        over = _find_overcome(self.ledger.actions, positions, self.ledger.settlers)
        told = [
            self.quotes.quote_overcome(position) if position in over else self.quotes.quote(position)
            for position in reversed(positions)
        ]
        units += [unit for each in reversed(told) for unit in each]
        weight = _FAILED_ACTION_WEIGHT if actions[-1].run.has_failed else _ACTION_WEIGHT
        weight = _LOOK_WEIGHT if _only_looks(actions[-1].run) and weight == _ACTION_WEIGHT else weight
        weight = _PLAN_WEIGHT if first.kind == "plan" else weight
        weight *= _OPENING_FACTOR if _OPENING.search(first.subject) else 1.0
        kind = EntryKind.BROKEN if positions[-1] in self.ledger.open_failures else EntryKind.ACTION
        if positions[-1] in self.ledger.settlers:
            settler = self.ledger.settlers[positions[-1]]
            head = f"{head} ({_tell_failed(actions)}, settled by [{settler}])"
        elif kind is EntryKind.BROKEN:
            units = _raise_cause(units, actions[-1])
        elif actions[-1].run.end is RunEnd.REFUSED:
            head, weight = f"{head} ({_tell_refused(actions)})", _ACTION_WEIGHT
        elif actions[-1].run.end is RunEnd.FAILED:
            head = f"{head} ({_tell_failed(actions)}{self._tell_end(positions[-1])})"
        weight *= self.action_factors[positions[-1]]
        is_look = _only_looks(actions[-1].run) and kind is EntryKind.ACTION
        return DigestEntry(kind, actions[0].index, head, weight, units, is_look=is_look)

    def _tell_end(self, position: int) -> str:
        """Say what became of a failure that nothing shows to be settled."""
        if position in self.ledger.proven:
            return ", settled"
        if position in self.ledger.superseded:
            return f", superseded at [{self.ledger.superseded[position]}]"
        said = self.ledger.fixes.get(position)
        return "" if said is None else f", said to be settled at [{said}]"

    def _find_passing(self, files: Sequence[FileState]) -> list[FileState]:
        """Return the files that came and went within these messages."""
        actions = self.ledger.actions
        return [
            each for each in files if each.is_gone and each.changed and actions[each.changed[0]].run.is_whole
        ]

    def _find_scripts(self, files: Sequence[FileState]) -> list[FileState]:
        """Return the scripts that were made to be run here, which nobody edited or spoke of."""
        actions = self.ledger.actions
        runs = {
            target: position
            for position, action in enumerate(actions)
            for each in action.run.invocations
            if each.program in SCRIPT_RUNNERS
            for target in each.targets
        }
        said = "\n".join([each.text for each in self.ledger.statements if each.author is Author.PERSON])
        return [
            each
            for each in files
            if each.changed and not each.fate and each.positions[0] == each.changed[0]
            if runs.get(each.name, -1) >= each.changed[0]
            if each.name not in said and self.factors.in_use.isdisjoint((each.path, each.name))
            if all(actions[position].run.kind != "edit" for position in each.changed)
        ]

    def _file(self, state: FileState) -> DigestEntry:
        actions = self.ledger.actions
        live = live_lines(actions, state)
        about = [position for position in state.positions if _is_about_files(actions[position].run)]
        about = [] if state.is_gone else about  # how it came about says nothing about what is not there
        over = _find_overcome(actions, about)
        changed = self.quotes.last_change(state.path, state.changed)
        told = [
            self.quotes.quote_overcome(position)
            if position in over
            else self.quotes.quote(position, live[position], is_older=position < changed)
            for position in reversed(about)
        ]
        for unit in [max(each, key=_weight_of) for each in told[:1] if each]:
            unit.weight *= _NEWEST_CHANGE  # a changed file says in a line what was changed last
        units = [unit for each in reversed(told) for unit in each]
        written = {actions[position].index for position in state.changed}
        for unit in units:
            unit.weight *= self.per_file if unit.index in written else 1.0
        if state.fate or state.is_changed:
            kind, weight, mark = EntryKind.CHANGED, _CHANGED_FILE_WEIGHT, f" ({state.fate or 'changed'}): "
        else:
            kind, weight = EntryKind.READ, _READ_FILE_WEIGHT
            is_read = any(not actions[position].run.changes for position in state.positions)
            mark = ": " if is_read else f"{NOT_CHANGED}: "
        weight *= self.action_factors[state.positions[-1]]
        return DigestEntry(
            kind,
            actions[state.positions[0]].index,
            f"{state.path}{mark}{_tell_uses(actions, state)}",
            weight,
            units,
        )


def _tell_uses(actions: Sequence[Action], state: FileState) -> str:
    """Name the tools that used a file; of a file that was changed, those that changed it."""
    uses: dict[str, list[int]] = {}
    read = [position for position in state.positions if not actions[position].run.changes]
    for position in state.changed or read or state.positions:
        uses.setdefault(actions[position].run.tool, []).append(actions[position].index)
    return ", ".join([f"{tool} {format_indices(indices)}" for tool, indices in uses.items()])


def _weight_of(unit: Unit) -> float:
    return unit.weight


def _tell_together(
    actions: Sequence[Action], states: Sequence[FileState], label: str
) -> Iterator[DigestEntry]:
    """Name files of which there is nothing else to say, several in a line."""
    states = states[-_MOST_TOGETHER:]
    for start in range(0, len(states), _LINE_OF_FILES):
        some = states[start : start + _LINE_OF_FILES]
        ends = sorted({actions[position].index for state in some for position in state.positions[-1:]})
        head = f"{format_indices(ends)} {label} {', '.join([state.path for state in some])}"
        yield DigestEntry(EntryKind.CHANGED, ends[-1], head, _CHANGED_FILE_WEIGHT)


def _tell_failed(actions: Sequence[Action]) -> str:
    """Say that a call failed, and which of several did where others went well."""
    is_mixed = any(not action.run.has_failed and action.run.end in _WENT_WELL for action in actions)
    return f"failed at [{actions[-1].index}]" if is_mixed else "failed"


def _tell_refused(actions: Sequence[Action]) -> str:
    """Say that a person did not want a call, and which of several where others were made."""
    ends = {action.run.end for action in actions}
    return f"refused at [{actions[-1].index}]" if len(ends) > 1 else "refused"


def _find_overcome(
    actions: Sequence[Action], positions: Sequence[int], settled: Container[int] = ()
) -> frozenset[int]:
    """Return the positions of failures after which the same thing went well; the last result decides.

    Where that is a failure as well, another one that came before it is over.
    """
    if positions and actions[positions[-1]].run.has_failed:
        newest = actions[positions[-1]].run.failures
        return frozenset(
            at
            for at in positions[:-1]
            if actions[at].run.failures and (at in settled or actions[at].run.failures[0] not in newest)
        )
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
    is_patch = run.invocations[-1].program in _PATCHERS and not (run.has_failed or run.has_parts)
    return bool(run.changes or run.reads) and (is_patch or run.kind in _FILE_KINDS)


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
    first = f": {run.details[0]}" if len(run.details[0]) <= _DETAILS_IN_HEAD_CHARS else ""
    rest = run.details[1:] if first else run.details
    return f"{name}{first}", [Unit(each, 2 * _detail_weight(run, each)) for each in rest]


def _detail_weight(run: ToolRun, detail: str) -> float:
    """Plans repeat themselves, and a short command needs no words beside it."""
    weight = _PLAN_DETAIL_WEIGHT if run.kind == "plan" else _DETAIL_WEIGHT
    weight *= _PLAIN_COMMAND if run.kind == "shell" and len(run.subject) <= _PLAIN_CHARS else 1.0
    return weight * min(1.0, len(detail) / _FULL_DETAIL_CHARS)
