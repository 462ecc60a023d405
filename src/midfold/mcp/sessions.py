"""The tools of the MCP server, without the protocol: each takes plain values and returns JSON values.

No answer takes more than the tokens that a call allows, as the server writes it: indented JSON. A session is
named by its id, by the beginning of one, or as `latest`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from midfold.errors import MidfoldError, SessionNotFound
from midfold.folding import CompressionPolicy, list_notes
from midfold.late_dataclasses import dataclass, field
from midfold.messages import texts_of
from midfold.search import Origin
from midfold.store import Hit, Order, Session, Store, StoredMessage
from midfold.stored_sessions import compress_session, load_compression_state, pin_sentence, unpin_sentence
from midfold.tokens import TokenCounter
from midfold.usage import read_session_usage, session_usage_as_dict
from midfold.wire import parse

LATEST = "latest"
DEFAULT_TOKENS = 4_000
MOST_TOKENS = 20_000
FEWEST_TOKENS = 300
MOST_HITS = 50
_MOST_MESSAGES = 500
_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})\s*)?")
_TITLE_CHARS = 60
_MOST_PAGES = 1_000_000
ROLES = ("user", "assistant", "tool")
_FOLD_FACTS = ("reason", "tokens_before", "tokens_after", "why", "focus")

Json = dict[str, object]


class BadRequest(MidfoldError):
    """The arguments of a tool make no sense; the text says why."""


@dataclass(frozen=True, slots=True)
class SessionTools:
    """The requests of a client to a store; `changes` says whether it may fold and pin."""

    store: Store
    policy: CompressionPolicy = field(default_factory=CompressionPolicy)
    engine: str = "compressor"
    changes: bool = True

    def search(
        self,
        query: str,
        session: str = "",
        role: str = "",
        limit: int = 10,
        max_tokens: int = DEFAULT_TOKENS,
    ) -> Json:
        """Find messages by words or a question, in one conversation or in all of them."""
        if not query.strip():
            raise BadRequest("query is empty: give words or a question")
        if role and role not in ROLES:
            raise BadRequest(f"role is {role!r}; expected one of {', '.join(ROLES)}")
        found = self.store.search(
            query,
            session_id=self._find(session).id if session else None,
            role=role or None,
            order=Order.RELEVANCE,
            limit=max(1, min(limit, MOST_HITS)),
        )
        facts: Json = {"is_incomplete": found.is_incomplete}
        return _fit(facts, {"hits": self._show_hits(found.hits)}, _bound(max_tokens))

    def _show_hits(self, hits: Sequence[Hit]) -> list[Json]:
        """Show what was found; `message` is the number by which `expand` shows it."""
        by_conversation: dict[str, list[Hit]] = {}
        for hit in hits:
            if hit.origin is not Origin.SUMMARY:
                by_conversation.setdefault(hit.conversation_id, []).append(hit)
        numbers: dict[tuple[str, int], int | None] = {}
        for same in by_conversation.values():
            written = [(hit.session_id, hit.seq) for hit in same]
            numbers |= zip(written, self.store.find_numbers(written[0][0], written), strict=True)
        return [_show_hit(hit, numbers.get((hit.session_id, hit.seq))) for hit in hits]

    def describe(self, session: str = LATEST, max_tokens: int = DEFAULT_TOKENS) -> Json:
        """Say what a conversation is: its size, its folds, its notes, and what is pinned in it."""
        found = self._find(session)
        tip = self.store.session(self.store.get_compression_tip(found.id))
        notes = list_notes(parse(self.store.messages(tip.id), tip.dialect))
        folds = self.store.folds(tip.id)
        facts: Json = {
            "session": tip.id,
            "conversation": tip.conversation_id,
            "title": _shorten(tip.title),
            "model": _shorten(tip.model),
            "source": _shorten(tip.source),
            "started_at": _format_time(self.store.session(tip.conversation_id).started_at),
            "is_open": tip.ended_at is None,
            "messages": self.store.count_history(tip.id),
            "fold_count": len(folds),
        }
        listed: dict[str, Sequence[object]] = {
            "pins": load_compression_state(self.store, tip.id).pins,
            "folds": [{key: fold.facts.get(key) for key in _FOLD_FACTS} for fold in reversed(folds)],
            "notes": [{"section": note.heading, "text": note.text} for note in notes],
        }
        return _fit(facts, listed, _bound(max_tokens))

    def expand(
        self, session: str = LATEST, messages: str = "", page: int = 1, max_tokens: int = DEFAULT_TOKENS
    ) -> Json:
        """Show messages word for word, folded or not, by their numbers in the whole conversation."""
        found = self._find(session)
        total = self.store.count_history(found.id)
        start, stop = _read_range(messages, total)
        records = self.store.history(found.id, start, min(stop, start + _MOST_MESSAGES))
        facts: Json = {"session": found.id, "of": total, "page": page, "pages": _MOST_PAGES, "messages": []}
        pages = _fill_pages(
            [_show_message(number, record, found.dialect) for number, record in enumerate(records, start)],
            _bound(max_tokens) - _count(facts),
        )
        if not 1 <= page <= max(len(pages), 1):
            raise BadRequest(f"page is {page}; these messages take pages 1 to {max(len(pages), 1)}")
        shown = pages[page - 1] if pages else []
        return {**facts, "pages": len(pages), "messages": shown}

    def stats(self, session: str = "") -> Json:
        """Count tokens, cost and folds of a conversation; without one, list the newest conversations."""
        if session:
            found = self._find(session)
            usage = session_usage_as_dict(read_session_usage(self.store, found.id, whole_chain=True))
            return {**usage, "title": _shorten(found.title)}
        conversations = self.store.conversations(limit=20)
        return {
            "conversations": [
                {
                    "session": each.id,
                    "title": _shorten(each.title),
                    "source": _shorten(each.source),
                    "model": _shorten(each.model),
                    "messages": self.store.count_history(each.id),
                    "folds": len(self.store.folds(each.id)),
                }
                for each in conversations
            ]
        }

    def compress(self, session: str = LATEST, focus: str = "") -> Json:
        """Fold a conversation that nobody works on; the rest stays in the store and can be taken back."""
        self._check_changes()
        going_on, result = compress_session(
            self.store,
            self._find(session).id,
            focus=focus.strip() or None,
            policy=self.policy,
            engine=self.engine,
        )
        return {
            "session": going_on,
            "changed": result.changed,
            "headline": result.headline,
            "reason": result.reason,
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
            **({"warning": result.warning} if result.warning else {}),
        }

    def pin(self, text: str, session: str = LATEST, remove: bool = False) -> Json:
        """Keep a sentence word for word through every later fold, or let go of it."""
        self._check_changes()
        change = unpin_sentence if remove else pin_sentence
        return _fit({}, {"pins": list(change(self.store, self._find(session).id, text))}, DEFAULT_TOKENS)

    def _check_changes(self) -> None:
        if not self.changes:
            raise BadRequest("this server only reads; start it without --read-only to change sessions")

    def _find(self, name: str) -> Session:
        """Find a session by id, by the beginning of one, or the newest."""
        if not name or name == LATEST:
            newest = self.store.conversations(limit=1)
            if not newest:
                raise BadRequest("no session is stored yet")
            return newest[0]
        try:
            return self.store.session(name)
        except SessionNotFound:
            found = self.store.sessions(prefix=name, limit=2)
            if len(found) != 1:
                raise
            return found[0]


def _bound(max_tokens: int) -> int:
    return min(max(max_tokens, FEWEST_TOKENS), MOST_TOKENS)


def _count(value: object) -> int:
    """Count the tokens of a value as the server writes it."""
    return TokenCounter().count_text(json.dumps(value, ensure_ascii=False, indent=2))


def _fit(facts: Json, listed: Mapping[str, Sequence[object]], most_tokens: int) -> Json:
    """Add lists to facts as far as they fit; what does not is counted under `left_out`."""
    shown: dict[str, list[object]] = {name: [] for name in listed}
    left = most_tokens - _count({**facts, **shown, "left_out": _MOST_PAGES})
    for name, rows in listed.items():
        for row in rows:
            left -= _count({name: [row]})
            if left < 0:
                break
            shown[name].append(row)
    left_out = sum(map(len, listed.values())) - sum(map(len, shown.values()))
    return {**facts, **shown, **({"left_out": left_out} if left_out else {})}


def _shorten(text: str | None) -> str | None:
    return f"{text[:_TITLE_CHARS]}…" if text and len(text) > _TITLE_CHARS else text


def _show_hit(hit: Hit, number: int | None) -> Json:
    return {
        "session": hit.session_id,
        **({"message": number} if number is not None else {"is_summary": True}),
        "role": hit.role,
        "at": _format_time(hit.created_at),
        "text": " ".join(hit.snippet.split()),
    }


def _show_message(number: int, record: StoredMessage, dialect: str | None) -> Json:
    words = "\n".join(text for message in parse([record.item], dialect) for text in texts_of(message))
    return {"number": number, "role": record.role, "at": _format_time(record.created_at), "text": words}


def _fill_pages(rows: Sequence[Json], most_tokens: int) -> list[list[Json]]:
    """Share rows out over pages; a text that is longer than a page goes on on the next one."""
    pages: list[list[Json]] = []
    left = 0
    for row in rows:
        for piece in _split(row, most_tokens):
            tokens = _count([piece])
            if not pages or tokens > left:
                pages.append([])
                left = most_tokens
            pages[-1].append(piece)
            left -= tokens
    return pages


def _split(row: Json, most_tokens: int) -> Iterator[Json]:
    """Yield a row, or where its text is too long, rows that each have a piece of it."""
    rest = str(row["text"])
    take = len(rest)
    while True:
        piece = {**row, "text": rest[:take]}
        tokens = _count([piece])
        if tokens > most_tokens and take > 1:
            take = max(take * most_tokens // (tokens + 1) * 9 // 10, 1)
            continue
        yield piece
        rest = rest[take:]
        if not rest:
            return
        take = min(take, len(rest))


def _read_range(written: str, total: int) -> tuple[int, int]:
    if not written.strip():
        return max(0, total - 20), total
    found = _RANGE.fullmatch(written)
    if found is None or int(found[2] or found[1]) < int(found[1]):
        raise BadRequest(
            f"messages is {written[:_TITLE_CHARS]!r}; expected a number or a range such as 12-20"
        )
    start, stop = int(found[1]), int(found[2] or found[1]) + 1
    if start >= total:
        raise BadRequest(f"the conversation has messages 0 to {total - 1}")
    return start, min(stop, total)


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
