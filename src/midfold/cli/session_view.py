"""`midfold sessions show`: a part of a session, and what is known about the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict

import click
from rich.console import Console
from rich.text import Text

from midfold.cli.finding import ID_CHARS
from midfold.cli.overview import count_of, describe, show_line
from midfold.cli.plain import printable
from midfold.cli.speech import print_messages
from midfold.cli.when import tell_date
from midfold.errors import StoreCorrupt
from midfold.store import Condition, Session, Store, StoredMessage

_DEFAULT_LAST = 20
_AROUND = 3
_MOST_TITLE_CHARS = 200
_DEFAULT_DIALECT = "openai_chat"


class Excerpt(TypedDict):
    """Which messages are asked for."""

    last: int | None
    everything: bool
    around: int | None
    history: bool


@dataclass(frozen=True, slots=True)
class SessionView:
    """A part of a session: `records` of `total` messages, the first of them at `start`."""

    session: Session
    words: str
    system: object
    tip: str
    folds: int
    records: Sequence[StoredMessage]
    start: int
    total: int
    damaged: int
    """how many of all messages cannot be read"""
    is_system_damaged: bool = False


def take_excerpt(store: Store, session: Session, wanted: Excerpt) -> SessionView:
    """Read the part of a session that is asked for."""
    records = store.history(session.id) if wanted["history"] else store.records(session.id)
    place = wanted["around"]
    if place is None:
        start = 0 if wanted["everything"] else max(0, len(records) - (wanted["last"] or _DEFAULT_LAST))
        stop = len(records)
    else:
        records, middle = _find_message(store, session, records, place)
        start, stop = max(0, middle - _AROUND), middle + _AROUND + 1
    try:
        system, is_system_damaged = store.system(session.id), False
    except StoreCorrupt:
        system, is_system_damaged = None, True
    return SessionView(
        session=session,
        words=describe(store, session),
        system=system,
        tip=store.get_compression_tip(session.id),
        folds=len(store.folds(session.id)),
        records=records[start:stop],
        start=start,
        total=len(records),
        damaged=sum(record.condition is Condition.DAMAGED for record in records),
        is_system_damaged=is_system_damaged,
    )


def excerpt_json(view: SessionView) -> dict[str, object]:
    """Return a view for scripts."""
    return {
        "session": asdict(view.session),
        "system": view.system,
        "tip": view.tip,
        "folds": view.folds,
        "start": view.start,
        "total": view.total,
        "damaged": view.damaged,
        "messages": [asdict(record) for record in view.records],
    }


def print_excerpt(view: SessionView, console: Console, *, full: bool) -> None:
    """Print what is known about a session, and the messages."""
    session = view.session
    console.print(Text(printable(view.words, _MOST_TITLE_CHARS) or "(empty)", style="bold"), soft_wrap=True)
    console.print(Text(" · ".join(_facts(view)), style="dim"), soft_wrap=True)
    if view.tip != session.id:
        console.print(Text(f"it goes on in {view.tip[:ID_CHARS]}", style="dim"))
    if any(record.is_redacted for record in view.records):
        console.print(Text("credentials were replaced by placeholders when this was stored", style="dim"))
    for line in _tell_damage(view):
        console.print(Text(line, style="bold red"), soft_wrap=True)
    console.print()
    if view.start:
        console.print(Text(f"{count_of(view.start, 'earlier message')}; --all shows all", style="dim"))
    print_messages(view.records, session.dialect or _DEFAULT_DIALECT, console, full=full)
    later = view.total - view.start - len(view.records)
    if later:
        console.print(Text(count_of(later, "later message"), style="dim"))


def _tell_damage(view: SessionView) -> Iterator[str]:
    if view.damaged:
        yield f"{count_of(view.damaged, 'message')} cannot be read; midfold doctor --fix saves all else"
    if view.is_system_damaged:
        yield "the system prompt cannot be read; midfold doctor --fix saves all else"


def _facts(view: SessionView) -> list[str]:
    session = view.session
    facts = [session.id, str(session.kind), count_of(view.total, "message"), tell_date(session.started_at)]
    facts += [show_line(each) for each in (session.model, session.source) if each]
    facts += [count_of(view.folds, "fold")] if view.folds else []
    return [*facts, f"ended: {show_line(session.end_reason)}"] if session.end_reason else facts


def _find_message(
    store: Store, session: Session, records: list[StoredMessage], number: int
) -> tuple[list[StoredMessage], int]:
    """Find a message by its number, in what the session says or else in all that was said."""
    for view in (records, store.history(session.id)):
        for index, record in enumerate(view):
            if (record.session_id, record.seq) == (session.id, number):
                return view, index
    raise click.UsageError(f"the session {session.id[:ID_CHARS]} has no message {number}.")
