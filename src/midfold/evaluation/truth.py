"""Whether notes are true: every entry of a digest judged by the labels of its conversation.

An entry is wrong only where a label, or the conversation itself, says so; the rest is unknown, because the
labels are not complete.
"""

import re
from collections.abc import Iterator, Sequence

from midfold.evaluation.answers import why_answered
from midfold.evaluation.baselines import Method, fold_by_digest
from midfold.evaluation.contexts import ReadableContext, drop_output, take_newest
from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.failures import FailureHistory
from midfold.evaluation.labels import ChangeLabel, ClosedLabel, FactLabel, Labels, OpenLabel, RuleLabel
from midfold.evaluation.matching import covers, flatten, part_of_words, quotes, says_same
from midfold.evaluation.notes import NoteEntry, NoteKind, read_notes
from midfold.evaluation.origins import Origins
from midfold.evaluation.tallies import SectionTally, Tally
from midfold.evaluation.texts import SEPARATOR, index_context
from midfold.evaluation.truth_figures import IMPORTANCES, FactVerdict, NoteFault, TruthScore, WrongEntry
from midfold.late_dataclasses import dataclass
from midfold.provenance import Author
from midfold.wire import parse

_SETS_RULES = (Author.PERSON, Author.PROJECT)
_SHARED_WORDS = 0.5  # of an entry's or a label's words, from which both are about one thing
_COVERED_WORDS = 0.7
_CURRENT_WORDS = 0.75
_GOAL = "Goal"
_SETTLED = re.compile(r"settled by \[(\d{1,9})\]")
_QUOTED_CHARS = 240


@dataclass(frozen=True, slots=True)
class _Notes:
    """A folded conversation as its successor reads it."""

    entries: tuple[NoteEntry, ...]
    kept: tuple[str, ...]
    """messages that stayed"""
    flat: str
    """everything, on one line"""

    def of_kind(self, *kinds: NoteKind) -> list[NoteEntry]:
        return [entry for entry in self.entries if entry.kind in kinds]


def judge_truth(
    conversation: MeasuredConversation, labels: Labels, ratio: float, method: Method = fold_by_digest
) -> TruthScore:
    """Fold a labelled conversation, by default with the digest, and judge what a successor reads."""
    ceiling = conversation.ceiling(ratio)
    outcome = method(conversation, ceiling)
    request = conversation.request
    context = index_context(parse(outcome.items, request.dialect), outcome.summary, request.system_text)
    notes = _Notes(
        entries=tuple(read_notes(outcome.summary or "", len(conversation.messages))),
        kept=tuple(entry.text for entry in context.entries if not entry.is_summary),
        flat=flatten(context.joined.replace(SEPARATOR, "\n")),
    )
    judge = _Judge(conversation, labels, ratio, notes)
    return judge.score(outcome.tokens, ceiling)


def find_facts(facts: Sequence[FactLabel], flat: str) -> tuple[FactVerdict, ...]:
    """Look up facts in a flattened context."""
    return tuple(FactVerdict(fact, quotes(flat, fact.answer)) for fact in facts)


