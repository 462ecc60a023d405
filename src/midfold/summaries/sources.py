"""The sources of a summary: the ledger of what is folded, the user's rules, what was said before.

The built-in digest is made of nothing else. A model's summary is checked against it and made whole from it.
"""

from collections.abc import Callable, Collection, Container, Sequence
from typing import TYPE_CHECKING, TypeAlias

from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Message, Pairing
from midfold.provenance import Author
from midfold.settings import Template
from midfold.summaries.digest.composition import compose, find_factors, lines_per_action, wishes_of
from midfold.summaries.digest.entries import (
    LABEL,
    DigestEntry,
    EntryKind,
    answered_at,
    cost,
    focus_on,
)
from midfold.summaries.digest.expected_use import weigh_use
from midfold.summaries.digest.layers import merge, read_entries, read_rules, request_entries
from midfold.summaries.digest.names import list_names, look_ahead
from midfold.summaries.digest.surprise import weigh_surprise
from midfold.summaries.digest.weights import Outlook
from midfold.summaries.ledger.collection import LedgerCache, collect
from midfold.summaries.ledger.commands import read_invocations
from midfold.summaries.ledger.names import NameReader
from midfold.summaries.ledger.open_failures import BrokenRun, Course
from midfold.summaries.ledger.pending import PendingWishes, is_taken_up
from midfold.summaries.ledger.rules import is_lifted
from midfold.summaries.ledger.shell import read_commands
from midfold.summaries.ledger.text_commands import CommandProtocol, told_calls
from midfold.summaries.ledger.values import Ledger, Rule, Statement
from midfold.summaries.sections import CORRECTIONS_HEADING

if TYPE_CHECKING:
    from midfold.summaries.corrections import Corrections

_BYTES_PER_TOKEN = 3.3
_USER_WORDS_CHARS = 8_000
_MOST_READINGS = 4
"""as many passes fill one ceiling"""


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """The messages that a summary stands for, and the terms on which it is written."""

    messages: Sequence[Message]
    pairing: Pairing
    numbers: Sequence[int]
    """what each message is known by in the whole conversation"""
    folded: Sequence[int]
    """the indices of the messages that the summary stands for, in their order"""
    kept: Sequence[Message]
    """messages that stay: what they speak of is still in use"""
    template: Template
    body_tokens: int
    """room for the words of the summary"""
    rules_tokens: float
    """the most that rules of the user may take, but for those pinned by hand"""
    redact: Callable[[str], str]
    count_text: Callable[[str], int]
    ledger_cache: LedgerCache | None = None
    earlier: int | None = None
    """the index of an earlier summary, which is no turn"""
    previous: str | None = None
    """the words of the earlier summary"""
    pins: Sequence[str] = ()
    unpinned: Collection[str] = ()
    focus: str | None = None
    model_tokens: int = 0
    """how long a model's summary should be"""
    window_tokens: int | None = None
    """what the summariser can take, as far as that is known"""
    is_manual: bool = False
    protocol: CommandProtocol | None = None
    """which messages are output of commands in words; found among `messages` where it is not known"""
    readings: "dict[tuple[int, ...], TurnFacts]" = field(default_factory=dict)
    """what was read by earlier passes of the same compression, by the turns that they folded"""

    @property
    def turns(self) -> list[int]:
        """The indices of what is folded, but for an earlier summary."""
        return [index for index in self.folded if index != self.earlier]


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The texts of the folded turns and of those behind them, and the names that they use."""

    ledger: Ledger
    names: NameReader
    outlook: Outlook
    pending: PendingWishes


ChooseRules: TypeAlias = Callable[[SummaryJob, Sequence[Rule]], tuple[Rule, ...]]


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything a summary can be made of."""

    ledger: Ledger
    pins: tuple[Rule, ...]
    entries: Sequence[DigestEntry]
    corrections: "Corrections | None" = None
    """the user's, of earlier notes; `None` where nothing was corrected, as is usual"""

    @property
    def facts(self) -> tuple[str, ...]:
        """Exact strings that must survive: pinned rules, changed files, what is still broken."""
        facts = dict.fromkeys([*(rule.text for rule in self.pins), *self.ledger.facts])
        return tuple(self.corrections.filter_facts(facts) if self.corrections else facts)

    @property
    def user_words(self) -> str:
        """The user's words, as far as they show the language of the conversation."""
        people = (each for each in self.ledger.statements if each.author is Author.PERSON)
        said = (statement.text for statement in people)
        return "\n".join(said)[:_USER_WORDS_CHARS]


