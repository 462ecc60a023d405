"""The window as a bar: what fills it, what is free, and where the next fold is due."""

from rich.text import Text

from midfold.cli.grid import Grid
from midfold.engines import ContextBreakdown, Section

SECTION_COLOURS = {
    Section.TOOLS: "blue",
    Section.SYSTEM: "cyan",
    Section.MEMORY: "bright_cyan",
    Section.HEAD: "green",
    Section.SUMMARY: "magenta",
    Section.MIDDLE: "yellow",
    Section.TAIL: "bright_green",
}
_SHORT_NAMES = {Section.TOOLS: "tools", Section.SYSTEM: "system"}
_BAR_CELLS = 32
_GAP = "  "


def context_bar(context: ContextBreakdown, cells: int = _BAR_CELLS) -> Text:
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


def context_line(context: ContextBreakdown, width: int) -> Text:
    """Say on one line what fills the window, as far as `width` goes; a figure is whole or absent."""
    line = context_bar(context, max(1, min(_BAR_CELLS, width // 3)))
    pieces = [Text(_GAP + _size(context))]
    for place, share in enumerate(context.sections):
        name = _SHORT_NAMES.get(share.section, str(share.section))
        piece = Text(_GAP if place == 0 else " · ", style="dim")
        pieces.append(piece.append(name, style=SECTION_COLOURS[share.section]).append(f" {share.tokens:,}"))
    for piece in pieces:
        if line.cell_len + piece.cell_len > width:
            break
        line.append_text(piece)
    return line


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


def _size(context: ContextBreakdown) -> str:
    if context.context_length is None:
        return f"{context.tokens:,} tokens"
    return f"{context.tokens / max(context.context_length, 1):.0%} of {context.context_length:,}"
