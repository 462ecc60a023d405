"""Figures of the studies have gates as those of probes have, and stand in the page."""

import json

import pytest

from midfold.evaluation import (
    Studies,
    Study,
    study_of,
    study_values,
    summarize_studies,
    write_page,
    write_sections,
)
from midfold.evaluation.baselines import DIGEST
from midfold.evaluation.ceilings import CeilingLadder, Rung
from midfold.evaluation.engine_runs import EngineRun
from midfold.evaluation.future import NEWEST, FutureScore
from midfold.evaluation.gates import find_misses, read_gates
from midfold.evaluation.labels import FactLabel
from midfold.evaluation.report import summarize
from midfold.evaluation.tallies import SectionTally, Tally
from midfold.evaluation.truth_figures import FactVerdict, NoteFault, TruthScore, WrongEntry


def truth(ratio):
    wrong = WrongEntry("c", ratio, "Rules", NoteFault.NON_RULE, "a question", (3,), "<b>Could you?")
    fact = FactLabel(4, "How many?", "<i>44", "figure", 3)
    return TruthScore(
        conversation="c",
        ratio=ratio,
        tokens_after=90,
        ceiling=100,
        entries=4,
        wrong=(wrong,),
        rules=SectionTally(2, 1, 1),
        blocked=SectionTally(),
        pending=SectionTally(),
        rules_shown=Tally(1, 2),
        rules_anywhere=Tally(2, 2),
        non_rules_shown=Tally(1, 10),
        closed_shown=Tally(0, 3),
        open_covered=Tally(1, 1),
        outdated_alone=Tally(0, 1),
        facts=(FactVerdict(fact, is_kept=False),),
        newest_facts=Tally(0, 1),
        bare_facts=Tally(1, 1),
        tokens_before=1000,
        bare_tokens=400,
    )


def future(method, kept):
    return FutureScore("c", "c", 0.5, 0.1, method, Tally(kept, 20), 1000, 100, 100, ())


STUDIES = summarize_studies(
    truth=[truth(0.1), truth(0.05)],
    future=[future(DIGEST, 12), future(NEWEST, 10)],
    ladders=[CeilingLadder("<u>c", 1000, (Rung(0.5, 500, 400), Rung(0.1, 100, 450)))],
    engine_runs=[EngineRun("c", 200, 5, 1000, 150, Tally(9, 10), Tally(5, 10), ("gone",))],
)


def missed(*gates, studies=STUDIES):
    return [str(miss.gate) for miss in find_misses(read_gates(gates), summarize([]), studies)]


def test_floors_and_caps_of_every_study_are_met_or_missed():
    met = [
        "wrong_per_100=25",
        "rules_shown=0.5",
        "non_rules_shown=0.1",
        "future=0.6",
        "future_lead=0.09",
        "larger_results=1",
        "unmet_ceilings=0",
        "engine_must_keep=0.9",
        "engine_middle=0.5",
    ]
    assert missed(*met) == []
    assert missed("wrong_per_100=24", "facts_3=0.1", "future_macro=0.7", "larger_results=0") == [
        "wrong_per_100 at most 24",
        "facts_3 at least 0.1",
        "future_macro at least 0.7",
        "larger_results at most 0",
    ]


def test_the_lead_of_each_family_is_printed():
    [section] = [one for one in write_sections(STUDIES) if one.title.startswith("Future")]
    assert [row[:3] for row in section.tables[0].rows[:2]] == [("all", "20", "+10.0"), ("c", "20", "+10.0")]
    assert section.notes[-1].endswith(": +10.0")


@pytest.mark.parametrize("gate", ["facts_3=0", "future=0", "larger_results=9", "engine_middle=0"])
def test_a_study_that_was_not_made_meets_no_gate(gate):
    assert len(missed(gate, studies=Studies())) == 1


def test_a_figure_without_anything_to_judge_meets_no_gate():
    assert missed("pending_true=0") == ["pending_true at least 0"]


def test_a_figure_belongs_to_one_study():
    assert study_of("verbatim") is Study.PROBES
    assert study_of("chain_task") is Study.CHAINS
    assert study_of("facts_3") is Study.TRUTH
    assert study_of("engine_middle") is Study.ENGINE


def test_json_has_figures_and_every_wrong_entry():
    values = json.loads(json.dumps(study_values(STUDIES)))
    assert values["truth"][0]["wrong_per_100"] == 25
    assert values["judged"][0]["wrong"][0]["references"] == [3]
    assert not values["judged"][0]["facts"][0]["is_kept"]
    assert values["ceilings"]["larger_results"] == 1
    assert study_values(Studies()) == {}


def test_the_page_shows_the_studies_and_escapes_them():
    page = write_page(summarize([]), STUDIES)
    assert "Truth, by the labels of 1 conversation" in page
    assert "An engine over whole conversations" in page
    assert "<u>c" not in page
