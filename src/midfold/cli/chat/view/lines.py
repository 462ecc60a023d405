"""The lines that stay of what an agent did, the same on a terminal and in a pipe."""

from collections.abc import Iterator
from typing import assert_never

from rich.text import Text

from midfold.agent import (
    ApprovalRequested,
    CompressionFinished,
    CompressionStarted,
    Continued,
    Done,
    Event,
    Interrupted,
    Level,
    ModelCalled,
    Notice,
    Pressure,
    ReasoningDelta,
    Recovering,
    Spending,
    Status,
    TextDelta,
    ToolFinished,
    ToolStarted,
    Why,
)
from midfold.cli.conversations import ID_CHARS
from midfold.cli.render.format import format_cost, format_size
from midfold.cli.terminal import printable
from midfold.folding import Compression, Tier, summarize_manual_compression

MARK = "→ "
_MOST_CHARS = 300
_MOST_TITLE_CHARS = 100
_MOST_ERROR_CHARS = 160
_WHY = {
    Why.PREFLIGHT: "the request reaches the threshold",
    Why.THRESHOLD: "the context reached the threshold",
    Why.OVERFLOW: "the request does not fit into the window",
    Why.MODEL: "the other model has a smaller window",
    Why.COMMAND: "as you asked",
}


def event_lines(event: Event) -> Iterator[Text]:
    """Yield the lines that stay of an event; of most there is none."""
    match event:
        case ToolFinished():
            yield _tool_line(event)
        case Pressure():
            yield from _pressure_lines(event)
        case Notice(level, _, text):
            yield warning(text) if level is Level.WARNING else remark(text)
        case Recovering(_, text):
            yield warning(text)
        case CompressionFinished(why, compression):
            yield from compression_lines(compression, why, was_prepared=event.was_prepared)
        case Continued(_, new_id, folds):
            done = f"folded {format_times(folds)}" if folds else "old output shortened, nothing folded"
            yield remark(f"continues in session {new_id[:ID_CHARS]}, {done}")
        case Interrupted():
            yield Text("interrupted", style="yellow")
        case (
            TextDelta() | ReasoningDelta() | ToolStarted() | ApprovalRequested() | ModelCalled()
            | CompressionStarted() | Done()
        ):  # fmt: skip
            return
        case _:
            assert_never(event)


def compression_lines(
    compression: Compression[object], why: Why, *, was_prepared: bool = False
) -> Iterator[Text]:
    """Describe a compression in the words that every command uses; its warning is a notice."""
    words = summarize_manual_compression(
        compression.originals, compression.messages, compression.tokens_before, compression.tokens_after
    )
    ahead = ", prepared beforehand: no waiting" if was_prepared else ""
    because = f"  ({describe(why)}{ahead})" if compression.changed else ""
    yield Text.assemble((compression.headline, "magenta" if because else ""), (because, "dim"))
    yield Text(f"{words['token_line']}, counted", style="dim")
    if not compression.changed and compression.reason:
        yield remark(compression.reason)
    if words["note"]:
        yield remark(str(words["note"]))


def describe(why: Why) -> str:
    """Describe the reason for a compression."""
    return _WHY[why]


def format_times(count: int) -> str:
    """Format a number of times."""
    return "once" if count == 1 else f"{count:,} times"


def warning(text: str) -> Text:
    """Return a line that should be seen."""
    return Text(f"warning: {printable(text, _MOST_CHARS)}", style="yellow")


def failure(text: str) -> Text:
    """Return a line about what could not be done."""
    return Text(printable(text, _MOST_CHARS), style="red")


def remark(text: str) -> Text:
    """Return a line beside the conversation."""
    return Text(printable(text, _MOST_CHARS), style="dim")


def tool_title(title: str) -> str:
    """Return the title of a call as one safe line."""
    return printable(title, _MOST_TITLE_CHARS)


def _tool_line(event: ToolFinished) -> Text:
    line = Text.assemble((MARK, "red" if event.is_error else "green"), tool_title(event.title))
    size = "offloaded, " if event.persisted else ""
    facts = f"{event.seconds:.1f} s, {size}{format_size(len(event.text.encode('utf-8', 'replace')))}"
    line.append(f"  {facts}", style="dim")
    if event.is_error:
        first = next((part for part in event.text.splitlines() if part.strip()), "failed")
        line.append(f"  {printable(first.strip(), _MOST_ERROR_CHARS)}", style="red")
    return line


