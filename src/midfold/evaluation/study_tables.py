"""The studies in words and tables, for terminal and page alike."""

from collections.abc import Callable, Iterator, Sequence

from midfold.evaluation.cells import NOTHING, Table, write_count, write_percent
from midfold.evaluation.families import LEAST_ASKED
from midfold.evaluation.future import FutureFigures, find_leads, find_least_lead
from midfold.evaluation.studies import Studies
from midfold.evaluation.tallies import SectionTally, Tally
from midfold.evaluation.truth_figures import NoteFault, TruthFigures, TruthScore
from midfold.late_dataclasses import dataclass

FUTURE_NOTE = "Names that the agent used after the cut and that were rare before it, found in the context."

SEARCH_NOTE = "The plain index is SQLite's FTS5 over the same messages: porter, any of the words, bm25."


@dataclass(frozen=True, slots=True)
class StudySection:
    """A study: its title, its tables, and remarks below them."""

    title: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()


def write_sections(studies: Studies) -> Iterator[StudySection]:
    """Yield a section for each study that was made."""
    if studies.truth:
        yield _write_truth(studies.truth)
    for ratio in dict.fromkeys(figures.ratio for figures in studies.future):
        yield _write_future([figures for figures in studies.future if figures.ratio == ratio], ratio)
    if studies.ceilings is not None:
        yield _write_ceilings(studies)
    if studies.engine is not None:
        yield _write_engine(studies)
    if studies.search:
        yield _write_search(studies)


def write_wrong_entries(score: TruthScore) -> list[str]:
    """Return a line for each wrong entry of a fold: where it stands, why it is wrong, and its words."""
    return [
        f"{entry.heading} {list(entry.references)}: {entry.fault} ({entry.why}): {entry.text}"
        for entry in score.wrong
    ]


def write_missing_facts(score: TruthScore, importance: int = 3) -> list[str]:
    """Return a line for each fact of that importance that the context lacks."""
    return [
        f"[{verdict.fact.index}] {verdict.fact.category}: {verdict.fact.question} {verdict.fact.answer}"
        for verdict in score.facts
        if verdict.fact.importance == importance and not verdict.is_kept
    ]


def score_title(score: TruthScore) -> str:
    """Name one fold, with the number of its entries."""
    at = f"{score.conversation} at {write_percent(score.ratio)}"
    return f"{at}: {score.wrong_entries:,} wrong of {write_count(score.entries, 'note')}"


_TRUTH_ROWS: tuple[tuple[str, Callable[[TruthFigures], str]], ...] = (
    ("entries", lambda one: f"{one.entries:,}"),
    ("wrong per 100 entries", lambda one: f"{one.wrong_per_100:.1f}"),
    ("rules shown", lambda one: _section(one.rules)),
    ("rules shown, not wrong", lambda one: write_percent(one.rules_true)),
    ("real rules shown", lambda one: write_percent(one.rules_shown)),
    ("real rules anywhere", lambda one: write_percent(one.rules_anywhere)),
    ("non-rules shown", lambda one: write_percent(one.non_rules_shown)),
    ("blocked", lambda one: _section(one.blocked)),
    ("blocked true", lambda one: write_percent(one.blocked_true)),
    ("overcome shown as open", lambda one: write_percent(one.overcome_shown)),
    ("pending", lambda one: _section(one.pending)),
    ("pending true", lambda one: write_percent(one.pending_true)),
    ("open work covered", lambda one: write_percent(one.open_covered)),
    ("outdated without current", lambda one: write_percent(one.outdated_alone)),
    ("facts of importance 3", lambda one: write_percent(one.facts_3)),
    ("facts of importance 2", lambda one: write_percent(one.facts_2)),
    ("facts of importance 1", lambda one: write_percent(one.facts_1)),
    ("3, newest messages", lambda one: write_percent(one.facts_3_newest)),
    ("3, no output", lambda one: write_percent(one.facts_3_bare)),
    ("size of no output", lambda one: write_percent(one.bare_size)),
    ("over the ceiling", lambda one: f"{one.over_ceiling:,}"),
)


def _section(tally: SectionTally) -> str:
    return f"{tally.shown} = {tally.true} + {tally.shown - tally.true - tally.wrong} ? + {tally.wrong} wrong"


