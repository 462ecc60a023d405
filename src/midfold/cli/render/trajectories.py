"""A run over many trajectories for a terminal: its progress, and its results."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log2
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from midfold.cli.terminal import printable
from midfold.trajectories import AggregateMetrics, BatchProgress, BatchResult, SummaryBill

_SECONDS_BETWEEN_LINES = 10.0
_BAR_CELLS = 24
_NAME_CELLS = 19
_PATH_CHARS = 200
_LEAST_OCTAVE = 10


@contextmanager
def show_progress(console: Console) -> Iterator[Callable[[BatchProgress], None]]:
    """Show how far a run is: a bar on a terminal, a line now and then in a log."""
    if not console.is_terminal:
        yield _log_progress(console)
        return
    columns = (TextColumn("{task.percentage:>3.0f} %"), BarColumn(), TextColumn("{task.description}"))
    bar = Progress(*columns, console=console, transient=True)
    shown = bar.add_task("starting", total=1.0)

    def watch(progress: BatchProgress) -> None:
        bar.start()  # not before: it has a thread, and beside one no worker can be forked
        bar.update(shown, completed=progress.part, description=describe_progress(progress))

    try:
        yield watch
    finally:
        bar.stop()


def describe_progress(progress: BatchProgress) -> str:
    """Say in one line how far a run is, how fast, how long it will take, and what it has cost."""
    metrics = progress.totals.metrics
    words = [
        _count_of(metrics.rows, "row"),
        f"{progress.rows_per_second:,.0f} rows/s",
        f"{format_count(progress.tokens_per_second)} tokens/s",
    ]
    if progress.seconds_left is not None:
        words.append(f"{format_seconds(progress.seconds_left)} left")
    if progress.totals.bill.calls:
        words.append(format_bill(progress.totals.bill))
    return ", ".join(words)


def print_result(result: BatchResult, console: Console, *, is_dry_run: bool, report: Path | None) -> None:
    """Print what became of the rows, how many tokens there were and are, and where everything is."""
    for name, words in _lines(result, is_dry_run=is_dry_run):
        line = Text.assemble((f"{name:<{_NAME_CELLS}}", "dim"), printable(words, _PATH_CHARS))
        console.print(line, soft_wrap=True)
    console.print()
    for bars in _histogram(result):
        console.print(Text(bars), soft_wrap=True)
    for each in result.examples:
        where = f"{each.file}:{each.line}: {each.status}: {each.reason}"
        console.print(Text(printable(where, _PATH_CHARS)), style="dim", soft_wrap=True)
    if result.totals.listed > len(result.examples):
        more = f"and {result.totals.listed - len(result.examples):,} more"
        console.print(Text(more), style="dim", soft_wrap=True)
    if report:
        console.print(Text(f"report: {printable(str(report), _PATH_CHARS)}"), soft_wrap=True)


def format_count(number: float) -> str:
    """Format a large number with its informative digits."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"