def _pressure_lines(event: Pressure) -> Iterator[Text]:
    figures = f"{event.tokens:,} of {event.window_tokens:,} tokens"
    percent = f"{event.tokens / max(event.window_tokens, 1):.0%}"
    if event.tier is Tier.LARGE:
        yield warning(f"the context is growing large: {percent} of the window, {figures}")
    elif event.tier > Tier.LARGE and not event.is_automatic:
        yield warning(f"the context is at {percent} of the window, {figures}; /compress makes room")
    elif event.tier is Tier.COMPRESS:
        yield warning(f"the context is at {percent} of the window, {figures}: it is compressed now")
    elif event.tier is Tier.EMERGENCY:
        yield warning(f"the window is nearly full: {percent}, {figures}; fewer of the newest messages stay")


_BAR_CELLS = 12
_MOST_MODEL_CHARS = 40
_COLOURS = {Tier.CALM: "green", Tier.NOTED: "green", Tier.LARGE: "yellow"}
_WINDOW_SOURCES = {
    "explicit": "as set",
    "learnt": "learnt from an error",
    "table": "known",
    "probe": "guessed",
    "server": "from the server",
}
_PREPARATIONS = {"preparing": "the next fold is being prepared", "ready": "the next fold is ready"}


def start_line(status: Status) -> Text:
    """Describe the start of a chat."""
    facts = [
        _format_window(status),
        f"caching {printable(status.caching)}",
        f"session {status.session_id[:ID_CHARS]}",
    ]
    name = printable(status.model, _MOST_MODEL_CHARS)
    return Text.assemble((name, "bold"), "  ", (" · ".join(facts), "dim"))


def status_line(status: Status, spending: Spending) -> Text:
    """Describe the state of an agent."""
    line = Text(f"{printable(status.model, _MOST_MODEL_CHARS)} ", style="bold").append_text(pressure(status))
    for fact in _status_facts(status, spending):
        line.append(f" · {fact}", style="not bold")
    return line


def pressure(status: Status) -> Text:
    """Draw how full the window is; a `|` is where the next fold is due."""
    whole = max(status.window_tokens, 1)
    filled = min(_BAR_CELLS, round(status.tokens / whole * _BAR_CELLS))
    due = min(_BAR_CELLS - 1, round(status.threshold_tokens / whole * _BAR_CELLS))
    bar = Text("█" * filled, style=_COLOURS.get(status.tier, "red"))
    free = "░" * (_BAR_CELLS - filled)
    if due >= filled:
        free = f"{free[: due - filled]}|{free[due - filled + 1 :]}"
    bar.append(free, style="bright_black")
    return bar.append(f" {status.percent:.0f}%", style="default not bold")


def farewell(status: Status, spending: Spending) -> list[Text]:
    """Sum a session up, and say how to go on with it; nothing where nothing was said."""
    if not status.messages:
        return []
    tokens = f"{spending.chain.total_tokens:,} tokens"
    folds = "1 fold" if spending.folds == 1 else f"{spending.folds:,} folds"
    short = status.session_id[:ID_CHARS]
    return [
        Text(f"session {short}: {tokens}, {format_cost(spending.cost)}, {folds}"),
        Text(f"continue: midfold chat --resume {short}", style="dim"),
    ]


def _format_window(status: Status) -> str:
    if not status.window_tokens:
        return "window unknown"
    return f"window {status.window_tokens:,} ({describe_window_source(status)})"


def describe_window_source(status: Status) -> str:
    """Say how the window is known."""
    return _WINDOW_SOURCES.get(status.window_source, printable(status.window_source))


def _status_facts(status: Status, spending: Spending) -> Iterator[str]:
    if spending.calls:
        yield format_cost(spending.cost)
    rate = f", {spending.chain.cache_hit_rate:.0%} read" if spending.chain.cache_read_tokens else ""
    state = f"cold ({status.cache_busts[-1].cause})" if status.is_cache_cold else status.caching.split(" ")[0]
    yield f"cache {'automatic' if rate and state == 'off' else state}{rate}"
    if status.folds:
        yield "1 fold" if status.folds == 1 else f"{status.folds} folds"
    if status.preparation in _PREPARATIONS:
        yield _PREPARATIONS[status.preparation]
