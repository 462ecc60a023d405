"""Figures on the truth of notes, over all labelled conversations."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from midfold.evaluation.scores import Tally
from midfold.evaluation.truth import FactVerdict, NoteFault, SectionTally, TruthScore

IMPORTANCES = (3, 2, 1)


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
    recall_at_5: float | None
    queries: int


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
    queries = _total(scores, lambda score: score.queries)
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
        recall_at_5=queries.part,
        queries=queries.asked,
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
