"""Tables of an evaluation for a terminal."""

from rich.console import Console
from rich.text import Text

from midfold.cli.render.grid import Grid
from midfold.cli.terminal import printable
from midfold.evaluation import (
    LIMITS,
    Report,
    Studies,
    Table,
    chain_table,
    chains_title,
    headline,
    must_keep_note,
    ratio_tables,
    ratio_title,
    score_title,
    write_missing_facts,
    write_sections,
    write_wrong_entries,
)
from midfold.redact import redact

_LINE_CHARS = 500


def print_report(report: Report, console: Console) -> None:
    """Print the methods side by side: as a whole, by kind, and after chains of folds."""
    console.print(Text(headline(report), style="bold"), soft_wrap=True)
    for ratio in dict.fromkeys(figures.ratio for figures in report.figures):
        figures = [one for one in report.figures if one.ratio == ratio]
        console.print(Text(f"\n{ratio_title(ratio)}", style="bold"), soft_wrap=True)
        for table in ratio_tables(figures):
            _print_table(table, console)
        console.print(Text(must_keep_note(figures[0]), style="dim"), soft_wrap=True)
    for ratio in dict.fromkeys(chain.ratio for chain in report.chains):
        chains = [chain for chain in report.chains if chain.ratio == ratio]
        console.print(Text(f"\n{chains_title(ratio)}", style="bold"), soft_wrap=True)
        _print_table(chain_table(chains), console)
    console.print(Text(f"\n{LIMITS}", style="dim"))


def print_studies(studies: Studies, console: Console, *, with_missing: bool = False) -> None:
    """Print the figures of each study, and every entry that was judged wrong."""
    for section in write_sections(studies):
        console.print(Text(f"\n{section.title}", style="bold"), soft_wrap=True)
        for table in section.tables:
            _print_table(table, console)
        for note in section.notes:
            console.print(Text(printable(note, _LINE_CHARS), style="dim"), soft_wrap=True)
    for score in studies.truth_scores:
        missing = write_missing_facts(score) if with_missing else []
        console.print(Text(f"\n{printable(score_title(score), _LINE_CHARS)}", style="bold"), soft_wrap=True)
        for line in [*write_wrong_entries(score), *(f"missing: {fact}" for fact in missing)]:
            console.print(Text(f"- {printable(redact(line), _LINE_CHARS)}"), soft_wrap=True)


def _print_table(table: Table, console: Console) -> None:
    rows = [[Text(printable(cell)) for cell in row] for row in table.rows]
    for line in Grid(table.headings, rows).lines(console.width):
        console.print(line, soft_wrap=True)
    console.print()
