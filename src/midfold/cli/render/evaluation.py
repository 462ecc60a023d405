"""How an evaluation looks in a terminal."""

from rich.console import Console
from rich.text import Text

from midfold.cli.render.grid import Grid
from midfold.cli.terminal import printable
from midfold.evaluation import Report, Table, wording


def print_report(report: Report, console: Console) -> None:
    """Print the methods side by side: as a whole, by kind, and after chains of folds."""
    console.print(Text(wording.headline(report), style="bold"), soft_wrap=True)
    for ratio in dict.fromkeys(figures.ratio for figures in report.figures):
        figures = [one for one in report.figures if one.ratio == ratio]
        console.print(Text(f"\n{wording.ratio_title(ratio)}", style="bold"), soft_wrap=True)
        for table in wording.ratio_tables(figures):
            _print_table(table, console)
        console.print(Text(wording.must_keep_note(figures[0]), style="dim"), soft_wrap=True)
    for ratio in dict.fromkeys(chain.ratio for chain in report.chains):
        chains = [chain for chain in report.chains if chain.ratio == ratio]
        console.print(Text(f"\n{wording.chains_title(ratio)}", style="bold"), soft_wrap=True)
        _print_table(wording.chain_table(chains), console)
    console.print(Text(f"\n{wording.LIMITS}", style="dim"))


def _print_table(table: Table, console: Console) -> None:
    rows = [[Text(printable(cell)) for cell in row] for row in table.rows]
    for line in Grid(table.headings, rows).lines(console.width):
        console.print(line, soft_wrap=True)
    console.print()
