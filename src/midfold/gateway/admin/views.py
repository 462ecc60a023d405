"""Stored conversations as JSON values for pages and scripts. Credentials are replaced."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import assert_never

from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.redact import redact
from midfold.store import Hit, Session, StoredFold, StoredMessage
from midfold.stored_notes import NoteSource
from midfold.summaries import Note
from midfold.wire import parse

MOST_CHARS = 4_000
"""of one part of a message, unless all of it is asked for"""
_FACTS = (
    "reason",
    "why",
    "focus",
    "messages_before",
    "messages_after",
    "tokens_before",
    "tokens_after",
    "summarizer",
    "summary_tokens",
    "warning",
)


def moment(at: float | None) -> str | None:
    """Write a time so that every browser reads it."""
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def show_session(session: Session) -> dict[str, object]:
    """Show what is known about a session."""
    return {
        "id": session.id,
        "conversation": session.conversation_id,
        "kind": session.kind.value,
        "parent": session.parent_id,
        "title": redact(session.title or "") or None,
        "source": session.source,
        "model": session.model,
        "dialect": session.dialect,
        "started_at": moment(session.started_at),
        "ended_at": moment(session.ended_at),
        "end_reason": session.end_reason,
        "is_undone": session.is_undone,
        "messages": session.message_count,
    }


def show_message(
    record: StoredMessage, number: int, dialect: str | None, *, full: bool = False
) -> dict[str, object]:
    """Show a stored message by its number."""
    return {
        "number": number,
        "session": record.session_id,
        "seq": record.seq,
        "role": record.role,
        "origin": record.origin,
        "tools": list(record.tools),
        "at": moment(record.created_at),
        "tokens": record.tokens,
        "is_damaged": record.is_damaged,
        "parts": [
            part for message in parse([record.item], dialect) for part in show_parts(message, full=full)
        ],
    }


def show_parts(message: Message, *, full: bool = False) -> list[dict[str, object]]:
    """Show the parts of a message: each has its kind and its text."""
    most = None if full else MOST_CHARS
    shown = [_show_part(part, most) for part in message.parts if not isinstance(part, Removed)]
    return [part for part in shown if part["text"] or part.get("name")]


def preview(message: Message, most: int = 240) -> str:
    """Return the beginning of what a message says, on one line."""
    words = " ".join(f"{part.get('name') or ''} {part['text']}".strip() for part in show_parts(message))
    return cut_line(words, most)


def cut_line(words: str, most: int) -> str:
    """Return words on one line, cut where they are too long."""
    line = " ".join(words.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _show_part(part: Part, most: int | None) -> dict[str, object]:
    match part:
        case Text(text):
            return _cut("text", text, most)
        case Reasoning(text):
            return _cut("thinking", text or "hidden", most)
        case ToolCall(_, name, arguments):
            return {**_cut("call", str(arguments), most), "name": name}
        case ToolResult(_, text, _, media):
            return _cut("result", "\n".join([text, *(f"[{item.kind}]" for item in media)]), most)
        case Media(kind):
            return _cut("media", f"[{kind}]", most)
        case Opaque(kind, text):
            return _cut("other", f"[{kind}] {text}", most)
        case Removed():
            return _cut("other", "", most)
        case _:
            assert_never(part)


def _cut(kind: str, text: str, most: int | None) -> dict[str, object]:
    shown = redact(text)
    if most is None or len(shown) <= most:
        return {"kind": kind, "text": shown}
    return {"kind": kind, "text": shown[:most], "more_chars": len(shown) - most}


def show_fold(fold: StoredFold, number: int) -> dict[str, object]:
    """Show a fold by its number in the chain, from 1, without its messages."""
    return {
        "number": number,
        "session": fold.session_id,
        "child": fold.child_id,
        "at": moment(fold.created_at),
        "is_damaged": fold.condition.value != "sound",
        "spans": [[span.start, span.stop] for span in fold.fold.spans],
        **show_facts(fold.facts),
    }


def show_facts(facts: Mapping[str, object]) -> dict[str, object]:
    """Show the facts of a fold that are for people."""
    shown = {name: facts.get(name) for name in _FACTS}
    return {name: redact(value) if isinstance(value, str) else value for name, value in shown.items()}


def show_note(note: Note, sources: Sequence[NoteSource]) -> dict[str, object]:
    """Show a note with who said it, and the messages that it stands for."""
    if note.correction is not None:
        author = "you"
    else:
        author = ", ".join(dict.fromkeys(source.speaker for source in sources)) or "the summary"
    return {
        "number": note.number,
        "heading": note.heading,
        "text": redact(note.text),
        "author": author,
        "is_pinned": note.is_pinned,
        "is_struck": note.is_struck,
        "is_corrected": note.correction is not None,
        "quotes_user": note.quotes_user,
        "sources": [{"number": source.number, "speaker": source.speaker} for source in sources],
    }


def show_hit(hit: Hit) -> dict[str, object]:
    """Show a search result: its snippet in pieces, each marked or not."""
    pieces: list[dict[str, object]] = []
    at = 0
    for start, stop in hit.marks:
        if start > at:
            pieces.append({"text": hit.snippet[at:start], "is_marked": False})
        pieces.append({"text": hit.snippet[start:stop], "is_marked": True})
        at = stop
    if at < len(hit.snippet):
        pieces.append({"text": hit.snippet[at:], "is_marked": False})
    return {
        "session": hit.session_id,
        "conversation": hit.conversation_id,
        "seq": hit.seq,
        "role": hit.role,
        "tools": list(hit.tools),
        "at": moment(hit.created_at),
        "title": redact(hit.title or "") or None,
        "origin": hit.origin.value,
        "pieces": pieces,
    }
