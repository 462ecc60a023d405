"""Claude Code sessions, written so that the client resumes them: one chain of lines from root to end."""

from collections.abc import Iterator, Sequence
from uuid import UUID, uuid5

from midfold.wire.dialect import Item
from midfold.wire.session_files.records import OutgoingSession, SessionFile

# Facts of the client and its surroundings, the same for all lines of a session.
_SURROUNDINGS = ("userType", "entrypoint", "cwd", "version", "gitBranch", "slug")
# They point into the requests of the original, or repeat an output that was shortened.
_LEFT_BEHIND = ("requestRef", "requestId", "logicalParentUuid", "toolUseResult")
# The client takes the figures of the newest reply for the size of the context, and would compact at once.
_NO_USAGE = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def write_claude_code(session: SessionFile, outgoing: OutgoingSession) -> list[Item]:
    """Return the lines of a session with other messages; the lines of an untouched message stay its lines."""
    space = UUID(outgoing.session_id)
    names: dict[object, str] = {}
    written: list[Item] = []
    parent: str | None = None
    for number, line in enumerate(_lines(session, outgoing)):
        name = str(uuid5(space, str(number)))
        names[line.get("uuid")] = name
        moved = {
            **line,
            "parentUuid": parent,
            "isSidechain": False,
            "uuid": name,
            "sessionId": outgoing.session_id,
        }
        if line.get("sourceToolAssistantUUID") is not None:
            moved["sourceToolAssistantUUID"] = names.get(line["sourceToolAssistantUUID"], parent)
        written.append(moved)
        parent = name
    title = {"type": "custom-title", "customTitle": outgoing.title, "sessionId": outgoing.session_id}
    return [*written, title] if outgoing.title else written


def _lines(session: SessionFile, outgoing: OutgoingSession) -> Iterator[Item]:
    surroundings = _find_surroundings(session)
    for item, origin in zip(outgoing.items, outgoing.origins, strict=True):
        if not isinstance(item, dict):
            continue
        if origin is None:
            yield _make_line(item, surroundings, outgoing.written_at)
        elif item is session.messages[origin]:
            for line in session.lines[origin]:
                yield _without_usage(line)
        else:
            yield from _change_lines(item, session.lines[origin])


def _find_surroundings(session: SessionFile) -> Item:
    """Return the facts of the newest line that has them."""
    lines = [line for turn in session.lines for line in turn]
    newest = next((line for line in reversed(lines) if "cwd" in line), {})
    return {name: newest[name] for name in _SURROUNDINGS if name in newest}


def _make_line(item: Item, surroundings: Item, written_at: str) -> Item:
    """Make the line of a summary. The client shows it as one."""
    is_request = item.get("role") == "user"
    marks = {"isCompactSummary": True} if is_request else {}
    return {"type": item.get("role"), "message": item, "timestamp": written_at, **marks, **surroundings}


def _change_lines(item: Item, lines: Sequence[Item]) -> Iterator[Item]:
    """Make one line of a message that was shortened, and keep the context that was attached to it."""
    said = [line for line in lines if "message" in line]
    attached = [line for line in lines if "message" not in line]
    whole = {name: value for name, value in said[-1].items() if name not in _LEFT_BEHIND}
    yield _without_usage({**whole, "message": item})
    yield from attached


def _without_usage(line: Item) -> Item:
    message = line.get("message")
    if not isinstance(message, dict) or "usage" not in message:
        return line
    return {**line, "message": {**message, "usage": _NO_USAGE}}
