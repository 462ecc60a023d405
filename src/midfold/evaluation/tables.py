"""The figures in words and tables, for terminal and page alike."""

from collections.abc import Sequence

from midfold.evaluation.cells import Table, write_count, write_percent
from midfold.evaluation.probes import ProbeKind
from midfold.evaluation.report import ChainFigures, MethodFigures, Report
from midfold.evaluation.scores import MUST_KEEP_PART, Score
from midfold.evaluation.tallies import Tally

KINDS_TITLE = "Verbatim by kind"
DOTS_TITLE = "Kept against tokens"
DOTS_NOTE = "Each dot is one conversation: middle probes in context, over the tokens that are left."
LIMITS = (
    "Exact strings are an upper bound: what stands in the context can still be overlooked by a model, and"
    " what is said in other words counts as lost here."
)


def headline(report: Report) -> str:
    """Describe the conditions of the measurement."""
    if not report.figures:
        return "nothing was measured"
    one = report.figures[0]
    return (
        f"{write_count(one.conversations, 'conversation')}, {one.tokens_before:,} tokens,"
        f" {write_count(one.asked, 'probe')} in the part between head and tail"
    )


def ratio_title(ratio: float) -> str:
    return f"Compressed to {write_percent(ratio)} of the size"


def chains_title(ratio: float) -> str:
    return f"Fold upon fold, each to {write_percent(ratio)} of the size: must-keep strings left"


def name_kind(kind: ProbeKind) -> str:
    return kind.replace("_", " ")


def name_length(length: int) -> str:
    return write_count(length, "fold")


def main_table(figures: Sequence[MethodFigures]) -> Table:
    """Compare the methods; all parts are of the middle, but must-keep."""
    headings = ("method", "verbatim", "associated", "retrievable", "lost", "must-keep", "tokens")
    rows = [
        (
            one.method,
            *map(write_percent, (one.verbatim, one.associated, one.retrievable, one.lost, one.must_keep)),
            f"{one.tokens_after:,}",
        )
        for one in figures
    ]
    return Table(headings, tuple(rows))


def more_table(figures: Sequence[MethodFigures]) -> Table:
    """Show the same with other weights, and what it costs."""
    headings = ("method", "weighted", "macro", "head, tail", "by question", "fill", "kept/1k", "ms/450k")
    rows = [
        (
            one.method,
            *map(write_percent, (one.weighted, one.macro, one.ends, one.by_question, one.fill)),
            f"{one.kept_per_1000:.2f}",
            f"{one.cpu_ms_per_450k:,.0f}",
        )
        for one in figures
    ]
    return Table(headings, tuple(rows))


def check_table(figures: Sequence[MethodFigures]) -> Table:
    """Count the faults of each method."""
    headings = ("method", "invented", "unsound", "over ceiling", "unstable", "secrets")
    rows = [
        (
            one.method,
            *map(str, (one.inventions, one.unsound, one.over_ceiling, one.unstable, one.secrets)),
        )
        for one in figures
    ]
    return Table(headings, tuple(rows))


def kind_table(figures: Sequence[MethodFigures]) -> Table:
    """Show what each method keeps of each kind, and what the first one keeps where it belongs."""
    first, *others = figures
    headings = ("kind", "probes", first.method, "associated", *(one.method for one in others))
    rows = [
        (
            name_kind(kind),
            f"{found.asked:,}",
            write_percent(found.verbatim),
            write_percent(found.associated),
            *(write_percent(one.kinds[kind].verbatim) for one in others),
        )
        for kind, found in first.kinds.items()
    ]
    return Table(headings, tuple(rows))


def family_table(figures: Sequence[MethodFigures]) -> Table:
    """Show what each method keeps of each family, each over the conversations whose ceiling it met."""
    headings = ("ceiling met", "probes", *(one.method for one in figures))
    first = figures[0]
    rows = [
        (family, f"{tally.asked:,}", *(_write_part(one.families.get(family)) for one in figures))
        for family, tally in first.families.items()
    ]
    met = f"{sum(tally.asked for tally in first.families.values()):,}"
    rows.append(("all", met, *(write_percent(one.verbatim_met) for one in figures)))
    return Table(headings, tuple(rows))


def _write_part(tally: Tally | None) -> str:
    return write_percent(tally.part if tally else None)


def ratio_tables(figures: Sequence[MethodFigures]) -> list[Table]:
    """Return all tables about the methods at one ratio."""
    write = (main_table, more_table, check_table, kind_table, family_table)
    return [table(figures) for table in write]


def chain_table(chains: Sequence[ChainFigures]) -> Table:
    """Show what is left after chains of each length."""
    headings = ("method", "chain", "real folds", "all probes", "task", "constraints", "must-keep")
    rows = [
        (
            chain.method,
            name_length(chain.length),
            f"{chain.folds:.1f}",
            *map(write_percent, (chain.everything, chain.task, chain.constraints, chain.must_keep)),
        )
        for chain in chains
    ]
    return Table(headings, tuple(rows))


def must_keep_note(figures: MethodFigures) -> str:
    """Name the conversations that owe their must-keep strings."""
    return (
        f"must-keep over {write_count(figures.owing, 'conversation')}; exempt, because system prompt and"
        f" must-keep strings take more than {write_percent(MUST_KEEP_PART)} of the ceiling:"
        f" {figures.exempt:,}"
    )


def dot_label(score: Score, kept: float) -> str:
    return f"{score.conversation}, {score.method}: {write_percent(kept)} in {score.tokens_after:,} tokens"
