"""A compression for a terminal: before and after by index."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from midfold.cli.terminal import printable
from midfold.folding import Compression, Fate
from midfold.late_dataclasses import dataclass
from midfold.summaries import Retention

if TYPE_CHECKING:
    from midfold.folding import Loss

_BAR_CELLS = 64
_STYLES = {"keep": "green", "shorten": "cyan", "fold": "magenta"}
_CELLS = {"keep": "█", "shorten": "▒", "fold": "░"}
"""a fate is seen without colours, too"""
LEGEND = Text("  ").join(
    Text.assemble((_CELLS[fate], _STYLES[fate]), f" {word}")
    for fate, word in (("keep", "kept"), ("shorten", "shortened"), ("fold", "folded"))
)
"""the cells of `index_bar`, with what they stand for"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring messages with the same fate."""

    fate: str
    start: int
    stop: int

    @property
    def label(self) -> str:
        return f"{self.start}" if self.stop - self.start == 1 else f"{self.start}–{self.stop - 1}"


def stretches(result: Compression[object]) -> Iterator[Stretch]:
    """Yield the old list as stretches of kept, shortened and folded messages."""
    fates, summaries = result.fates, _summary_indices(result)
    start = 0
    for index in range(1, len(fates) + 1):
        if index == len(fates) or fates[index] is not fates[start] or index in summaries:
            yield Stretch(_VERBS[fates[start]], start, index)
            start = index


_VERBS = {Fate.FOLDED: "fold", Fate.SHORTENED: "shorten", Fate.KEPT: "keep"}


def _summary_indices(result: Compression[object]) -> frozenset[int]:
    """Return the indices of the old list before which a summary comes in."""
    replacements = result.fold.replacements if result.fold else ()
    return frozenset(each.span.start for each in replacements if each.message is not None)


def print_compression(result: Compression[object], source: str, elapsed_ms: float, console: Console) -> None:
    """Print the outcome in three lines, and a warning where there is one."""
    console.print(Text.assemble((printable(PurePath(source).name), "bold"), "  ", result.headline))
    if result.changed:
        saved = f"saved {result.saved_tokens:,} in {elapsed_ms / 1000:.1f} s"
        console.print(f"{result.tokens_before:,} → {result.tokens_after:,} tokens, {saved}", soft_wrap=True)
        console.print(_describe_method(result), style="dim", soft_wrap=True)
        if result.retention and result.retention.facts:
            console.print(_kept(result.retention), style="dim", soft_wrap=True)
    else:
        console.print(f"{result.tokens_before:,} tokens (unchanged): {result.reason}", soft_wrap=True)
    if result.warning:
        console.print(f"warning: {printable(result.warning, 300)}", style="yellow", soft_wrap=True)


def print_plan(result: Compression[object], source: str, console: Console) -> None:
    """Print what would become of each stretch of the list."""
    console.print(Text.assemble((printable(PurePath(source).name), "bold"), "  ", result.headline))
    console.print(f"{result.tokens_before:,} → {result.tokens_after:,} tokens of {result.budget_tokens:,}")
    if not result.changed:
        console.print(result.reason)
        return
    console.print(index_bar(result))
    console.print()
    console.print(stretch_table(result))


def print_losses(losses: "Sequence[Loss]", console: Console) -> None:
    """List what left the context, and say how to get it back."""
    if not losses:
        console.print("everything that matters is still in the context, word for word")
        return
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("message", justify="right", no_wrap=True, min_width=len("message"))
    table.add_column("what", style="dim", no_wrap=True, min_width=len("changed file"))
    table.add_column("left the context", overflow="ellipsis", no_wrap=True, ratio=1)
    for loss in losses:
        table.add_row(str(loss.index), loss.kind, Text(printable(loss.what)))
    console.print(table)
    console.print("all of it is still in the input, at these messages", style="dim")


def index_bar(result: Compression[object]) -> Text:
    """Draw the old list from left to right, each stretch in the colour of its fate."""
    total = len(result.before)
    bar = Text()
    for stretch in stretches(result):
        cells = round(stretch.stop / total * _BAR_CELLS) - len(bar)
        bar.append(_CELLS[stretch.fate] * max(cells, 0), style=_STYLES[stretch.fate])
    return bar


def stretch_table(result: Compression[object]) -> Table:
    """List the stretches; the summary stands where it comes in."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for heading in ("messages", "what happens"):
        table.add_column(heading)
    summaries = _summary_indices(result)
    for stretch in stretches(result):
        if stretch.start in summaries:
            words = f", {result.model_tokens:,} of them a model's words" if result.model_tokens else ""
            table.add_row("", Text(f"+ summary, {result.summary_tokens:,} tokens{words}", style="bold"))
        table.add_row(stretch.label, Text(stretch.fate, style=_STYLES[stretch.fate]))
    return table


def _kept(retention: Retention) -> str:
    said = f"{retention.kept:,} of {retention.facts:,} facts that must survive are there word for word"
    invented = f"; {len(retention.invented)} without a source" if retention.invented else ""
    return f"{said}{invented}"


def _describe_method(result: Compression[object]) -> str:
    spans = ", ".join(f"{span.start}–{span.stop - 1}" for span in result.folded)
    if result.summarizer:
        return f"messages {spans} folded by the {result.summarizer} into {result.summary_tokens:,} tokens"
    pruned = result.pruned
    counts = f"{pruned.results} results, {pruned.duplicates} duplicates, {pruned.arguments} arguments"
    return f"shortened, nothing folded: {counts}"
