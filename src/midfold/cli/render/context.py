"""The content of the window: as a bar, on one line, and as tables by section and by tool."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from midfold.cli.render.format import count_of
from midfold.cli.render.grid import Grid
from midfold.cli.render.report import print_report
from midfold.cli.terminal import printable
from midfold.engines import ContextBreakdown, Section
from midfold.tokens import Breakdown
from midfold.wire import get_dialect

if TYPE_CHECKING:
    from midfold.cli.commands.inspect import Inspection

SECTION_COLOURS = {
    Section.TOOLS: "blue",
    Section.SYSTEM: "cyan",
    Section.MEMORY: "bright_cyan",
    Section.HEAD: "green",
    Section.SUMMARY: "magenta",
    Section.MIDDLE: "yellow",
    Section.TAIL: "bright_green",
}


def context_bar(context: ContextBreakdown, cells: int) -> Text:
    """Draw the window; where its size is not known, the bar is the request. A `|` is the threshold."""
    whole = max(context.context_length or 0, context.tokens, 1)
    bar = Text()
    reached = 0
    for share in context.sections:
        reached += share.tokens
        bar.append("█" * (round(reached / whole * cells) - len(bar)), style=SECTION_COLOURS[share.section])
    free = "░" * (cells - len(bar))
    if context.threshold_tokens is not None:
        due = round(context.threshold_tokens / whole * cells) - len(bar)
        free = f"{free[:due]}|{free[due + 1 :]}" if 0 <= due < len(free) else free
    return bar.append(free, style="bright_black")


def section_grid(context: ContextBreakdown) -> Grid:
    """List the sections as a table."""
    rows = [
        [
            Text.assemble(("■ ", SECTION_COLOURS[share.section]), str(share.section)),
            Text(f"{share.tokens:,}"),
            Text(f"{share.tokens / context.tokens:.1%}" if context.tokens else ""),
            Text(f"{share.messages:,}" if share.messages else ""),
        ]
        for share in context.sections
    ]
    return Grid(("section", "tokens", "share", "messages"), rows)


__all__ = ["print_inspection", "print_inspections", "printable"]

_WHOSE_RULES = {
    "openai": "OpenAI",
    "azure": "Azure",
    "anthropic": "Anthropic",
    "bedrock": "Bedrock",
    "mistral": "Mistral",
    "ollama": "Ollama",
    "gemini": "Gemini",
    "deepseek": "DeepSeek",
    "kimi": "Kimi",
    "minimax": "MiniMax",
}
_SPEAKER_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red", "white", "bright_black")
_MOST_BAR_CELLS = 64
_MOST_NAME_CELLS = 28
_MOST_FILE_CELLS = 60
_MOST_TOOLS = 12
_MOST_FAULTS = 8


def print_inspection(inspection: "Inspection", console: Console) -> None:
    """Print what fills the window: a headline, the window as a bar, and tables of who and what is in it."""
    breakdown = inspection.breakdown
    colours = {
        share.name: _SPEAKER_COLOURS[index % len(_SPEAKER_COLOURS)]
        for index, share in enumerate(breakdown.speakers)
    }
    headline = [
        _headline(inspection),
        _size_line(inspection),
        _window_bar(inspection, colours, min(_MOST_BAR_CELLS, console.width)),
    ]
    tables = [section_grid(inspection.context)] if inspection.context.has_summary else []
    tables += [_speaker_table(breakdown, colours), _kind_table(breakdown)]
    tables += [_tool_table(breakdown)] if breakdown.tools else []
    tables += [_largest_table(breakdown)] if breakdown.largest else []
    rows = [line for table in tables for line in (Text(), *table.lines(console.width))]
    print_report([*headline, *rows, *_remarks(inspection)], console, headline=headline[1:])


def print_inspections(inspections: "Sequence[Inspection]", console: Console) -> None:
    """Print a line for each of several transcripts."""
    rows = [
        _row(
            printable(PurePath(inspection.transcript.source).name, _MOST_FILE_CELLS),
            f"{inspection.breakdown.tokens:,}",
            _fullness(inspection),
            f"{len(inspection.transcript.request.messages):,}",
            printable(_title(inspection), _MOST_FILE_CELLS),
        )
        for inspection in inspections
    ]
    grid = Grid(("file", "tokens", "of window", "messages", "title"), rows, words=(0, 4))
    for line in grid.lines(console.width):
        console.print(line, soft_wrap=True)


def _fullness(inspection: "Inspection") -> str:
    window = inspection.window
    return f"{inspection.breakdown.tokens / window.tokens:.0%}" if window else ""


def _title(inspection: "Inspection") -> str:
    session = inspection.transcript.session
    return (session.facts.title if session else None) or ""


def _headline(inspection: "Inspection") -> Text:
    request = inspection.transcript.request
    facts = [
        get_dialect(request.dialect).label,
        count_of(len(request.messages), "message"),
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


def _window_bar(inspection: "Inspection", colours: dict[str, str], cells: int) -> Text:
    """Draw the window; what is not filled stays empty. Without a known window the bar is the request."""
    breakdown, window = inspection.breakdown, inspection.window
    whole = max(window.tokens if window else 0, breakdown.tokens, 1)
    bar = Text()
    reached = 0
    for share in breakdown.speakers:
        reached += share.tokens
        bar.append("█" * (round(reached / whole * cells) - len(bar)), style=colours[share.name])
    return bar.append("░" * (cells - len(bar)), style="bright_black")


def _speaker_table(breakdown: Breakdown, colours: dict[str, str]) -> Grid:
    rows = [
        _row(
            Text.assemble(("■ ", colours[share.name]), printable(share.name)),
            *_figures(share.tokens, breakdown.tokens),
            _count_or_blank(share.items),
        )
        for share in breakdown.speakers
    ]
    return Grid(("who", "tokens", "share", "messages"), rows)


def _kind_table(breakdown: Breakdown) -> Grid:
    rows = [
        _row(share.name, *_figures(share.tokens, breakdown.tokens), _count_or_blank(share.items))
        for share in breakdown.kinds
    ]
    return Grid(("what", "tokens", "share", "parts"), rows)


def _tool_table(breakdown: Breakdown) -> Grid:
    rows = []
    for tool in breakdown.tools[:_MOST_TOOLS]:
        name = printable(tool.name, _MOST_NAME_CELLS)
        rest = (tool.calls, tool.call_tokens, tool.result_tokens, tool.largest_result_tokens)
        rows.append(_row(name, *_figures(tool.tokens, breakdown.tokens), *(f"{count:,}" for count in rest)))
    others = breakdown.tools[_MOST_TOOLS:]
    if others:
        tokens = sum(tool.tokens for tool in others)
        rows.append(_row(f"{len(others)} more", *_figures(tokens, breakdown.tokens)))
    headings = ("tool", "tokens", "share", "calls", "in calls", "in results", "largest")
    return Grid(headings, rows)


def _largest_table(breakdown: Breakdown) -> Grid:
    rows = [
        _row(f"message {sized.index}", *_figures(sized.tokens, breakdown.tokens), printable(sized.holds))
        for sized in breakdown.largest
    ]
    return Grid(("largest messages", "tokens", "share", "holds"), rows, words=(0, 3))


def _row(*cells: str | Text) -> list[Text]:
    return [cell if isinstance(cell, Text) else Text(cell) for cell in cells]


def _remarks(inspection: "Inspection") -> list[Text]:
    lines = [Text(f"note: {printable(note, 200)}", style="dim") for note in inspection.transcript.notes]
    faults = inspection.faults
    if faults:
        plural = "s" if len(faults) > 1 else ""
        whose = _WHOSE_RULES.get(inspection.profile, inspection.profile)
        lines += [Text(), Text(f"{len(faults)} fault{plural} by {whose}'s rules:", style="yellow")]
        lines += [Text(f"  {printable(str(fault), 160)}") for fault in faults[:_MOST_FAULTS]]
    if len(faults) > _MOST_FAULTS:
        lines.append(Text(f"  and {len(faults) - _MOST_FAULTS} more; --json lists them all", style="dim"))
    return lines


def _figures(part: int, whole: int) -> tuple[str, str]:
    return f"{part:,}", f"{part / whole:.1%}" if whole else ""


def _count_or_blank(items: int) -> str:
    return f"{items:,}" if items else ""
