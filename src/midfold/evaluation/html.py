"""A report as one page that needs nothing else: tables, charts, light and dark."""

from collections.abc import Iterator, Sequence
from html import escape
from string import Template

from midfold.charts import Dot, LineSeries, draw_bars, draw_dots, draw_lines, read_style
from midfold.evaluation import study_tables, tables
from midfold.evaluation.cells import Table
from midfold.evaluation.probes import ProbeKind, Zone
from midfold.evaluation.report import MethodFigures, Report, in_context, in_zone
from midfold.evaluation.studies import Studies
from midfold.texts import read_text


def write_page(report: Report, studies: Studies | None = None) -> str:
    """Write the whole page."""
    template = Template(read_text("midfold.evaluation", "page.html"))
    body = [*_body(report), *_studies(studies or Studies())]
    return template.substitute(chart_style=read_style(), body="\n".join(body)) + "\n"


def _body(report: Report) -> Iterator[str]:
    if not report.figures:
        return
    yield _paragraph(tables.headline(report))
    for ratio in dict.fromkeys(figures.ratio for figures in report.figures):
        at_ratio = [figures for figures in report.figures if figures.ratio == ratio]
        names = [figures.method for figures in at_ratio]
        yield f"<h2>{escape(tables.ratio_title(ratio))}</h2>"
        yield _table(tables.main_table(at_ratio))
        yield _paragraph(tables.must_keep_note(at_ratio[0]))
        yield _table(tables.more_table(at_ratio))
        yield _table(tables.check_table(at_ratio))
        yield f"<h3>{escape(tables.KINDS_TITLE)}</h3>{_key(names)}{_bars(at_ratio)}"
        yield _table(tables.kind_table(at_ratio))
        yield _table(tables.family_table(at_ratio))
        yield f"<h3>{escape(tables.DOTS_TITLE)}</h3>{_key(names)}{draw_dots(_dots(report, ratio, names))}"
        yield _paragraph(tables.DOTS_NOTE)
    yield from _chains(report)
    yield _paragraph(tables.LIMITS)


def _studies(studies: Studies) -> Iterator[str]:
    for section in study_tables.write_sections(studies):
        yield f"<h2>{escape(section.title)}</h2>"
        yield from map(_table, section.tables)
        yield from map(_paragraph, section.notes)


def _bars(figures: Sequence[MethodFigures]) -> str:
    kinds = [kind for kind in ProbeKind if kind in figures[0].kinds]
    series = [LineSeries(one.method, [one.kinds[kind].verbatim for kind in kinds]) for one in figures]
    return draw_bars([tables.name_kind(kind) for kind in kinds], series)


def _dots(report: Report, ratio: float, names: Sequence[str]) -> list[Dot]:
    dots = []
    for score in report.scores:
        asked = in_zone(score, Zone.MIDDLE)
        if score.ratio == ratio and asked:
            kept = sum(map(in_context, asked)) / len(asked)
            label = tables.dot_label(score, kept)
            dots.append(Dot(names.index(score.method), score.tokens_after, kept, label))
    return dots


def _chains(report: Report) -> Iterator[str]:
    for ratio in dict.fromkeys(chain.ratio for chain in report.chains):
        chains = [chain for chain in report.chains if chain.ratio == ratio]
        names = list(dict.fromkeys(chain.method for chain in chains))
        lengths = list(dict.fromkeys(chain.length for chain in chains))
        series = [
            LineSeries(name, [chain.must_keep for chain in chains if chain.method == name]) for name in names
        ]
        yield f"<h2>{escape(tables.chains_title(ratio))}</h2>{_key(names)}"
        yield draw_lines([tables.name_length(length) for length in lengths], series)
        yield _table(tables.chain_table(chains))


def _table(table: Table) -> str:
    heading = "".join(f"<th>{escape(cell)}</th>" for cell in table.headings)
    rows = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in table.rows]
    lines = "".join(f"<tr>{row}</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{heading}</tr>{lines}</table></div>'


def _key(names: Sequence[str]) -> str:
    items = [
        f'<li><svg viewBox="0 0 10 10"><rect class="s{number}" width="10" height="10"/></svg>'
        f"{escape(name)}</li>"
        for number, name in enumerate(names)
    ]
    return f'<ul class="key">{"".join(items)}</ul>'


def _paragraph(words: str) -> str:
    return f"<p>{escape(words)}</p>" if words else ""