def gather_sources(job: SummaryJob, *, choose_rules: ChooseRules | None = None) -> Sources:
    """Read what is about to be folded, and what an earlier summary says.

    `choose_rules` picks the rules that are quoted word for word where nobody pins any by hand.
    """
    previous = job.redact(job.previous or "")
    unpinned = _unpinned(job)
    corrections = _read_corrections(previous)
    rules = [rule for rule in read_rules(previous) if rule.text not in unpinned]
    earlier = read_entries(previous)
    reading = _read_once(job, told_calls(previous))
    ledger = reading.ledger
    known = [*rules, *ledger.rules]
    known = corrections.filter_rules(known) if corrections else known
    people = _list_people(ledger)
    known = [rule for rule in known if not _is_over(rule, people)]
    pins = choose_rules(job, known) if choose_rules else choose_pins(job, known)
    # A rule that is pinned no longer is still something that the user said.
    earlier += request_entries(rule for rule in rules if rule not in pins)
    entries = compose(
        ledger,
        pins=pins,
        factors=find_factors(ledger, job.kept, job.numbers[-1]),
        most_lines=lines_per_action(ledger, job.body_tokens),
        pending=reading.pending,
    )
    room = job.body_tokens * _BYTES_PER_TOKEN / max(reading.names.chars, 1)
    entries += list_names(reading.names.uses, job.kept, reading.outlook, room=room)
    settle_failures(earlier, ledger.course)
    close_requests(earlier, ledger)
    merged = merge(
        earlier,
        entries,
        has_new_steps=bool(ledger.steps or (ledger.after and ledger.after.steps)),
        replaced={line for action in ledger.actions for line in action.run.removed} if earlier else (),
    )
    weigh_surprise(merged)
    weigh_use(merged, room_bytes=job.body_tokens * _BYTES_PER_TOKEN)
    merged = corrections.filter_entries(merged) if corrections else merged
    return Sources(ledger, pins, focus_on(merged, job.focus) if job.focus else merged, corrections)


def _list_people(ledger: Ledger) -> list[Statement]:
    """List what people said, be it in words that stay."""
    said = (*ledger.statements, *(ledger.after.statements if ledger.after else ()))
    return [each for each in said if each.author is Author.PERSON]


def _is_over(rule: Rule, people: Sequence[Statement]) -> bool:
    """Whether a person took up since what a rule only put off."""
    since = rule.index
    return since is not None and any(is_lifted(rule.text, each.text) for each in people if each.index > since)


def _read_corrections(previous: str) -> "Corrections | None":
    """Read what the user corrected in an earlier summary, as hardly anybody ever does."""
    if CORRECTIONS_HEADING not in previous:
        return None
    from midfold.summaries.corrections import Corrections

    return Corrections.read(previous)


def _read_once(job: SummaryJob, told: Container[str]) -> TurnFacts:
    """Read what is folded; a ceiling is met by passes that often fold the same, and differ in their room."""
    turns, readings = job.turns, job.readings
    known = readings.pop(tuple(turns), None)
    if known is None:
        ledger = _read(job, turns, told)
        ledger = replace(ledger, after=_read(job, _indices_behind(job), told))
        names = NameReader(job.redact)
        names.read(job.messages, turns, job.numbers, ledger)
        outlook = look_ahead(job.messages, turns, job.numbers, ledger)
        known = TurnFacts(ledger, names, outlook, wishes_of(ledger))
    readings[tuple(turns)] = known  # the newest last
    if len(readings) > _MOST_READINGS:
        del readings[next(iter(readings))]
    return known


