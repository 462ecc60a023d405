"""Figures over many conversations, and the same as plain values for JSON."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from midfold.evaluation.conversations import Unusable
from midfold.evaluation.families import LEAST_ASKED, name_family
from midfold.evaluation.probes import ProbeKind, Zone
from midfold.evaluation.retention import ProbeFate, ProbeVerdict
from midfold.evaluation.scores import ChainResult, Score
from midfold.evaluation.tallies import Tally
from midfold.late_dataclasses import dataclass, replace
from midfold.redact import redact

TOKENS_OF_CPU = 450_000
"""Processor time is reported for a conversation of this size."""


@dataclass(frozen=True, slots=True)
class KindFigures:
    """One kind of probe, in the middle."""

    asked: int
    verbatim: float
    associated: float


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """One method at one ratio, over all conversations; parts are of the probes in the middle."""

    method: str
    ratio: float
    conversations: int
    asked: int
    verbatim: float
    """in context word for word, associated or not"""
    verbatim_met: float | None
    """the same, over the conversations whose ceiling was met"""
    verbatim_family: float | None
    """the same as `verbatim_met`, in the family where it is the least"""
    families: dict[str, Tally]
    """middle probes in context by family, where the ceiling was met"""
    associated: float
    retrievable: float
    by_question: float
    """retrievable with the words of the question, which do not give the answer away"""
    lost: float
    weighted: float
    """verbatim, where a rule counts five times a figure"""
    macro: float
    """verbatim, where every conversation counts the same"""
    ends: float
    """verbatim in head and tail"""
    must_keep: float | None
    """of all zones, over the conversations that owe it; `None` where none does"""
    owing: int
    exempt: int
    """conversations whose system prompt and must-keep strings leave too little room"""
    kinds: dict[ProbeKind, KindFigures]
    inventions: int
    unsound: int
    """conversations whose list has something wrong with it"""
    secrets: int
    over_ceiling: int
    unstable: int
    """conversations that a second pass changes"""
    tokens_before: int
    tokens_after: int
    fill: float
    """the part of the ceiling that is used, where it was met"""
    kept_per_1000: float
    """middle probes in context for each 1,000 tokens"""
    cpu_ms: float
    cpu_ms_per_450k: float


@dataclass(frozen=True, slots=True)
class ChainFigures:
    """Retention after chains of one length; must-keep strings where they are owed."""

    method: str
    ratio: float
    length: int
    folds: float
    everything: float | None
    task: float | None
    constraints: float | None
    must_keep: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything measured: the figures first, then what they were made from."""

    figures: tuple[MethodFigures, ...]
    chains: tuple[ChainFigures, ...]
    scores: tuple[Score, ...]
    links: tuple[ChainResult, ...]
    unusable: tuple[Unusable, ...]


def summarize(
    scores: Sequence[Score], links: Sequence[ChainResult] = (), unusable: Sequence[Unusable] = ()
) -> Report:
    """Add up what was measured, by ratio and method, in the order in which they were run."""
    groups = dict.fromkeys((score.ratio, score.method) for score in scores)
    chained = dict.fromkeys((link.ratio, link.method, link.length) for link in links)
    return Report(
        figures=tuple(
            _figures([score for score in scores if (score.ratio, score.method) == group]) for group in groups
        ),
        chains=tuple(
            _chain([link for link in links if (link.ratio, link.method, link.length) == group])
            for group in chained
        ),
        scores=tuple(scores),
        links=tuple(links),
        unusable=tuple(unusable),
    )


def in_zone(score: Score, zone: Zone) -> list[ProbeVerdict]:
    """Return the verdicts on the probes of one zone."""
    return [verdict for verdict in score.verdicts if verdict.probe.zone is zone]


def in_context(verdict: ProbeVerdict) -> bool:
    """Whether the probe is in context word for word."""
    return verdict.fate.in_context


