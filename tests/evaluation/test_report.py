"""Figures over conversations: what is counted, and over what."""

import json

import pytest

from midfold.evaluation import ProbeFate, ProbeKind, ProbeVerdict, Zone, summarize
from midfold.evaluation.html import write_page
from midfold.evaluation.probes import make_probe
from midfold.evaluation.report import as_values
from midfold.evaluation.scores import Score
from midfold.evaluation.tables import family_table, main_table


def verdict(fate, kind=ProbeKind.COMMAND, zone=Zone.MIDDLE):
    return ProbeVerdict(make_probe(kind, '<q> & "a"', "answer", (1,), zone), fate)


def score(name, *verdicts, owes=True, method="midfold digest", tokens=90):
    return Score(
        conversation=name,
        method=method,
        ratio=0.1,
        verdicts=verdicts,
        inventions=(),
        problems=(),
        secrets=(),
        tokens_before=1000,
        tokens_after=tokens,
        ceiling=100,
        cpu_ms=2.0,
        is_idempotent=True,
        owes_must_keep=owes,
    )


KEPT, PLACED, FOUND, LOST = (
    verdict(fate)
    for fate in (ProbeFate.VERBATIM, ProbeFate.ASSOCIATED, ProbeFate.RETRIEVABLE, ProbeFate.LOST)
)


def figures(*scores):
    return summarize(scores).figures[0]


def test_an_associated_probe_is_a_verbatim_one_too():
    one = figures(score("a", KEPT, PLACED, FOUND, LOST))
    assert (one.verbatim, one.associated, one.retrievable, one.lost) == (0.5, 0.25, 0.25, 0.25)


def test_head_and_tail_are_counted_apart():
    one = figures(score("a", LOST, verdict(ProbeFate.VERBATIM, zone=Zone.HEAD)))
    assert (one.asked, one.verbatim, one.ends) == (1, 0.0, 1.0)


def test_micro_counts_probes_and_macro_conversations():
    one = figures(score("a", KEPT, KEPT, KEPT), score("b", LOST), score("c"))
    assert (one.verbatim, one.macro) == (0.75, 0.5)


def test_a_result_over_its_ceiling_does_not_count_where_the_ceiling_is_met():
    one = figures(score("a-1", KEPT, LOST), score("b-1", KEPT, KEPT, tokens=101))
    assert (one.verbatim, one.verbatim_met) == (0.75, 0.5)
    assert figures(score("b-1", KEPT, tokens=101)).verbatim_met is None


def test_the_least_family_is_one_that_says_something():
    one = figures(
        score("a-1", *[KEPT] * 6, *[LOST] * 2),
        score("a-2", KEPT, KEPT),
        score("a-ja-1", *[KEPT] * 10),
        score("b-1", *[LOST] * 9),
    )
    assert one.verbatim_family == pytest.approx(0.8)
    assert {family: tally.asked for family, tally in one.families.items()} == {"a": 10, "a-ja": 10, "b": 9}


def test_the_table_of_families_ends_with_all_of_them():
    table = family_table(summarize([score("a-1", KEPT, LOST), score("b-1", KEPT, KEPT)]).figures)
    assert table.rows == (("a", "2", "50 %"), ("b", "2", "100 %"), ("all", "4", "75 %"))


def test_a_rule_weighs_more_than_a_figure():
    one = figures(
        score(
            "a", verdict(ProbeFate.VERBATIM, ProbeKind.CONSTRAINT), verdict(ProbeFate.LOST, ProbeKind.NUMBER)
        )
    )
    assert one.weighted == pytest.approx(5 / 6)


def test_must_keep_is_asked_where_it_is_owed():
    kept, lost = (
        verdict(ProbeFate.VERBATIM, ProbeKind.CONSTRAINT),
        verdict(ProbeFate.LOST, ProbeKind.CONSTRAINT),
    )
    one = figures(score("a", kept), score("b", lost, owes=False))
    assert (one.must_keep, one.owing, one.exempt) == (1.0, 1, 1)
    assert figures(score("b", lost, owes=False)).must_keep is None


def test_fill_is_told_where_the_ceiling_was_met():
    one = figures(score("a", tokens=80), score("b", tokens=400))
    assert (one.fill, one.over_ceiling) == (0.8, 1)


def test_what_is_not_all_does_not_look_like_all():
    table = main_table([figures(score("a", *[KEPT] * 2999, LOST))])
    assert table.rows[0][1] == "99.9 %"


def test_json_holds_everything_by_conversation():
    values = json.loads(json.dumps(as_values(summarize([score("a", KEPT, LOST)]))))
    assert values["figures"][0]["kinds"]["command"]["verbatim"] == 0.5
    assert [probe["fate"] for probe in values["conversations"][0]["probes"]] == ["verbatim", "lost"]


def test_the_page_needs_nothing_else_and_escapes_what_it_shows():
    page = write_page(summarize([score("<b>a", KEPT, LOST), score("<b>a", LOST, method="no ledger")]))
    assert page.count("<svg") >= 2
    assert "prefers-color-scheme: dark" in page
    assert "<b>" not in page
    assert "http" not in page
    assert "$" not in page
