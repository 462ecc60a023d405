"""Sessions for a terminal: conversations, chains, search hits and messages."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from midfold.cli.conversations import ID_CHARS, Overview, SessionView
from midfold.cli.render.format import count_of, format_date, format_time, show_line
from midfold.cli.render.grid import Grid
from midfold.cli.render.messages import print_message_text
from midfold.cli.render.wrapping import print_wrapped
from midfold.cli.terminal import printable
from midfold.folding import Span
from midfold.redact import find_secrets, redact
from midfold.search import Origin
from midfold.store import Hit, SearchResults, Session, StoredFold, StoredMessage
from midfold.wire import DEFAULT_DIALECT

_MOST_TITLE_CELLS = 48
_MOST_NAME_CELLS = 24
_WIDE_CELLS = 100
_UNTITLED = "(empty)"
_NOTHING = "nothing found; try other words or fewer filters"
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
            Text(format_time(each.tip.started_at), style="dim"),
            Text(f"{each.messages:,}"),
            Text(f"{each.folds}" if each.folds else ""),
            Text(printable(each.tip.source, _MOST_NAME_CELLS), style="dim"),
            Text(printable(each.tip.model or "", _MOST_NAME_CELLS), style="dim"),
        ]
        for each in overviews
    ]
    headings = ("conversation", "id", "started", "messages", "folds", "source", "model")
    shown = len(headings) if console.width >= _WIDE_CELLS else len(headings) - 1
    _print_grid(Grid(headings[:shown], [row[:shown] for row in rows], words=(0, 5, 6)), console)


def print_chain(sessions: Sequence[Session], folds: Sequence[StoredFold], console: Console) -> None:
    """Print the sessions of a chain from the first to the tip, and why each fold was made."""
    rows = [
        [
            Text(session.id[:ID_CHARS], style="bold"),
            Text(str(session.kind)),
            Text(format_date(session.started_at), style="dim"),
            Text(f"{session.message_count:,}"),
            _state(session, is_tip=session is sessions[-1]),
        ]
        for session in sessions
    ]
    _print_grid(Grid(("session", "kind", "started", "messages", "state"), rows, words=(0, 1, 4)), console)
    if folds:
        console.print()
    for fold in folds:
        name = Text.assemble((fold.child_id[:ID_CHARS], "bold"), "  ")
        print_wrapped(Text(_describe_fold(fold)), console, first=name, indent=" " * len(name))


_WHY = {
    "preflight": "the request reached the threshold",
    "threshold": "the context reached the threshold",
    "overflow": "the request did not fit into the window",
    "model": "the next model has a smaller window",
    "command": "somebody asked for it",
    "gateway": "a request through the gateway was too long",
    "notes": "somebody corrected the notes",
}


def _describe_fold(fold: StoredFold) -> str:
    """Say why a fold was made, what it took and what came of it, as far as that was recorded."""
    facts = fold.facts
    why = _WHY.get(str(facts.get("why")), "the reason was not recorded")
    focus = f", with the focus {show_line(str(facts['focus']))!r}" if facts.get("focus") else ""
    sizes = [facts.get("tokens_before"), facts.get("tokens_after")]
    counts = [f"{size:,}" for size in sizes if isinstance(size, int)]
    figures = [f"{counts[0]} → {counts[1]} tokens"] if len(counts) == len(sizes) else []
    spans = ", ".join(_span(each.span) for each in fold.fold.replacements if each.span.stop > each.span.start)
    writer = f" by the {facts['summarizer']}" if facts.get("summarizer") else ""
    figures.append(f"messages {spans} folded{writer}" if spans else "nothing folded, old output shortened")
    return f"{why}{focus}: {', '.join(figures)}"


def _span(span: Span) -> str:
    return f"{span.start}" if span.stop - span.start == 1 else f"{span.start}–{span.stop - 1}"


def print_hits(found: SearchResults, console: Console) -> None:
    """Print what a search found: where it is, and the words around it."""
    for hit in found.hits:
        console.print(_hit_heading(hit), soft_wrap=True, no_wrap=True, overflow="ellipsis", crop=True)
        print_wrapped(_snippet(hit), console, first="  ", indent="  ")
    summary = count_of(len(found.hits), "message") if found.hits else _NOTHING
    if found.is_incomplete:
        summary += "; there may be more, as time or the number of matches ran out"
    console.print(Text(summary, style="dim"), soft_wrap=True)


def _hit_heading(hit: Hit) -> Text:
    line = Text.assemble((f"{hit.session_id[:ID_CHARS]}", "bold"), (f" #{hit.seq}", "bold"), "  ")
    speaker = "tool" if hit.origin is Origin.TOOL_OUTPUT else hit.role
    line.append_text(Text("summary", style="dim") if hit.origin is Origin.SUMMARY else role_text(speaker))
    if hit.tools:
        line.append(f" {show_line(' '.join(hit.tools), _MOST_NAME_CELLS)}", style="yellow")
    line.append(f"  {format_time(hit.created_at)}", style="dim")
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
        return Text(f"tip, {reason}" if reason else "tip", style="green")
    return Text(reason or "open", style="dim")


def _print_grid(grid: Grid, console: Console) -> None:
    for line in grid.lines(console.width):
        console.print(line, soft_wrap=True)


_ORIGINS = {"summary": "summary", "copy": "shortened", "stub": "shortened"}


def print_messages(
    records: Sequence[StoredMessage], dialect: str, console: Console, *, full: bool = False
) -> None:
    """Print messages; of a long one its beginning, unless `full`."""
    home = records[-1].session_id if records else ""
    for record in records:
        console.print(_heading(record, home), soft_wrap=True)
        print_message_text(record, dialect, console, full=full)


def _heading(record: StoredMessage, home: str) -> Text:
    number = (
        f"#{record.seq}" if record.session_id == home else f"{record.session_id[:ID_CHARS]} #{record.seq}"
    )
    line = Text.assemble((number, "bold"), "  ").append_text(role_text(record.role))
    facts = [format_date(record.created_at)]
    facts += [f"{record.tokens:,} tokens"] if record.tokens is not None else []
    facts += [_ORIGINS[record.origin]] if record.origin in _ORIGINS else []
    line.append("  " + " · ".join(facts), style="dim")
    return line.append(f"  {record.condition}", style="bold red") if record.is_damaged else line


def print_excerpt(view: SessionView, console: Console, *, full: bool) -> None:
    """Print what is known about a session, and the messages."""
    session = view.session
    console.print(Text(printable(view.words, _MOST_TITLE_CHARS) or "(empty)", style="bold"), soft_wrap=True)
    console.print(Text(" · ".join(_facts(view)), style="dim"), soft_wrap=True)
    if view.tip != session.id:
        console.print(Text(f"it continues in {view.tip[:ID_CHARS]}", style="dim"))
    if any(record.is_redacted for record in view.records):
        console.print(Text("credentials are stored as placeholders", style="dim"))
    for line in _damage_lines(view):
        console.print(Text(line, style="bold red"), soft_wrap=True)
    console.print()
    if view.start:
        console.print(Text(f"{count_of(view.start, 'earlier message')}; --all shows all", style="dim"))
    print_messages(view.records, session.dialect or DEFAULT_DIALECT, console, full=full)
    later = view.total - view.start - len(view.records)
    if later:
        console.print(Text(count_of(later, "later message"), style="dim"))


def _damage_lines(view: SessionView) -> Iterator[str]:
    if view.damaged:
        yield f"{count_of(view.damaged, 'message')} cannot be read; midfold doctor --fix saves all else"
    if view.is_system_damaged:
        yield "the system prompt cannot be read; midfold doctor --fix saves all else"


def _facts(view: SessionView) -> list[str]:
    session = view.session
    facts = [session.id, str(session.kind), count_of(view.total, "message"), format_date(session.started_at)]
    facts += [show_line(each) for each in (session.model, session.source) if each]
    facts += [count_of(view.folds, "fold")] if view.folds else []
    return [*facts, f"ended: {show_line(session.end_reason)}"] if session.end_reason else facts


_MOST_TITLE_CHARS = 200
