"""Codex rollouts, written so that the client resumes them: facts of the session, then items in envelopes."""

from collections.abc import Iterator, Sequence

from midfold.wire.dialect import Item
from midfold.wire.session_files.records import OutgoingSession, SessionFile

# They name pages of history and windows that the client keeps elsewhere, under the id of the original.
_LEFT_BEHIND = ("history_mode", "context_window", "forked_from_id", "parent_thread_id")


def write_codex(session: SessionFile, outgoing: OutgoingSession) -> list[Item]:
    """Return the lines of a rollout with other messages; the lines of an untouched item stay its lines.

    Token counts are left out: the client would take those of the original for the size of the context.
    """
    about, *contexts = session.preamble or ({},)
    lines = [
        _envelope("session_meta", _rename(_payload(about), outgoing), outgoing.written_at),
        *_lines(session, outgoing),
        *contexts,
    ]
    if any("ordinal" in line for line in lines):
        lines = [{**line, "ordinal": number} for number, line in enumerate(lines)]
    return lines


def _lines(session: SessionFile, outgoing: OutgoingSession) -> Iterator[Item]:
    for item, origin in zip(outgoing.items, outgoing.origins, strict=True):
        if not isinstance(item, dict):
            continue
        if origin is not None and item is session.messages[origin]:
            yield from _enclose(session.lines[origin], outgoing.written_at)
        else:
            yield _envelope("response_item", _with_type(item), outgoing.written_at)


def _enclose(lines: Sequence[Item], written_at: str) -> Iterator[Item]:
    """Return lines as they are; those of the oldest files get the envelope that they lack."""
    for line in lines:
        yield line if "payload" in line else _envelope("response_item", line, written_at)


def _envelope(kind: str, payload: Item, written_at: str) -> Item:
    return {"timestamp": written_at, "type": kind, "payload": payload}


def _payload(line: Item) -> Item:
    payload = line.get("payload", line)
    return payload if isinstance(payload, dict) else {}


def _rename(meta: Item, outgoing: OutgoingSession) -> Item:
    kept = {name: value for name, value in meta.items() if name not in _LEFT_BEHIND}
    named = {"session_id": outgoing.session_id} if "session_id" in meta else {}
    return {**kept, **named, "id": outgoing.session_id, "timestamp": outgoing.written_at}


def _with_type(item: Item) -> Item:
    """Write a message out in full: the provider takes shorter forms, the client does not read them."""
    if "role" not in item:
        return item
    content = item.get("content")
    if isinstance(content, str):
        kind = "output_text" if item["role"] == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {**item, "type": "message", "content": content}