def _write_truth(figures: Sequence[TruthFigures]) -> StudySection:
    at = tuple(f"at {write_percent(one.ratio)}" for one in figures)
    faults = [
        (str(fault), *(f"{one.faults[fault]:,}" for one in figures))
        for fault in NoteFault
        if any(one.faults[fault] for one in figures)
    ]
    categories = [
        (
            category,
            *(_tally(one.facts_3_by_category.get(category)) for one in figures),
            *(_tally(one.facts_by_category[category]) for one in figures),
        )
        for category in figures[0].facts_by_category
    ]
    return StudySection(
        title=f"Truth, by the labels of {write_count(figures[0].conversations, 'conversation')}",
        tables=(
            Table(("figure", *at), tuple((name, *map(write, figures)) for name, write in _TRUTH_ROWS)),
            Table(("wrong because it is", *at), tuple(faults)),
            Table(
                ("facts", *(f"3, {words}" for words in at), *(f"all, {words}" for words in at)),
                tuple(categories),
            ),
        ),
    )


def _tally(tally: Tally | None) -> str:
    return f"{tally.kept}/{tally.asked}" if tally else ""


def _write_future(figures: Sequence[FutureFigures], ratio: float) -> StudySection:
    methods = list(dict.fromkeys(one.method for one in figures))
    families = list(dict.fromkeys(one.family for one in figures))
    found = {(one.family, one.method): one for one in figures}
    leads = find_leads(figures, ratio)
    rows = [
        (
            family or "all",
            f"{found[family, methods[0]].asked:,}",
            _points(leads.get(family)),
            *(write_percent(found[family, method].micro) for method in methods),
        )
        for family in families
    ]
    overall = [found[None, method] for method in methods]
    rows += [
        ("by cut", f"{overall[0].cuts:,}", "", *(write_percent(one.macro) for one in overall)),
        ("size", "", "", *(write_percent(one.size) for one in overall)),
        ("over size", "", "", *(f"{one.over_ceiling:,}" for one in overall)),
    ]
    return StudySection(
        title=f"Future use, folded to {write_percent(ratio)} before the cut",
        tables=(Table(("family", "names", "lead", *methods), tuple(rows)),),
        notes=(FUTURE_NOTE, _write_lead(find_least_lead(figures, ratio))),
    )


def _write_lead(least: float | None) -> str:
    return (
        f"The least lead over the newest messages, in points, of a family with {LEAST_ASKED} names and more:"
        f" {_points(least)}"
    )


def _points(lead: float | None) -> str:
    return NOTHING if lead is None else f"{lead * 100:+.1f}"


def _write_ceilings(studies: Studies) -> StudySection:
    rows = [
        (ladder.conversation, f"{above.ratio:g} → {below.ratio:g}", f"{above.tokens:,}", f"{below.tokens:,}")
        for ladder in studies.ladders
        for above, below in ladder.larger
    ]
    rows += [
        (ladder.conversation, f"{rung.ratio:g}, not met", f"{rung.ceiling:,}", f"{rung.tokens:,}")
        for ladder in studies.ladders
        for rung in ladder.unmet
    ]
    figures = studies.ceilings
    told = (
        ()
        if figures is None
        else (
            f"{figures.larger_results} of {figures.conversations} give more for a smaller ceiling;"
            f" {figures.unmet_ceilings} miss a ceiling that a smaller fold of theirs meets",
        )
    )
    tables = (Table(("conversation", "ratio", "tokens", "became"), tuple(rows)),) if rows else ()
    return StudySection("Ceilings, from large to small", tables, told)


def _write_engine(studies: Studies) -> StudySection:
    figures = studies.engine
    if figures is None:
        return StudySection("", ())
    headings = ("conversations", "folds each", "must-keep", "middle")
    row = (
        f"{figures.conversations:,}",
        f"{figures.folds:.1f}",
        write_percent(figures.must_keep),
        write_percent(figures.middle),
    )
    return StudySection("An engine over whole conversations", (Table(headings, (row,)),))


def _write_search(studies: Studies) -> StudySection:
    headings = ("family", "queries", "recall at 5", "by a plain index")
    rows = tuple(
        (
            figures.family or "all",
            f"{figures.found.asked:,}",
            write_percent(figures.found.part),
            write_percent(figures.plainly.part),
        )
        for figures in studies.search
    )
    return StudySection("Search", (Table(headings, rows),), (SEARCH_NOTE,))
