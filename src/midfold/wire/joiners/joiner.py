"""The base of all joiners: hidden tools, reading and writing of events, sums of usage."""

import json
from collections.abc import Sequence
from typing import Protocol

from midfold.wire.dialect import Item
from midfold.wire.sse import SseEvent


class Joiner(Protocol):
    """Makes one answer of several: each ends where the model asks a hidden tool, and the next one goes on.

    Of a stream, `take` is given every event and returns what may go to the client; `finish` returns the rest
    when no more answers follow. `take_whole` and `whole` do the same for plain replies.
    """

    def take(self, event: SseEvent) -> bytes:
        """Take an event of the answer that comes in, and return what the client gets for it."""
        ...

    def take_whole(self, body: Item) -> None:
        """Take a plain reply."""
        ...

    def go_on(self) -> None:
        """Expect another answer: what ends this one is dropped."""
        ...

    def finish(self) -> bytes:
        """Return what ends the stream for the client."""
        ...

    def whole(self) -> Item | None:
        """Return the reply for the client; `None` where the only one there was stays as it came."""
        ...


def read_event(event: SseEvent) -> Item | None:
    """Return the object that an event holds; `None` where there is none to look at."""
    if not event.has_data or not event.data.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(event.data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def write_event(item: Item, name: str = "") -> bytes:
    """Write an event; APIs that name their events do so before the data."""
    text = json.dumps(item, ensure_ascii=False, separators=(",", ":"))
    data = b"data: " + text.encode("utf-8", "surrogatepass") + b"\n\n"
    return b"event: " + name.encode() + b"\n" + data if name else data


def sum_reports(reports: Sequence[Item]) -> Item:
    """Add reports of usage figure by figure; of what is no figure the newest holds."""
    total: Item = {}
    for report in reports:
        total = _add(total, report)
    return total


def _add(one: Item, other: Item) -> Item:
    added = dict(one)
    for name, value in other.items():
        known = added.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            added[name] = _add(known, value)
        elif _is_figure(known) and _is_figure(value):
            added[name] = known + value
        elif value is not None or name not in added:
            added[name] = value
    return added


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
