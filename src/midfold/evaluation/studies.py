"""The studies beside probes, and their figures: truth, future use, ceilings, and whole conversations."""

from collections.abc import Sequence
from dataclasses import asdict

from midfold.evaluation.ceilings import CeilingFigures, CeilingLadder, summarize_ceilings
from midfold.evaluation.engine_runs import EngineFigures, EngineRun, summarize_engine
from midfold.evaluation.future import FutureFigures, FutureScore, summarize_future
from midfold.evaluation.searches import SearchFigures, SearchScore, summarize_search
from midfold.evaluation.truth_figures import TruthFigures, TruthScore, summarize_truth
from midfold.late_dataclasses import dataclass
from midfold.redact import redact


@dataclass(frozen=True, slots=True)
class Studies:
    """The figures of each study, and what they were made from; empty where it was not asked for."""

    truth: tuple[TruthFigures, ...] = ()
    future: tuple[FutureFigures, ...] = ()
    ceilings: CeilingFigures | None = None
    engine: EngineFigures | None = None
    truth_scores: tuple[TruthScore, ...] = ()
    future_scores: tuple[FutureScore, ...] = ()
    ladders: tuple[CeilingLadder, ...] = ()
    engine_runs: tuple[EngineRun, ...] = ()
    search: tuple[SearchFigures, ...] = ()
    search_scores: tuple[SearchScore, ...] = ()


def summarize_studies(
    truth: Sequence[TruthScore] = (),
    future: Sequence[FutureScore] = (),
    ladders: Sequence[CeilingLadder] = (),
    engine_runs: Sequence[EngineRun] = (),
    searches: Sequence[SearchScore] = (),
) -> Studies:
    """Add up what was judged."""
    return Studies(
        truth=summarize_truth(truth),
        future=summarize_future(future),
        ceilings=summarize_ceilings(ladders),
        engine=summarize_engine(engine_runs),
        truth_scores=tuple(truth),
        future_scores=tuple(future),
        ladders=tuple(ladders),
        engine_runs=tuple(engine_runs),
        search=summarize_search(searches),
        search_scores=tuple(searches),
    )


def study_values(studies: Studies) -> dict[str, object]:
    """Return the studies under the names that scripts rely on; one that was not asked for is left out."""
    values: dict[str, object] = {}
    if studies.truth:
        values["truth"] = [asdict(figures) for figures in studies.truth]
        values["judged"] = [_truth_values(score) for score in studies.truth_scores]
    if studies.future:
        values["future"] = [asdict(figures) for figures in studies.future]
        values["needed"] = [
            asdict(score) | {"missing": list(map(redact, score.missing))} for score in studies.future_scores
        ]
    if studies.ceilings is not None:
        values["ceilings"] = asdict(studies.ceilings)
        values["ladders"] = [asdict(ladder) for ladder in studies.ladders]
    if studies.engine is not None:
        values["engine"] = asdict(studies.engine)
        values["engine_runs"] = [
            asdict(run) | {"missing": list(map(redact, run.missing))} for run in studies.engine_runs
        ]
    if studies.search:
        values["search"] = [
            asdict(one) | {"search": one.search, "search_lead": one.search_lead} for one in studies.search
        ]
        values["searched"] = [
            asdict(score) | {"missed": list(map(redact, score.missed))} for score in studies.search_scores
        ]
    return values


def _truth_values(score: TruthScore) -> dict[str, object]:
    return asdict(score) | {
        "wrong": [asdict(entry) | {"text": redact(entry.text)} for entry in score.wrong],
        "facts": [
            asdict(verdict.fact) | {"answer": redact(verdict.fact.answer), "is_kept": verdict.is_kept}
            for verdict in score.facts
        ],
    }
