"""The reading half of the admin API: each function answers one route, in a thread that may wait."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import accumulate

from midfold.config import Settings
from midfold.errors import StaleFold
from midfold.folding import Compression, CompressionState, Fate, list_losses, list_notes
from midfold.gateway.admin.requests import AdminRefusal, AdminRequest, Json
from midfold.gateway.admin.views import (
    cut_line,
    moment,
    preview,
    show_fold,
    show_hit,
    show_message,
    show_note,
    show_session,
)
from midfold.messages import Message, Text
from midfold.redact import redact
from midfold.store import Order, Session, SessionKind, Store, StoredFold
from midfold.stored_notes import find_sources
from midfold.stored_sessions import load_compression_state
from midfold.tokens import TokenCounter, resolve_window
from midfold.usage import insights_as_dict, read_insights, read_session_usage, session_usage_as_dict
from midfold.wire import Request, parse

_PAGE, _MOST_PAGE = 50, 200
_MOST_POINTS = 400
_MOST_ROWS = 2_000
_TITLE_CHARS = 90
_BEGINNINGS = ((0, 6), (6, 60))
"""Most requests are among the first messages; some agents begin with pages of their own."""
_AROUND = 3
_SELDOM = 20


class AdminReader:
    """Answers what is only read. Every method raises `MidfoldError`."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def conversations(self, request: AdminRequest) -> Json:
        limit = request.number("limit", _PAGE, least=1, most=_MOST_PAGE)
        after = request.query.get("after") or None
        source = request.query.get("source") or None
        tips = self._store.conversations(limit=limit, after=after, source=source)
        return {
            "conversations": [self._show_tip(tip) for tip in tips],
            "next": tips[-1].id if len(tips) == limit else None,
        }

    def _show_tip(self, tip: Session) -> dict[str, object]:
        is_folded = tip.kind is SessionKind.CONTINUATION
        folds = self._store.folds(tip.id) if is_folded else []
        began = self._store.chain(tip.id)[0].started_at if is_folded else tip.started_at
        return {
            **show_session(tip),
            "began_at": moment(began),
            "title": self._title(tip),
            "messages": self._store.count_history(tip.id),
            "folds": len(folds),
        }

    def _title(self, tip: Session) -> str | None:
        return redact(tip.title or "") or self._first_words(tip)

    def _first_words(self, tip: Session) -> str | None:
        """Return how a conversation without a title begins: the first words of its user.

        What agents write in the user's name begins with a tag.
        """
        said: list[str] = []
        for start, stop in _BEGINNINGS:
            records = [each for each in self._store.history(tip.id, start, stop) if each.role == "user"]
            parts = [part for each in records for part in _only(each.item, tip.dialect).parts]
            said += [part.text.strip() for part in parts if isinstance(part, Text) and part.text.strip()]
            request = next((text for text in said if not text.startswith("<")), None)
            if request is not None:
                return cut_line(redact(request), _TITLE_CHARS)
        return cut_line(redact(said[0]), _TITLE_CHARS) if said else None

    def conversation(self, request: AdminRequest) -> Json:
        tip = self._tip(request)
        chain = self._store.chain(tip.id)
        folds = self._store.folds(tip.id)
        usage = read_session_usage(self._store, tip.id, whole_chain=True)
        window = resolve_window(tip.model or "", explicit=self._settings.model.context_length).tokens
        return {
            **self._show_tip(tip),
            "tip": tip.id,
            "window_tokens": window,
            "threshold_tokens": int(window * self._settings.compression.threshold),
            "chain": [show_session(session) for session in chain],
            "folds": [show_fold(fold, number) for number, fold in enumerate(folds, 1)],
            "pressure": self._pressure(tip, folds),
            "pins": [redact(pin) for pin in load_compression_state(self._store, tip.id).pins],
            "usage": {**session_usage_as_dict(usage), "title": self._title(tip)},
        }

    def _pressure(self, tip: Session, folds: Sequence[StoredFold]) -> list[dict[str, object]]:
        """List how full the context was over time: as calls reported it, or else as it is estimated."""
        calls = self._store.calls(tip.id, whole_chain=True)
        made_by = Counter(call.model for call in calls)
        # A model that is seldom asked answers questions on the side, such as for a title.
        points = [
            (call.created_at or 0.0, call.usage.prompt_tokens)
            for call in calls
            if call.purpose == "chat" and made_by[call.model] * _SELDOM >= len(calls)
        ]
        kind = "reported" if points else "estimated"
        if not points:
            records = self._store.history(tip.id)
            counted_as = tip.model or (Request(tip.dialect, []).counted_as if tip.dialect else None)
            messages = parse([record.item for record in records], tip.dialect)
            sizes = map(TokenCounter(counted_as), messages)
            moments = (record.created_at for record in records)
            points = list(zip(moments, accumulate(sizes), strict=True))
        dropped = [(fold.created_at, fold.facts.get("tokens_after")) for fold in folds]
        points += [(at, after) for at, after in dropped if isinstance(after, int)]
        points.sort(key=lambda point: point[0])
        step = max(1, -(-len(points) // _MOST_POINTS))
        return [{"at": moment(at), "tokens": tokens, "kind": kind} for at, tokens in points[::step]]

    def messages(self, request: AdminRequest) -> Json:
        start = request.number("start", 0)
        limit = request.number("limit", _PAGE, least=1, most=_MOST_PAGE)
        full = request.choice("full", "false", "true") == "true"
        is_view = request.choice("view", "history", "context") == "context"
        session = self._store.session(request.path["id"])
        read = self._store.records if is_view else self._store.history
        named = self._find_number(session, request.number("seq", 0)) if "seq" in request.query else None
        if named is not None:
            start = max(0, named - _AROUND)
        records = read(session.id, start, start + limit)
        total = len(self._store.records(session.id)) if is_view else self._store.count_history(session.id)
        return {
            "messages": [
                show_message(record, number, session.dialect, full=full)
                for number, record in enumerate(records, start)
            ],
            "total": total,
            "named": named,
            "next": start + limit if start + limit < total else None,
        }

    def _find_number(self, session: Session, seq: int) -> int:
        """Return the number in the history of a message that a session has at `seq`."""
        for number, record in enumerate(self._store.history(session.id)):
            if (record.session_id, record.seq) == (session.id, seq):
                return number
        raise AdminRefusal("there is no such message", 404)

    def fold(self, request: AdminRequest) -> Json:
        tip = self._tip(request)
        folds = self._store.folds(tip.id)
        number = request.path_number("number")
        if not 1 <= number <= len(folds):
            raise AdminRefusal("there is no such fold", 404)
        stored = folds[number - 1]
        dialect = self._store.session(stored.session_id).dialect
        before = tuple(parse(self._store.messages(stored.session_id), dialect))
        try:
            rows = _compare(stored, before)
            losses = list_losses(_as_compression(stored, before))
        except StaleFold as error:
            raise AdminRefusal(str(error), 409) from None
        return {
            **show_fold(stored, number),
            "title": self._title(tip),
            "is_newest": number == len(folds),
            "rows": rows[:_MOST_ROWS],
            "rows_left_out": max(0, len(rows) - _MOST_ROWS),
            "losses": [{**asdict(loss), "weight": round(loss.weight, 3)} for loss in losses],
            "notes": self._notes(stored.child_id, tip),
        }

    def notes(self, request: AdminRequest) -> Json:
        tip = self._tip(request)
        return {"notes": self._notes(tip.id, tip)}

    def _notes(self, session_id: str, tip: Session) -> list[dict[str, object]]:
        notes = list_notes(parse(self._store.messages(session_id), tip.dialect))
        history = self._store.history(tip.id) if notes else []
        return [show_note(note, find_sources(history, note, dialect=tip.dialect)) for note in notes]

    def search(self, request: AdminRequest) -> Json:
        query = request.query.get("q", "")
        if len(query) > 1_000:
            raise AdminRefusal("q has at most 1,000 characters")
        order = request.choice("order", Order.RELEVANCE.value, Order.NEWEST.value)
        found = self._store.search(
            query,
            session_id=request.query.get("session") or None,
            role=request.query.get("role") or None,
            order=Order(order),
            limit=request.number("limit", 20, least=1, most=100),
        )
        names = {hit.session_id for hit in found.hits if not hit.title}
        titles = {name: self._first_words(self._store.session(name)) for name in names}
        hits = [{**show_hit(hit), **_titled(titles.get(hit.session_id))} for hit in found.hits]
        return {"hits": hits, "is_incomplete": found.is_incomplete}

    def usage(self, request: AdminRequest) -> Json:
        days = request.number("days", 30, least=1, most=366)
        return insights_as_dict(read_insights(self._store, now=time.time(), days=days))

    def settings(self, _request: AdminRequest) -> Json:
        entries = self._settings.entries()
        return {
            "settings": [
                {"key": entry.key, "value": _plain(entry.value), "origin": entry.origin} for entry in entries
            ]
        }

    def _tip(self, request: AdminRequest) -> Session:
        return self._store.session(self._store.get_compression_tip(request.path["id"]))


def _titled(title: str | None) -> dict[str, object]:
    return {"title": title} if title else {}


def _only(item: object, dialect: str | None) -> Message:
    return parse([item], dialect)[0]


def _plain(value: object) -> object:
    """Return a value of the settings as JSON has it."""
    if value is None or isinstance(value, bool | int | float):
        return None if value in (float("inf"), float("-inf")) else value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    return redact(str(value))


def _as_compression(stored: StoredFold, before: tuple[Message, ...]) -> Compression[object]:
    facts = stored.facts
    known = {
        name: value if isinstance(value := facts.get(name), int) else 0
        for name in ("tokens_before", "tokens_after")
    }
    return Compression(
        messages=[],
        before=before,
        fold=stored.fold,
        reason=str(facts.get("reason") or ""),
        state=CompressionState(),
        tokens_before=known["tokens_before"],
        tokens_after=known["tokens_after"],
        budget_tokens=0,
    )


def _compare(stored: StoredFold, before: Sequence[Message]) -> list[dict[str, object]]:
    """Put the list before a fold beside the list after it, message by message."""
    rows: list[dict[str, object]] = []
    after = 0
    for step in stored.fold.walk(before):
        old = before[step.index] if step.index is not None else None
        new = step.message
        row: dict[str, object] = {
            "before": step.index,
            "after": after if new is not None else None,
            "role": (old or new or before[0]).role,
            "fate": Fate.FOLDED.value if new is None else step.source.value,
            "text": preview(old) if old is not None else "",
        }
        if new is not None and new is not old:
            row["new_text"] = preview(new, 4_000 if old is None else 240)
        rows.append(row)
        after += new is not None
    return rows
