"""What a run did, for people who were not there: figures as JSON, histograms as SVG and PNG."""

import json
from collections.abc import Iterator
from pathlib import Path

from midfold.files import replace_file
from midfold.trajectories.bitmap import draw_png
from midfold.trajectories.charts import Chart, Ink, Mark, Series, lay_out
from midfold.trajectories.drawing import draw_svg
from midfold.trajectories.metrics import AggregateMetrics
from midfold.trajectories.runs import Batch, BatchResult, SummaryBill

_KIBI = 1_024


def write_report(folder: Path, batch: Batch, result: BatchResult) -> tuple[Path, ...]:
    """Write report.json and a histogram each of tokens, ratio and turns; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"settings": batch.config.to_shown(), **as_values(result)}
    contents = {"report.json": json.dumps(values, indent=2).encode() + b"\n"}
    for name, chart in make_charts(result.totals.metrics, batch.config.target_max_tokens):
        shapes = lay_out(chart)
        contents[f"{name}.svg"] = draw_svg(shapes, chart.title)
        contents[f"{name}.png"] = draw_png(shapes)
    for name, data in contents.items():
        replace_file(folder / name, data)
    return tuple(folder / name for name in contents)


def as_values(result: BatchResult) -> dict[str, object]:
    """Return the facts of a run under the names that scripts rely on."""
    return {
        **result.totals.metrics.to_dict(),
        "written": result.totals.written,
        "listed": result.totals.listed,
        "files": result.files,
        "outputs": [str(path) for path in result.outputs],
        "rejects": str(result.listed) if result.listed else None,
        "resumed_rows": result.resumed_rows,
        "seconds": round(result.progress.seconds, 3),
        "rows_per_second": round(result.progress.rows_per_second, 1),
        "tokens_per_second": round(result.progress.tokens_per_second),
        "bill": _as_bill(result.totals.bill),
    }


def make_charts(metrics: AggregateMetrics, target_tokens: int) -> Iterator[tuple[str, Chart]]:
    """Yield the histograms, each with a name for its file."""
    before, after = metrics.histograms["tokens_before"], metrics.histograms["tokens_after"]
    series = (Series("before", before.counts, Ink.BEFORE), Series("after", after.counts, Ink.AFTER))
    mark = Mark(target_tokens, f"target {target_tokens:,}")
    yield (
        "tokens",
        Chart("Tokens of a trajectory", "tokens", before.edges, series, _spell_tokens, 4, mark),
    )
    ratio = metrics.histograms["compression_ratio"]
    yield (
        "ratio",
        Chart(
            "What is left of a compressed trajectory",
            "tokens after, as a part of those before",
            ratio.edges,
            (Series("compressed", ratio.counts, Ink.AFTER),),
            _spell_part,
            2,
        ),
    )
    turns = metrics.histograms["turns_removed"]
    yield (
        "turns",
        Chart(
            "Turns that a summary replaced",
            "turns fewer",
            turns.edges,
            (Series("compressed", turns.counts, Ink.AFTER),),
            _spell_number,
        ),
    )


def _as_bill(bill: SummaryBill) -> dict[str, object]:
    return {
        "calls": bill.calls,
        "input_tokens": bill.input_tokens,
        "output_tokens": bill.output_tokens,
        "dollars": float(bill.dollars),
        "unpriced_calls": bill.unpriced_calls,
    }


def _spell_tokens(value: float) -> str:
    """Spell octaves as people do: 512, 1k, 16k, 1,024k."""
    return f"{value / _KIBI:,.0f}k" if value >= _KIBI else f"{value:.0f}"


def _spell_part(value: float) -> str:
    return f"{value * 100:.0f} %"


def _spell_number(value: float) -> str:
    return f"{value:,.0f}"