def _read(job: SummaryJob, indices: Sequence[int], told: Container[str]) -> Ledger:
    return collect(
        job.messages,
        indices,
        job.pairing,
        redact=job.redact,
        cache=job.ledger_cache,
        numbers=job.numbers,
        told=told,
        protocol=job.protocol,
    )


def _indices_behind(job: SummaryJob) -> list[int]:
    """Return where the messages stand that stay behind what is folded, or in the middle of it."""
    gone = set(job.folded)
    start = min(gone, default=len(job.messages))
    return [index for index in range(start, len(job.messages)) if index not in gone]


def choose_pins(job: SummaryJob, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Choose the rules to pin: those pinned by hand, then the newest, while they fit; in their order.

    A rule without a number in an earlier summary was pinned by hand, before a restart perhaps.
    """
    unpinned = _unpinned(job)
    known = [rule for rule in rules if rule.text not in unpinned]
    by_hand = [Rule(None, _as_pinned(job, text)) for text in job.pins]
    by_hand += [rule for rule in known if rule.index is None]
    pinned = {rule.text: rule for rule in by_hand}
    left = job.rules_tokens * _BYTES_PER_TOKEN
    # A person's rules come before those of files, which can be read again.
    by_people = [rule for rule in known if rule.author is not Author.PROJECT]
    by_files = [rule for rule in known if rule.author is Author.PROJECT]
    for rule in (*reversed(by_people), *reversed(by_files)):
        size = cost(rule.text)
        if rule.text not in pinned and size <= left:
            pinned[rule.text] = rule
            left -= size
    order = {rule.text: number for number, rule in enumerate([*by_hand, *known])}
    return tuple(
        sorted(pinned.values(), key=lambda rule: (-1 if rule.index is None else rule.index, order[rule.text]))
    )


def _unpinned(job: SummaryJob) -> set[str]:
    return {_as_pinned(job, text) for text in job.unpinned}


def _as_pinned(job: SummaryJob, text: str) -> str:
    """Write a sentence as a summary does: on one line, without secrets."""
    return job.redact(" ".join(text.split()))


def close_requests(earlier: Sequence[DigestEntry], ledger: Ledger) -> None:
    """Ask what became of requests that an earlier summary calls open."""
    exchanges, after = ledger.exchanges, ledger.after or Ledger()
    said, done = (*ledger.statements, *after.statements), (*ledger.actions, *after.actions)
    for entry in earlier:
        label = LABEL.match(entry.head)
        if entry.kind is EntryKind.OPEN_REQUEST and is_taken_up(entry.subject, said, done):
            entry.kind = EntryKind.ANSWERED
        if entry.kind is EntryKind.REQUEST and label is not None and entry.head.startswith("["):
            number = int(label[1].partition(",")[0])
            answer = exchanges.find_answer(number)
            if answer is not None:
                entry.kind = EntryKind.ANSWERED
            if answer is not None and exchanges.is_answered_by(number, answer):
                entry.head = f"{entry.head}{answered_at(answer)}"


def settle_failures(earlier: Sequence[DigestEntry], course: Course) -> None:
    """Ask what became of failures that an earlier summary calls open: by their command and their words."""
    for entry in earlier:
        label = LABEL.match(entry.head)
        if entry.kind is not EntryKind.BROKEN or label is None:
            continue
        tool, _, command = entry.subject.partition(": ")
        invocation = read_invocations(command, read_commands(command), entry.subject)[-1]
        index = max(int(number) for number in label[1].split(", ") if number.isdigit())
        failure = BrokenRun(index, invocation, tuple(unit.text for unit in entry.units), tool)
        settled = course.closing(failure)
        success = course.find_success(failure)
        if success is not None:
            entry.head = f"{entry.head} (failed, settled by [{success}])"
        if settled is not None or course.has_lapsed(failure):
            entry.kind = EntryKind.ACTION
