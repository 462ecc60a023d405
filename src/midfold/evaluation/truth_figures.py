"""Figures on the truth of notes, over all labelled conversations."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from midfold.evaluation.labels import FactLabel
from midfold.evaluation.tallies import SectionTally, Tally
from midfold.late_dataclasses import dataclass

IMPORTANCES = (3, 2, 1)


class NoteFault(StrEnum):
    """The reason why an entry is wrong."""

    NON_RULE = "a sentence that is no rule"
    RULE_AUTHOR = "a rule that neither a person nor the project set"
    LAPSED_RULE = "a rule that no longer holds"
    ANSWERED = "a goal that was answered"
    SETTLED = "a failure said to be settled by what does not settle it"
    GOAL_AUTHOR = "a goal that no person has"
    OVERCOME = "a failure that was overcome"
    PENDING_AUTHOR = "a request that no person made"
    NOT_PENDING = "a request that is not open"
    OUTDATED = "an outdated state without the current one"


@dataclass(frozen=True, slots=True)
class WrongEntry:
    """An entry that misleads, and why."""

    conversation: str
    ratio: float
    heading: str
    fault: NoteFault
    why: str
    references: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class FactVerdict:
    """A labelled fact, and whether the context has it word for word."""

    fact: FactLabel
    is_kept: bool


@dataclass(frozen=True, slots=True)
class TruthScore:
    """All that the labels say of one fold."""

    conversation: str
    ratio: float
    tokens_after: int
    ceiling: int
    entries: int
    wrong: tuple[WrongEntry, ...]
    rules: SectionTally
    blocked: SectionTally
    pending: SectionTally
    rules_shown: Tally
    """rules that hold at the end: under rules, or in a message that stayed"""
    rules_anywhere: Tally
    non_rules_shown: Tally
    closed_shown: Tally
    open_covered: Tally
    outdated_alone: Tally
    facts: tuple[FactVerdict, ...]
    newest_facts: Tally
    """facts of importance 3 that the newest messages have, in the same number of tokens"""
    bare_facts: Tally
    """facts of importance 3 that everything but tool output has"""
    tokens_before: int
    bare_tokens: int

    @property
    def wrong_entries(self) -> int:
        """The number of entries with a fault, each once."""
        return len({(entry.heading, entry.references, entry.text) for entry in self.wrong})


@dataclass(frozen=True, slots=True)
class TruthFigures:
    """All labelled conversations, folded to one ratio; parts are `None` where there is nothing to judge."""

    ratio: float
    conversations: int
    tokens_after: int
    over_ceiling: int
    entries: int
    wrong: int
    wrong_per_100: float
    faults: dict[NoteFault, int]
    rules: SectionTally
    blocked: SectionTally
    pending: SectionTally
    rules_true: float | None
    """of the rules shown, those that a person or the project set and that hold, or may hold"""
    rules_shown: float | None
    """of the labelled rules that hold at the end, those under rules or in a message that stayed"""
    rules_anywhere: float | None
    non_rules_shown: float | None
    blocked_true: float | None
    """of the blocked entries that labels or the conversation decide, those that are broken at the end"""
    overcome_shown: float | None
    pending_true: float | None
    open_covered: float | None
    outdated_alone: float | None
    facts_3: float | None
    facts_2: float | None
    facts_1: float | None
    facts_by_category: dict[str, Tally]
    facts_3_by_category: dict[str, Tally]
    facts_3_newest: float | None
    """what the newest messages have in as many tokens"""
    facts_3_bare: float | None
    """what all text without tool output has"""
    bare_size: float
    """its part of the tokens before"""


def summarize_truth(scores: Sequence[TruthScore]) -> tuple[TruthFigures, ...]:
    """Add up what was judged, by ratio."""
    ratios = dict.fromkeys(score.ratio for score in scores)
    return tuple(_figures([score for score in scores if score.ratio == ratio]) for ratio in ratios)


def _figures(scores: Sequence[TruthScore]) -> TruthFigures:
    rules = _add(score.rules for score in scores)
    blocked = _add(score.blocked for score in scores)
    pending = _add(score.pending for score in scores)
    facts = [fact for score in scores for fact in score.facts]
    by_importance = {one: _tally_facts(facts, importance=one).part for one in IMPORTANCES}
    entries = sum(score.entries for score in scores)
    wrong = sum(score.wrong_entries for score in scores)
    return TruthFigures(
        ratio=scores[0].ratio,
        conversations=len(scores),
        tokens_after=sum(score.tokens_after for score in scores),
        over_ceiling=sum(score.tokens_after > score.ceiling for score in scores),
        entries=entries,
        wrong=wrong,
        wrong_per_100=100 * wrong / max(1, entries),
        faults={
            fault: sum(entry.fault is fault for score in scores for entry in score.wrong)
            for fault in NoteFault
        },
        rules=rules,
        blocked=blocked,
        pending=pending,
        rules_true=rules.part_not_wrong,
        rules_shown=_total(scores, lambda score: score.rules_shown).part,
        rules_anywhere=_total(scores, lambda score: score.rules_anywhere).part,
        non_rules_shown=_total(scores, lambda score: score.non_rules_shown).part,
        blocked_true=blocked.part_true,
        overcome_shown=_total(scores, lambda score: score.closed_shown).part,
        pending_true=pending.part_true,
        open_covered=_total(scores, lambda score: score.open_covered).part,
        outdated_alone=_total(scores, lambda score: score.outdated_alone).part,
        facts_3=by_importance[3],
        facts_2=by_importance[2],
        facts_1=by_importance[1],
        facts_by_category=_by_category(facts),
        facts_3_by_category=_by_category([fact for fact in facts if fact.fact.importance == 3]),
        facts_3_newest=_total(scores, lambda score: score.newest_facts).part,
        facts_3_bare=_total(scores, lambda score: score.bare_facts).part,
        bare_size=sum(score.bare_tokens for score in scores)
        / max(1, sum(score.tokens_before for score in scores)),
    )


def _add(tallies: Iterable[SectionTally]) -> SectionTally:
    return sum(tallies, SectionTally())


def _total(scores: Sequence[TruthScore], tally: Callable[[TruthScore], Tally]) -> Tally:
    return sum(map(tally, scores), Tally())


def _tally_facts(facts: Sequence[FactVerdict], importance: int) -> Tally:
    asked = [fact.is_kept for fact in facts if fact.fact.importance == importance]
    return Tally(sum(asked), len(asked))


def _by_category(facts: Sequence[FactVerdict]) -> dict[str, Tally]:
    found: dict[str, Tally] = {}
    for fact in facts:
        category = fact.fact.category
        found[category] = found.get(category, Tally()) + Tally(int(fact.is_kept), 1)
    return dict(sorted(found.items()))