def _figures(scores: Sequence[Score]) -> MethodFigures:
    middles = [in_zone(score, Zone.MIDDLE) for score in scores]
    middle = [verdict for verdicts in middles for verdict in verdicts]
    ends = [v for score in scores for v in score.verdicts if v.probe.zone is not Zone.MIDDLE]
    owing = [score for score in scores if score.owes_must_keep]
    owed = [verdict for score in owing for verdict in score.verdicts if verdict.probe.must_keep]
    tokens_before = sum(score.tokens_before for score in scores)
    tokens_after = sum(score.tokens_after for score in scores)
    cpu_ms = sum(score.cpu_ms for score in scores)
    macro = [_part(verdicts, in_context) for verdicts in middles if verdicts]
    families = _by_family(scores)
    return MethodFigures(
        method=scores[0].method,
        ratio=scores[0].ratio,
        conversations=len(scores),
        asked=len(middle),
        verbatim=_part(middle, in_context),
        verbatim_met=_total(families.values()),
        verbatim_family=_least(families.values()),
        families=families,
        associated=_part(middle, lambda verdict: verdict.fate is ProbeFate.ASSOCIATED),
        retrievable=_part(middle, lambda verdict: verdict.fate is ProbeFate.RETRIEVABLE),
        by_question=_part(middle, lambda verdict: verdict.by_question),
        lost=_part(middle, lambda verdict: verdict.fate is ProbeFate.LOST),
        weighted=_weighted(middle),
        macro=sum(macro) / len(macro) if macro else 0.0,
        ends=_part(ends, in_context),
        must_keep=_part(owed, in_context) if owed else None,
        owing=len(owing),
        exempt=len(scores) - len(owing),
        kinds=_by_kind(middle),
        inventions=sum(len(score.inventions) for score in scores),
        unsound=sum(bool(score.problems) for score in scores),
        secrets=sum(len(score.secrets) for score in scores),
        over_ceiling=sum(score.tokens_after > score.ceiling for score in scores),
        unstable=sum(not score.is_idempotent for score in scores),
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        fill=_fill(scores),
        kept_per_1000=1000 * sum(map(in_context, middle)) / max(1, tokens_after),
        cpu_ms=cpu_ms,
        cpu_ms_per_450k=cpu_ms * TOKENS_OF_CPU / max(1, tokens_before),
    )


def _by_family(scores: Sequence[Score]) -> dict[str, Tally]:
    """Count the middle probes of each family; a result over its ceiling had more room than it was given."""
    found: dict[str, Tally] = {}
    for score in _met(scores):
        asked = in_zone(score, Zone.MIDDLE)
        family = name_family(score.conversation)
        found[family] = found.get(family, Tally()) + Tally(sum(map(in_context, asked)), len(asked))
    return {family: tally for family, tally in sorted(found.items()) if tally.asked}


def _least(tallies: Iterable[Tally]) -> float | None:
    parts = [tally.part for tally in tallies if tally.asked >= LEAST_ASKED]
    return min((part for part in parts if part is not None), default=None)


def _met(scores: Sequence[Score]) -> list[Score]:
    return [score for score in scores if score.tokens_after <= score.ceiling]


def _fill(scores: Sequence[Score]) -> float:
    met = _met(scores)
    return sum(score.tokens_after for score in met) / max(1, sum(score.ceiling for score in met))


def _by_kind(verdicts: Sequence[ProbeVerdict]) -> dict[ProbeKind, KindFigures]:
    by_kind = {kind: [verdict for verdict in verdicts if verdict.probe.kind is kind] for kind in ProbeKind}
    return {
        kind: KindFigures(
            asked=len(asked),
            verbatim=_part(asked, in_context),
            associated=_part(asked, lambda verdict: verdict.fate is ProbeFate.ASSOCIATED),
        )
        for kind, asked in by_kind.items()
        if asked
    }


def _weighted(verdicts: Sequence[ProbeVerdict]) -> float:
    kept = sum(verdict.probe.weight for verdict in verdicts if in_context(verdict))
    return kept / max(1, sum(verdict.probe.weight for verdict in verdicts))


def _part(verdicts: Sequence[ProbeVerdict], holds: Callable[[ProbeVerdict], bool]) -> float:
    return sum(map(holds, verdicts)) / max(1, len(verdicts))


def _chain(links: Sequence[ChainResult]) -> ChainFigures:
    owing = [link for link in links if link.owes_must_keep]
    return ChainFigures(
        method=links[0].method,
        ratio=links[0].ratio,
        length=links[0].length,
        folds=sum(link.folds for link in links) / len(links),
        everything=_total(link.everything for link in links),
        task=_total(link.task for link in owing),
        constraints=_total(link.constraints for link in owing),
        must_keep=_total(link.must_keep for link in owing),
    )


def _total(tallies: Iterable[Tally]) -> float | None:
    return sum(tallies, Tally()).part


def as_values(report: Report) -> dict[str, object]:
    """Return the report under the names that scripts rely on."""
    return {
        "figures": [asdict(figures) for figures in report.figures],
        "chains": [asdict(chain) for chain in report.chains],
        "conversations": [_score_values(score) for score in report.scores],
        "chained": [asdict(link) for link in report.links],
        "unusable": [{"path": str(found.path), "reason": found.reason} for found in report.unusable],
    }


def _score_values(score: Score) -> dict[str, object]:
    values = asdict(replace(score, verdicts=()))
    del values["verdicts"]
    return values | {
        "cpu_ms": round(score.cpu_ms, 1),
        "inventions": list(map(redact, score.inventions)),
        "probes": [
            {
                **asdict(verdict.probe),
                "question": redact(verdict.probe.question),
                "answer": redact(verdict.probe.answer),
                "fate": verdict.fate,
                "by_question": verdict.by_question,
            }
            for verdict in score.verdicts
        ],
    }
