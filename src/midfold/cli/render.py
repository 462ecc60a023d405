"""The sentences, tables and bars that people read. Text from a transcript never reaches the terminal raw."""

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from midfold.tokens.breakdown import Breakdown

if TYPE_CHECKING:
    from midfold.cli.inspect import Inspection

DIALECT_NAMES = {
    "openai_chat": "OpenAI chat",
    "openai_responses": "OpenAI Responses",
    "anthropic": "Anthropic Messages",
    "sharegpt": "ShareGPT",
}
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "white", "bright_black")
_BAR_CELLS = 64
_NAME_CELLS = 20
_MOST_TOOLS = 12
_MOST_FAULTS = 8
# Control characters, escape sequences with them, and the marks that turn the direction of text.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, most: int = 60) -> str:
    """Return `text` without anything that could steer a terminal, cut to `most` characters."""
    text = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
    return text if len(text) <= most else text[: most - 1] + "…"


def print_inspection(inspection: "Inspection", console: Console) -> None:
    """Print what fills the window: a headline, the window as a bar, and tables of who and what is in it."""
    breakdown = inspection.breakdown
    colours = {share.name: _COLOURS[place % len(_COLOURS)] for place, share in enumerate(breakdown.speakers)}
    console.print(_headline(inspection))
    console.print(_size_line(inspection))
    console.print(_window_bar(inspection, colours))
    tables = [_speaker_table(breakdown, colours), _kind_table(breakdown)]
    tables += [_tool_table(breakdown)] if breakdown.tools else []
    tables += [_largest_table(breakdown)] if breakdown.largest else []
    for table in tables:
        console.print()
        console.print(table)
    for line in _remarks(inspection):
        console.print(line, soft_wrap=True)


def _headline(inspection: "Inspection") -> Text:
    request = inspection.transcript.request
    facts = [
        DIALECT_NAMES[request.dialect],
        f"{len(request.messages):,} messages",
        printable(inspection.model) if inspection.model else "model not named",
    ]
    name = printable(PurePath(inspection.transcript.source).name)
    return Text.assemble((name, "bold"), "  ", (" · ".join(facts), "dim"))


def _size_line(inspection: "Inspection") -> Text:
    tokens, window = inspection.breakdown.tokens, inspection.window
    line = Text(f"{tokens:,} tokens", style="bold")
    if window is None:
        return line.append("; window unknown, set it with --context-length", style="dim not bold")
    full = tokens / window.tokens
    return line.append(
        f", {full:.0%} of the window of {window.tokens:,}", style="red" if full > 1 else "not bold"
    )


def _window_bar(inspection: "Inspection", colours: dict[str, str]) -> Text:
    """Draw the window; what is not filled stays empty. Without a known window the bar is the request."""
    breakdown, window = inspection.breakdown, inspection.window
    whole = max(window.tokens if window else 0, breakdown.tokens, 1)
    bar = Text()
    reached = 0
    for share in breakdown.speakers:
        reached += share.tokens
        bar.append("█" * (round(reached / whole * _BAR_CELLS) - len(bar)), style=colours[share.name])
    return bar.append("░" * (_BAR_CELLS - len(bar)), style="bright_black")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column(headings[0], min_width=_NAME_CELLS, no_wrap=True)
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _speaker_table(breakdown: Breakdown, colours: dict[str, str]) -> Table:
    table = _table("who", "tokens", "share", "messages")
    for share in breakdown.speakers:
        name = Text.assemble(("■ ", colours[share.name]), printable(share.name))
        table.add_row(name, *_figures(share.tokens, breakdown.tokens), _count_or_blank(share.items))
    return table


def _kind_table(breakdown: Breakdown) -> Table:
    table = _table("what", "tokens", "share", "parts")
    for share in breakdown.kinds:
        table.add_row(share.name, *_figures(share.tokens, breakdown.tokens), _count_or_blank(share.items))
    return table


def _tool_table(breakdown: Breakdown) -> Table:
    table = _table("tool", "tokens", "share", "calls", "in calls", "in results", "largest")
    for tool in breakdown.tools[:_MOST_TOOLS]:
        rest = (tool.calls, tool.call_tokens, tool.result_tokens, tool.largest_result_tokens)
        name = printable(tool.name, _NAME_CELLS + 8)
        table.add_row(name, *_figures(tool.tokens, breakdown.tokens), *(f"{count:,}" for count in rest))
    others = breakdown.tools[_MOST_TOOLS:]
    if others:
        table.add_row(f"{len(others)} more", *_figures(sum(tool.tokens for tool in others), breakdown.tokens))
    return table


def _largest_table(breakdown: Breakdown) -> Table:
    table = _table("largest messages", "tokens", "share")
    table.add_column("holds", no_wrap=True)
    for sized in breakdown.largest:
        figures = _figures(sized.tokens, breakdown.tokens)
        table.add_row(f"message {sized.index}", *figures, printable(sized.holds))
    return table


def _remarks(inspection: "Inspection") -> list[Text]:
    lines = [Text(f"note: {printable(note, 200)}", style="dim") for note in inspection.transcript.notes]
    faults = inspection.faults
    if faults:
        plural = "s" if len(faults) > 1 else ""
        lines.append(
            Text(f"\n{len(faults)} fault{plural} for which the provider would refuse it:", style="yellow")
        )
        lines += [Text(f"  {printable(str(fault), 160)}") for fault in faults[:_MOST_FAULTS]]
    if len(faults) > _MOST_FAULTS:
        lines.append(Text(f"  and {len(faults) - _MOST_FAULTS} more; --json lists them all", style="dim"))
    return lines


def _figures(part: int, whole: int) -> tuple[str, str]:
    return f"{part:,}", f"{part / whole:.1%}" if whole else ""


def _count_or_blank(items: int) -> str:
    return f"{items:,}" if items else ""
