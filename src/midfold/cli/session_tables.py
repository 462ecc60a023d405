"""How sessions look to a person: tables of conversations and chains, and what a search found."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from midfold.cli.finding import ID_CHARS
from midfold.cli.grid import Grid
from midfold.cli.overview import Overview, count_of, show_line
from midfold.cli.plain import printable
from midfold.cli.when import tell_date, tell_time
from midfold.redact import find_secrets, redact
from midfold.store import Found, Hit, Session

_MOST_TITLE_CELLS = 48
_MOST_NAME_CELLS = 24
_WIDE_CELLS = 100
_UNTITLED = "(empty)"
_NOTHING = "nothing found; words are found whole, book* finds bookings"
_ROLE_STYLES = {"user": "green", "assistant": "cyan", "tool": "yellow", "system": "magenta"}


def role_text(role: str) -> Text:
    """Name a speaker in a colour of its own."""
    return Text(printable(role, _MOST_NAME_CELLS), style=_ROLE_STYLES.get(role, "white"))


def print_conversations(overviews: Sequence[Overview], console: Console) -> None:
    """Print conversations, one on each line; what they are about has room before what they ran on."""
    rows = [
        [
            Text(printable(each.words, _MOST_TITLE_CELLS) or _UNTITLED, style="" if each.words else "dim"),
            Text(each.tip.id[:ID_CHARS], style="bold"),
            Text(tell_time(each.tip.started_at), style="dim"),
            Text(f"{each.messages:,}"),
            Text(f"{each.folds}" if each.folds else ""),
            Text(printable(each.tip.source, _MOST_NAME_CELLS), style="dim"),
            Text(printable(each.tip.model or "", _MOST_NAME_CELLS), style="dim"),
        ]
        for each in overviews
    ]
    headings = ("conversation", "id", "started", "messages", "folds", "source", "model")
    shown = len(headings) if console.width >= _WIDE_CELLS else len(headings) - 1
    _print(Grid(headings[:shown], [row[:shown] for row in rows], words=(0, 5, 6)), console)


def print_chain(sessions: Sequence[Session], console: Console) -> None:
    """Print the sessions of a chain from the first to the tip."""
    rows = [
        [
            Text(session.id[:ID_CHARS], style="bold"),
            Text(str(session.kind)),
            Text(tell_date(session.started_at), style="dim"),
            Text(f"{session.message_count:,}"),
            _state(session, is_tip=session is sessions[-1]),
        ]
        for session in sessions
    ]
    _print(Grid(("session", "kind", "started", "messages", "state"), rows, words=(0, 1, 4)), console)


def print_hits(found: Found, console: Console) -> None:
    """Print what a search found: where it is, and the words around it."""
    for hit in found.hits:
        console.print(_place(hit), soft_wrap=True, no_wrap=True, overflow="ellipsis", crop=True)
        console.print(Text("  ").append_text(_snippet(hit)), soft_wrap=True)
    summary = count_of(len(found.hits), "message") if found.hits else _NOTHING
    if found.is_incomplete:
        summary += "; there may be more, as time or the number of matches ran out"
    console.print(Text(summary, style="dim"), soft_wrap=True)


def _place(hit: Hit) -> Text:
    line = Text.assemble((f"{hit.session_id[:ID_CHARS]}", "bold"), (f" #{hit.seq}", "bold"), "  ")
    line.append_text(role_text(hit.role))
    if hit.tools:
        line.append(f" {show_line(' '.join(hit.tools), _MOST_NAME_CELLS)}", style="yellow")
    line.append(f"  {tell_time(hit.created_at)}", style="dim")
    return line.append(f"  {show_line(hit.title, _MOST_TITLE_CELLS)}", style="dim") if hit.title else line


def _snippet(hit: Hit) -> Text:
    """Colour what matches, unless a credential must go first, which only a store that keeps them has."""
    if find_secrets(hit.snippet):
        return Text(printable(redact(hit.snippet), len(hit.snippet)))
    text = Text(printable(hit.snippet, len(hit.snippet)))
    for start, stop in hit.marks:
        text.stylize("bold black on yellow", start, stop)
    return text


def _state(session: Session, *, is_tip: bool) -> Text:
    reason = show_line(session.end_reason or "", _MOST_NAME_CELLS)
    if is_tip:
        return Text(f"tip, ended: {reason}" if reason else "tip", style="green")
    return Text(reason or "open", style="dim")


def _print(grid: Grid, console: Console) -> None:
    for line in grid.lines(console.width):
        console.print(line, soft_wrap=True)