def format_seconds(seconds: float) -> str:
    """Format a time to come: 42 s, 3 min, 5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def format_bill(bill: SummaryBill) -> str:
    """Format the cost of models so far; calls without a price are said to have none."""
    calls = _count_of(bill.calls, "call")
    if bill.unpriced_calls == bill.calls:
        return f"{calls}, cost unknown"
    dollars = f"${bill.dollars:,.2f}" if bill.dollars >= 1 else f"${bill.dollars:.4f}"
    unpriced = f" and {_count_of(bill.unpriced_calls, 'call')} of unknown cost"
    return f"{calls}, {dollars}{unpriced if bill.unpriced_calls else ''}"


def _count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _log_progress(console: Console) -> Callable[[BatchProgress], None]:
    said = time.monotonic()

    def watch(progress: BatchProgress) -> None:
        nonlocal said
        if time.monotonic() - said >= _SECONDS_BETWEEN_LINES:
            said = time.monotonic()
            console.print(Text(f"{progress.part:.0%}  {describe_progress(progress)}"), soft_wrap=True)

    return watch


def _lines(result: BatchResult, *, is_dry_run: bool) -> Iterator[tuple[str, str]]:
    metrics, progress = result.totals.metrics, result.progress
    would = "would be " if is_dry_run else ""
    yield "rows", f"{metrics.rows:,} in {_count_of(result.files, 'file')}"
    if result.resumed_rows:
        yield "resumed", f"{_count_of(result.resumed_rows, 'row')} done before"
    yield "compressed", f"{would}{metrics.compressed:,}"
    yield "fit already", f"{metrics.skipped:,}"
    yield "over the target", f"{metrics.over_limit:,}{_say_compressed_too(metrics)}"
    if metrics.kept:
        yield "kept as they were", f"{metrics.kept:,}"
    yield "rejected", f"{metrics.rejected:,}"
    if metrics.losses:
        yield "not converted", _format_counts(metrics.losses)
    if metrics.unknown_speakers:
        yield "speakers unknown", _format_counts(metrics.unknown_speakers)
    ratio = f", {metrics.compression_ratio:.0%} of them" if metrics.original_tokens else ""
    yield "tokens", f"{metrics.original_tokens:,} → {metrics.compressed_tokens:,}{ratio}"
    yield "turns", f"{metrics.original_turns:,} → {metrics.compressed_turns:,}"
    speed = f"{progress.rows_per_second:,.0f} rows/s, {format_count(progress.tokens_per_second)} tokens/s"
    yield "time", f"{progress.seconds:,.1f} s, {speed}"
    if result.totals.bill.calls:
        yield "models", format_bill(result.totals.bill)
    if result.outputs:
        more = f" and {len(result.outputs) - 1:,} more" if len(result.outputs) > 1 else ""
        yield "written", f"{_count_of(result.totals.written, 'row')} to {result.outputs[0]}{more}"
    if result.listed:
        yield "listed", f"{_count_of(result.totals.listed, 'row')} in {result.listed}"


def _format_counts(counts: Mapping[str, int]) -> str:
    """Name things by how often they occur, the most frequent first."""
    return ", ".join(f"{name} x {counts[name]:,}" for name in sorted(counts, key=lambda name: -counts[name]))


def _say_compressed_too(metrics: AggregateMetrics) -> str:
    """Say how many rows over the target are among the compressed ones, as the figures add up only then."""
    others = metrics.rows - metrics.compressed - metrics.skipped - metrics.kept - metrics.rejected
    both = metrics.over_limit - others
    return f", of which {both:,} are among the compressed" if both > 0 else ""


def _histogram(result: BatchResult) -> Iterator[str]:
    """Draw how large the trajectories were and are, by powers of two."""
    histograms = result.totals.metrics.histograms
    edges = histograms["tokens_before"].edges
    before = _by_octave(edges, histograms["tokens_before"].counts)
    after = _by_octave(edges, histograms["tokens_after"].counts)
    used = [octave for octave in before if before[octave] or after[octave]]
    if not used:
        return
    most = max(*before.values(), *after.values())
    yield f"{'tokens':>12}  {'before':<{_BAR_CELLS + 8}}after"
    for octave in range(used[0], used[-1] + 1):
        span = _format_span(octave, min(before), max(before))
        bars = f"{_bar(before[octave], most):<{_BAR_CELLS + 8}}{_bar(after[octave], most)}"
        yield f"{span:>12}  {bars}".rstrip()


def _by_octave(edges: Sequence[float], counts: Sequence[int]) -> Counter[int]:
    """Add up the bins of each power of two; four of them make one."""
    octaves: Counter[int] = Counter()
    for edge, count in zip(edges, counts, strict=False):
        octaves[round(4 * log2(edge)) // 4] += count
    return octaves


def _bar(count: int, most: int) -> str:
    return f"{'█' * -(-count * _BAR_CELLS // most)} {count:,}" if count else ""


def _format_span(octave: int, first: int, last: int) -> str:
    """Name a power of two; whatever is smaller or larger than all of them is in the outermost."""
    if octave == first:
        return f"below {_format_octave(octave + 1)}"
    if octave == last:
        return f"over {_format_octave(octave)}"
    return f"{_format_octave(octave)} to {_format_octave(octave + 1)}"


def _format_octave(octave: int) -> str:
    return f"{2 ** (octave - _LEAST_OCTAVE)}k" if octave >= _LEAST_OCTAVE else str(2**octave)
