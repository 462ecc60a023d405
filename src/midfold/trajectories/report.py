"""The report on a run, for people who were not there: figures as JSON, histograms as SVG."""

import json
from collections.abc import Iterator
from pathlib import Path

from midfold.charts import HistogramChart, HistogramSeries, Marker, draw_histogram
from midfold.files import replace_file
from midfold.trajectories.metrics import AggregateMetrics
from midfold.trajectories.runs import Batch, BatchResult, SummaryBill

_KIBI = 1_024
_UNIT = "trajectories"


def write_report(folder: Path, batch: Batch, result: BatchResult) -> tuple[Path, ...]:
    """Write report.json and a histogram each of tokens, ratio and turns; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {"settings": batch.config.to_shown(), **as_values(result)}
    contents = {"report.json": json.dumps(values, indent=2).encode() + b"\n"}
    for name, chart in make_charts(result.totals.metrics, batch.config.target_max_tokens):
        contents[f"{name}.svg"] = draw_histogram(chart).encode()
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


def make_charts(metrics: AggregateMetrics, target_tokens: int) -> Iterator[tuple[str, HistogramChart]]:
    """Yield the histograms, each with a name for its file."""
    before, after = metrics.histograms["tokens_before"], metrics.histograms["tokens_after"]
    yield (
        "tokens",
        HistogramChart(
            "Tokens of a trajectory",
            "tokens",
            _UNIT,
            before.edges,
            (HistogramSeries("before", before.counts, "past"), HistogramSeries("after", after.counts)),
            _format_tokens,
            4,
            Marker(target_tokens, f"target {target_tokens:,}"),
        ),
    )
    ratio = metrics.histograms["compression_ratio"]
    yield (
        "ratio",
        HistogramChart(
            "What is left of a compressed trajectory",
            "tokens after, as a part of those before",
            _UNIT,
            ratio.edges,
            (HistogramSeries("compressed", ratio.counts),),
            lambda part: f"{part * 100:.0f} %",
            2,
        ),
    )
    turns = metrics.histograms["turns_removed"]
    yield (
        "turns",
        HistogramChart(
            "Turns that a summary replaced",
            "turns fewer",
            _UNIT,
            turns.edges,
            (HistogramSeries("compressed", turns.counts),),
            lambda count: f"{count:,.0f}",
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


def _format_tokens(value: float) -> str:
    """Write octaves as people do: 512, 1k, 16k, 1,024k."""
    return f"{value / _KIBI:,.0f}k" if value >= _KIBI else f"{value:.0f}"
