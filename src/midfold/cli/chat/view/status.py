"""How things stand, on one line: the model, how full its window is, what it cost, and what the cache does."""

from collections.abc import Iterator

from rich.text import Text

from midfold.agent import Spending, Status
from midfold.cli.finding import ID_CHARS
from midfold.cli.plain import printable
from midfold.cli.preview import spell_cost
from midfold.folding import Tier

_BAR_CELLS = 12
_MOST_MODEL_CHARS = 40
_COLOURS = {Tier.CALM: "green", Tier.NOTED: "green", Tier.LARGE: "yellow"}
_PREPARATIONS = {"preparing": "the next fold is being prepared", "ready": "the next fold is ready"}


def start_line(status: Status) -> Text:
    """Say what a chat starts with."""
    facts = [
        _spell_window(status),
        f"caching {printable(status.caching)}",
        f"session {status.session_id[:ID_CHARS]}",
    ]
    name = printable(status.model, _MOST_MODEL_CHARS)
    return Text.assemble((name, "bold"), "  ", (" · ".join(facts), "dim"))


def status_line(status: Status, spending: Spending) -> Text:
    """Say how things stand."""
    line = Text(f"{printable(status.model, _MOST_MODEL_CHARS)} ", style="bold").append_text(pressure(status))
    for fact in _facts(status, spending):
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
    """Say what a session came to, and how to go on with it; nothing where nothing was said."""
    if not status.messages:
        return []
    tokens = f"{spending.chain.total_tokens:,} tokens"
    folds = "1 fold" if spending.folds == 1 else f"{spending.folds:,} folds"
    short = status.session_id[:ID_CHARS]
    return [
        Text(f"session {short}: {tokens}, {spell_cost(spending.cost)}, {folds}"),
        Text(f"go on with it: midfold chat --resume {short}", style="dim"),
    ]


def _spell_window(status: Status) -> str:
    if not status.window_tokens:
        return "window unknown"
    return f"window {status.window_tokens:,} ({printable(str(status.window_source))})"


def _facts(status: Status, spending: Spending) -> Iterator[str]:
    if spending.calls:
        yield spell_cost(spending.cost)
    rate = f", {spending.chain.cache_hit_rate:.0%} read" if spending.chain.cache_read_tokens else ""
    state = f"cold ({status.cache_busts[-1].cause})" if status.is_cache_cold else status.caching.split(" ")[0]
    yield f"cache {state}{rate}"
    if status.folds:
        yield "1 fold" if status.folds == 1 else f"{status.folds} folds"
    if status.preparation in _PREPARATIONS:
        yield _PREPARATIONS[status.preparation]