class _Judge:
    """Goes through the entries of one fold."""

    def __init__(
        self, conversation: MeasuredConversation, labels: Labels, ratio: float, notes: _Notes
    ) -> None:
        self._conversation = conversation
        self._labels = labels
        self._ratio = ratio
        self._notes = notes
        self._origins = Origins(conversation, labels)
        self._failures = FailureHistory(conversation)

    def score(self, tokens: int, ceiling: int) -> TruthScore:
        labels, notes = self._labels, self._notes
        wrong = [
            *self._wrong_rules(),
            *self._wrong_goals(),
            *self._wrong_settled(),
            *self._wrong_blocked(),
            *self._wrong_pending(),
            *self._outdated(),
        ]
        held = [rule for rule in labels.rules if rule.holds_at_end]
        newest = take_newest(self._conversation, ceiling)
        bare = drop_output(self._conversation, ceiling)
        alone = [change for change in labels.changes if self._is_alone(change)]
        return TruthScore(
            conversation=self._conversation.name,
            ratio=self._ratio,
            tokens_after=tokens,
            ceiling=ceiling,
            entries=len(notes.entries),
            wrong=tuple(wrong),
            rules=self._tally_rules(wrong),
            blocked=self._tally_open(wrong, NoteKind.BLOCKED),
            pending=self._tally_open(wrong, NoteKind.PENDING),
            rules_shown=Tally(sum(map(self._is_shown, held)), len(held)),
            rules_anywhere=Tally(sum(self._is_anywhere(rule) for rule in held), len(held)),
            non_rules_shown=Tally(
                sum(self._is_ruled(label.text) for label in labels.non_rules), len(labels.non_rules)
            ),
            closed_shown=Tally(sum(map(self._is_shown_open, labels.closed)), len(labels.closed)),
            open_covered=Tally(sum(map(self._is_covered, labels.open)), len(labels.open)),
            outdated_alone=Tally(len(alone), len(labels.changes)),
            facts=find_facts(labels.facts, notes.flat),
            newest_facts=_tally_vital(labels, newest),
            bare_facts=_tally_vital(labels, bare),
            tokens_before=self._conversation.tokens,
            bare_tokens=bare.tokens,
        )

    def _wrong(self, entry: NoteEntry, fault: NoteFault, why: str) -> WrongEntry:
        return WrongEntry(
            conversation=self._conversation.name,
            ratio=self._ratio,
            heading=entry.heading,
            fault=fault,
            why=why,
            references=entry.references,
            text=flatten(entry.text)[:_QUOTED_CHARS],
        )

    # Rules

    def _wrong_rules(self) -> Iterator[WrongEntry]:
        for entry in self._notes.of_kind(NoteKind.RULE):
            found = self._rule_fault(entry)
            if found is not None:
                yield self._wrong(entry, *found)

    def _rule_fault(self, entry: NoteEntry) -> tuple[NoteFault, str] | None:
        real = [rule for rule in self._labels.rules if says_same(entry.text, rule.text)]
        if any(rule.holds_at_end for rule in real):
            return None
        if real:
            return NoteFault.LAPSED_RULE, "it was taken back, or has run out"
        for label in self._labels.non_rules:
            if says_same(entry.text, label.text):
                return NoteFault.NON_RULE, label.why
        authors = self._origins.authors(entry)
        if authors and not set(authors.values()) & set(_SETS_RULES):
            return NoteFault.RULE_AUTHOR, _name_authors(authors)
        return None

    def _tally_rules(self, wrong: Sequence[WrongEntry]) -> SectionTally:
        entries = self._notes.of_kind(NoteKind.RULE)
        real = sum(
            any(rule.holds_at_end and says_same(entry.text, rule.text) for rule in self._labels.rules)
            for entry in entries
        )
        faults = (NoteFault.LAPSED_RULE, NoteFault.NON_RULE, NoteFault.RULE_AUTHOR)
        return SectionTally(len(entries), real, sum(entry.fault in faults for entry in wrong))

    def _is_ruled(self, text: str) -> bool:
        return any(says_same(entry.text, text) for entry in self._notes.of_kind(NoteKind.RULE))

    def _is_shown(self, rule: RuleLabel) -> bool:
        return self._is_ruled(rule.text) or any(quotes(flatten(kept), rule.text) for kept in self._notes.kept)

    def _is_anywhere(self, rule: RuleLabel) -> bool:
        return self._is_shown(rule) or quotes(self._notes.flat, rule.text)

    # Goals

    def _wrong_settled(self) -> Iterator[WrongEntry]:
        for entry in self._notes.entries:
            named = _SETTLED.search(entry.text)
            why = self._failures.why_unsettled(entry.references[:1], int(named[1])) if named else None
            if why:
                yield self._wrong(entry, NoteFault.SETTLED, why)

    def _wrong_goals(self) -> Iterator[WrongEntry]:
        for entry in self._notes.of_kind(NoteKind.GOAL):
            authors = self._origins.authors(entry)
            if authors and not set(authors.values()) & set(_SETS_RULES):
                yield self._wrong(entry, NoteFault.GOAL_AUTHOR, _name_authors(authors))
            elif entry.heading == _GOAL and entry.references:
                why = why_answered(self._conversation.messages, entry.references[0])
                if why:
                    yield self._wrong(entry, NoteFault.ANSWERED, why)

    # Open and overcome

    def _wrong_blocked(self) -> Iterator[WrongEntry]:
        for entry in self._notes.of_kind(NoteKind.BLOCKED, NoteKind.OPEN):
            why = self._why_overcome(entry)
            if why:
                yield self._wrong(entry, NoteFault.OVERCOME, why)

    def _why_overcome(self, entry: NoteEntry) -> str | None:
        for closed in self._labels.closed:
            if self._is_about(entry, closed):
                return f"overcome by [{closed.closed_index}]: {closed.text}"
        if any(_matches_open(entry, label) for label in self._labels.open):
            return None
        return self._failures.why_overcome(entry.references) if entry.kind is NoteKind.BLOCKED else None

    def _is_about(self, entry: NoteEntry, closed: ClosedLabel) -> bool:
        """Whether an entry shows a closed failure; one that names a later message shows a newer one."""
        if entry.references and max(entry.references) >= closed.closed_index:
            return False
        return closed.index in entry.references or (
            says_same(entry.text, closed.evidence) and self._failures.is_telling(closed.evidence)
        )

    def _is_shown_open(self, closed: ClosedLabel) -> bool:
        entries = self._notes.of_kind(NoteKind.BLOCKED, NoteKind.OPEN, NoteKind.PENDING)
        return any(self._is_about(entry, closed) for entry in entries)

    def _wrong_pending(self) -> Iterator[WrongEntry]:
        for entry in self._notes.of_kind(NoteKind.PENDING):
            authors = self._origins.authors(entry)
            if authors and Author.PERSON not in authors.values():
                yield self._wrong(entry, NoteFault.PENDING_AUTHOR, _name_authors(authors))
            elif not self._is_pending(entry):
                yield self._wrong(entry, NoteFault.NOT_PENDING, "nothing that is open at the end is about it")

    def _is_pending(self, entry: NoteEntry) -> bool:
        if any(_matches_open(entry, label) for label in self._labels.open):
            return True
        newest = max(entry.references, default=len(self._conversation.messages))
        return not any(message.role == "assistant" for message in self._conversation.messages[newest + 1 :])

    def _tally_open(self, wrong: Sequence[WrongEntry], kind: NoteKind) -> SectionTally:
        entries = self._notes.of_kind(kind)
        headings = {entry.heading for entry in entries}
        faulty = {
            (entry.references, entry.text)
            for entry in wrong
            if entry.heading in headings and entry.fault is not NoteFault.OUTDATED
        }
        known = [e for e in entries if (e.references, flatten(e.text)[:_QUOTED_CHARS]) not in faulty]
        true = sum(any(_matches_open(entry, label) for label in self._labels.open) for entry in known)
        if kind is NoteKind.PENDING:
            true = len(known)
        return SectionTally(len(entries), true, len(entries) - len(known))

    def _is_covered(self, label: OpenLabel) -> bool:
        texts = [*(entry.text for entry in self._notes.entries), *self._notes.kept]
        return quotes(self._notes.flat, label.evidence) or covers(texts, label.text, _COVERED_WORDS)

    # Changes, facts

    def _outdated(self) -> Iterator[WrongEntry]:
        for change in self._labels.changes:
            if self._is_alone(change):
                for entry in self._notes.entries:
                    if quotes(flatten(entry.text), change.outdated):
                        why = f"{change.question} Now: {flatten(change.current)}"
                        yield self._wrong(entry, NoteFault.OUTDATED, why)

    def _is_alone(self, change: ChangeLabel) -> bool:
        if not quotes(self._notes.flat, change.outdated):
            return False
        texts = [*(entry.text for entry in self._notes.entries), *self._notes.kept]
        return not quotes(self._notes.flat, change.current) and not covers(
            texts, change.current, _CURRENT_WORDS, besides=change.outdated
        )


def _tally_vital(labels: Labels, context: ReadableContext) -> Tally:
    """Count the facts of the highest importance in a context."""
    vital = [fact for fact in labels.facts if fact.importance == IMPORTANCES[0]]
    found = find_facts(vital, flatten(context.text.replace(SEPARATOR, "\n")))
    return Tally(sum(verdict.is_kept for verdict in found), len(found))


def _matches_open(entry: NoteEntry, label: OpenLabel) -> bool:
    return (
        label.index in entry.references
        or says_same(entry.text, label.evidence)
        or part_of_words(label.text, entry.text) >= _SHARED_WORDS
        or part_of_words(entry.text, label.text) >= _SHARED_WORDS
    )


def _name_authors(authors: dict[int, Author]) -> str:
    return ", ".join(f"[{index}] is by {author}" for index, author in authors.items())
