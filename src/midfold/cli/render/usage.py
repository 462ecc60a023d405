"""Usage for a terminal: tokens, cost, and the gain of the cache and the folds."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from midfold.cli.conversations import ID_CHARS
from midfold.cli.render.format import format_date, format_dollars, format_time, show_line
from midfold.cli.render.grid import Grid
from midfold.cli.render.report import print_report
from midfold.tokens import Amount, CanonicalUsage, Savings, ToolShare
from midfold.usage import Bill, Group, Insights, SessionUsage, Totals, by_bucket

_COLOURS = {"from the cache": "cyan", "into the cache": "yellow", "fresh input": "magenta", "output": "green"}
_RATE_CELLS = 20
_MOST_BAR_CELLS = 40
_LEAST_BAR_CELLS = 8
_GAP_CELLS = 2
_WIDEST_CELLS = 10_000
"""No table is shortened that may be this wide."""
_MOST_NAME_CELLS = 36
_MOST_TOOLS = 10


def format_bill(bill: Bill) -> str:
    """Format the cost of calls, and what is missing from it."""
    if bill.dollars is None:
        return "cost unknown"
    if bill.is_complete:
        return format_dollars(bill.dollars)
    missing = [f"{bill.unknown:,} of unknown cost"] if bill.unknown else []
    missing += [f"{bill.partial:,} priced in part"] if bill.partial else []
    return f"at least {format_dollars(bill.dollars)} (calls: {', '.join(missing)})"


def totals_lines(totals: Totals) -> Iterator[Text]:
    """Yield the sum in a few lines: tokens and cost, the cache, the folds."""
    calls = "1 call" if totals.calls == 1 else f"{totals.calls:,} calls"
    line = Text(f"{totals.usage.total_tokens:,} tokens", style="bold")
    yield line.append(f" reported in {calls}, {format_bill(totals.bill)}", style="not bold")
    yield _cache_line(totals)
    if totals.compressions:
        yield _fold_line(totals)
        yield Text(_fold_parts(totals.savings), style="dim")


def bucket_grid(usage: CanonicalUsage) -> Grid:
    """List tokens by bucket; what is part of another bucket stands beside it."""
    beside = {
        "into the cache": _format_part(usage.cache_write_1h_tokens, "for an hour"),
        "output": _format_part(usage.reasoning_tokens, "thinking"),
    }
    rows = [
        [
            Text.assemble(("■ ", _COLOURS[name]), name),
            Text(f"{tokens:,}"),
            Text(f"{tokens / usage.total_tokens:.1%}" if usage.total_tokens else ""),
            Text(beside.get(name, ""), style="dim"),
        ]
        for name, tokens in by_bucket(usage).items()
    ]
    return Grid(("tokens", "", "share", ""), rows, words=(0, 3))


def group_grid(heading: str, groups: Sequence[Group], width: int) -> Grid:
    """List groups with their figures, and a bar each where there is room for one."""
    rows = [
        [
            Text(show_line(group.name, _MOST_NAME_CELLS)),
            Text(f"{group.totals.usage.total_tokens:,}" if group.totals.calls else ""),
            Text(_format_cost(group.totals)),
            Text(f"{group.totals.usage.cache_hit_rate:.0%}" if group.totals.usage.prompt_tokens else ""),
            Text(f"{group.totals.savings.net.tokens:,}" if group.totals.savings.net.tokens else ""),
        ]
        for group in groups
    ]
    figures = Grid((heading, "tokens", "cost", "cached", "net saved"), rows)
    taken = max(line.cell_len for line in figures.lines(_WIDEST_CELLS))
    cells = min(_MOST_BAR_CELLS, width - taken - _GAP_CELLS)
    if cells < _LEAST_BAR_CELLS:
        return figures
    most = max([group.totals.usage.total_tokens for group in groups], default=0)
    bars = [_stacked_bar(group.totals.usage, most, cells) for group in groups]
    with_bars = [[*row, bar] for row, bar in zip(rows, bars, strict=True)]
    return Grid((*figures.headings, ""), with_bars, words=(0, 5))


def tool_grid(tools: Sequence[ToolShare]) -> Grid:
    """List the tools that brought the most."""
    rows = [
        [
            Text(show_line(tool.name, _MOST_NAME_CELLS)),
            *(
                Text(f"{figure:,}")
                for figure in (tool.tokens, tool.calls, tool.result_tokens, tool.largest_result_tokens)
            ),
        ]
        for tool in tools[:_MOST_TOOLS]
    ]
    return Grid(("biggest tools", "counted", "calls", "in results", "largest"), rows)


def bar_legend() -> Text:
    """Explain the colours of the bars."""
    legend = Text()
    for name, colour in _COLOURS.items():
        legend.append("■ ", style=colour).append(f"{name}  ", style="dim")
    legend.rstrip()
    return legend


def _format_part(tokens: int, what: str) -> str:
    return f"{tokens:,} of it {what}" if tokens else ""


def _format_cost(totals: Totals) -> str:
    if not totals.calls:
        return ""
    least = "from " if totals.bill.dollars is not None and not totals.bill.is_complete else ""
    return least + format_dollars(totals.bill.dollars)


def _cache_line(totals: Totals) -> Text:
    rate = totals.usage.cache_hit_rate
    filled = round(rate * _RATE_CELLS)
    line = Text("█" * filled, style="cyan").append("░" * (_RATE_CELLS - filled), style="bright_black")
    line.append(f" {rate:.0%} of the input from the cache", style="default")
    saved = totals.cache_saving
    if not rate or saved is None:
        return line
    words = f", saved {format_dollars(saved)}" if saved >= 0 else f", cost {format_dollars(-saved)} more"
    return line.append(words, style="default")


def _fold_line(totals: Totals) -> Text:
    times = "1 compression" if totals.compressions == 1 else f"{totals.compressions:,} compressions"
    net = totals.savings.net
    if not totals.savings.saved.tokens:
        return Text(f"{times}, no call since")
    words = f"{net.tokens:,} tokens saved" if net.tokens >= 0 else f"{-net.tokens:,} tokens more than without"
    return Text(f"{times}, net of all costs {words}{_format_net(net)}")


def _format_net(net: Amount) -> str:
    if net.cost.dollars is None:
        return ", in dollars unknown"
    least = "" if net.cost.is_complete else "at least "
    if net.cost.dollars < 0:
        return f", {format_dollars(-net.cost.dollars)} more spent"
    return f", {least}{format_dollars(net.cost.dollars)} less spent"


def _fold_parts(savings: Savings) -> str:
    costs = [f"{tokens:,} {what}" for tokens, what in _costs(savings) if tokens]
    return f"{savings.saved.tokens:,} left out{', less ' if costs else ''}{', '.join(costs)}"


def _costs(savings: Savings) -> Iterator[tuple[int, str]]:
    yield savings.cache_loss.tokens, "no longer cached"
    yield savings.summaries.tokens, "for summaries"
    yield savings.reread.tokens, "read again"


def _stacked_bar(usage: CanonicalUsage, most: int, cells: int) -> Text:
    bar = Text()
    reached = 0
    for name, tokens in by_bucket(usage).items():
        reached += tokens
        bar.append("█" * (round(reached / max(most, 1) * cells) - len(bar)), style=_COLOURS[name])
    return bar


def print_session_usage(report: SessionUsage, console: Console) -> None:
    """Print what a session used."""
    headline = [_headline(report)]
    headline += totals_lines(report.totals) if report.totals.calls else [Text(_without_calls(report))]
    lines = [line for grid in _usage_grids(report, console.width) for line in (Text(), *grid)]
    if report.cache_busts:
        causes = ", ".join(f"{show_line(cause)} {count}" for cause, count in report.cache_busts.items())
        lines += [Text(), Text(f"the cache went cold: {causes}", style="dim")]
    print_report([*headline, *lines], console, headline=headline[:2])


def _usage_grids(report: SessionUsage, width: int) -> Iterator[list[Text]]:
    """Yield the tables of a session, each as its lines."""
    if report.totals.calls:
        yield bucket_grid(report.totals.usage).lines(width)
        shown = [Group(group.name[:ID_CHARS], group.totals) for group in report.sessions]
        for heading, groups in (("model", report.models), ("purpose", report.purposes), ("session", shown)):
            if len(groups) > 1:
                yield group_grid(heading, groups, width).lines(width)
    if report.tools:
        yield tool_grid(report.tools).lines(width)


def _headline(report: SessionUsage) -> Text:
    session = report.session
    facts = [f"session {session.id[:ID_CHARS]}"]
    if report.is_whole_chain:
        count = len(report.chain)
        facts = ["1 session" if count == 1 else f"{count} sessions", f"up to {session.id[:ID_CHARS]}"]
    facts += [show_line(word) for word in (session.source, session.model) if word]
    facts.append(f"started {format_time(report.chain[0].started_at)}")
    title = show_line(session.title or "(untitled)")
    return Text.assemble((title, "bold"), "  ", (" · ".join(facts), "dim"))


def _without_calls(report: SessionUsage) -> str:
    if not report.is_whole_chain and len(report.chain) > 1:
        return "no call is recorded for this session; --chain adds up all sessions of the conversation"
    return "no call is recorded for it"


def print_insights(insights: Insights, by: str, console: Console) -> None:
    """Print what a period used."""
    days = len(insights.days)
    period = "today" if days == 1 else f"the last {days} days"
    if not insights.totals.calls:
        console.print(f"no call is recorded for {period}; --days looks further back", soft_wrap=True)
        return
    talks = "1 conversation" if insights.conversations == 1 else f"{insights.conversations:,} conversations"
    facts = f"{format_date(insights.since)[:10]} to {format_date(insights.until)[:10]} · {talks}"
    headline = [Text.assemble((period, "bold"), "  ", (facts, "dim")), *totals_lines(insights.totals)]
    groups = {"day": _days_from_first_call(insights), "model": insights.models, "source": insights.sources}[
        by
    ]
    lines = [Text(), *group_grid(by, groups, console.width).lines(console.width), bar_legend()]
    if insights.tools:
        lines += [Text(), *tool_grid(insights.tools).lines(console.width)]
    if insights.tools_of < insights.conversations:
        note = f"tools, and what was read again, are those of the newest {insights.tools_of:,} conversations"
        lines.append(Text(note, style="dim"))
    print_report([*headline, *lines], console, headline=headline[:2])


def _days_from_first_call(insights: Insights) -> tuple[Group, ...]:
    """Leave out the days before the first call."""
    first = next(index for index, day in enumerate(insights.days) if day.totals.calls)
    return insights.days[first:]
