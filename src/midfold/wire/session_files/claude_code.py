"""Claude Code sessions: a tree of lines, in which one message takes several lines.

Each block of a reply is a line of its own, and each tool result another. A result hangs on the line of its
call, so parallel calls fork the tree although nobody went back. Going back forks it for good: the branch
that ends in the newest line is the conversation. A compaction starts a root; what came before it stays.
"""

from collections.abc import Iterable, Sequence

from midfold.wire.dialect import Item
from midfold.wire.session_files.claude_lines import ROLES, Line, read_line
from midfold.wire.session_files.records import (
    SessionFile,
    counted,
    note_compactions,
    note_other_kinds,
    require_objects,
    text_or_none,
)


def is_claude_code(records: Sequence[object]) -> bool:
    """True when a line holds a message of a user or an assistant beside an id of the line or session."""
    return any(
        isinstance(record, dict)
        and record.get("type") in ROLES
        and isinstance(record.get("message"), dict)
        and ("uuid" in record or "sessionId" in record)
        for record in records
    )


def read_claude_code(records: Sequence[object]) -> SessionFile:
    """Read the live branch; replies that no model wrote stay out, since no provider would know them."""
    everything = _read_lines(records)
    main = [line for line in everything if not line.is_sidechain]
    # The file of a subagent has nothing but side chains, and there they are the conversation.
    lines = main if any(line.message for line in main) else everything
    live = _find_live(lines)
    said = [line for line in live if line.message and not line.is_placeholder]
    turns = _group(said)
    notes = (
        *note_compactions("Claude Code", [_turn_after(line, turns) for line in live if line.is_compaction]),
        *counted(len(everything) - len(lines), "line", " of side chains skipped"),
        *counted(_messages(lines) - _messages(live), "line", " of abandoned branches skipped"),
        *counted(_messages(live) - len(said), "placeholder", " for failed requests skipped"),
        *note_other_kinds(line.kind for line in lines if not line.message and not line.is_compaction),
    )
    models = [model for line in said if (model := text_or_none(line.message.get("model")))]
    return SessionFile(
        "anthropic", [_join(turn) for turn in turns], model=models[-1] if models else None, notes=notes
    )


def _read_lines(records: Sequence[object]) -> list[Line]:
    """Read the lines of a file; one that was written twice is one line."""
    lines: dict[str | int, Line] = {}
    for index, record in enumerate(require_objects(records)):
        line = read_line(index, record)
        lines.setdefault(line.uuid or index, line)
    return list(lines.values())


def _messages(lines: Sequence[Line]) -> int:
    return sum(bool(line.message) for line in lines)


def _find_live(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of the branch that ends in the newest message, in the order of the file.

    The walk from there to the root meets only one of several parallel calls with its result; so the lines
    that share a reply with the branch are added, and the results of their calls.
    """
    live = _walk_back(lines)
    replies = {line.message_id for line in live.values()} - {None}
    live |= {line.index: line for line in lines if line.message_id in replies}
    waiting = set().union(*(line.calls for line in live.values()))
    waiting -= set().union(*(line.answers for line in live.values()))
    for line in lines:
        if line.answers & waiting:
            live[line.index] = line
            waiting -= line.answers
    return [live[index] for index in sorted(live)]


def _walk_back(lines: Sequence[Line]) -> dict[int, Line]:
    """Return the newest message and all lines above it, by index."""
    by_uuid = {line.uuid: position for position, line in enumerate(lines) if line.uuid}
    position = max((position for position, line in enumerate(lines) if line.message), default=None)
    branch: dict[int, Line] = {}
    while position is not None and lines[position].index not in branch:
        line = lines[position]
        branch[line.index] = line
        position = _parent(line, by_uuid, before=position - 1 if position else None)
    return branch


def _parent(line: Line, by_uuid: dict[str, int], before: int | None) -> int | None:
    """Say where the line above stands: `before` where the file does not know, `None` for a root."""
    if "parentUuid" not in line.record:
        return before
    parent = text_or_none(line.record["parentUuid"])
    if parent is None and not line.is_compaction:
        return None
    return by_uuid.get(parent or str(line.record.get("logicalParentUuid")), before)


def _group(said: Iterable[Line]) -> list[list[Line]]:
    """Gather the lines of each turn, so that the roles alternate and results directly follow their calls."""
    turns: list[list[Line]] = []
    for line in said:
        if turns and turns[-1][0].message["role"] == line.message["role"]:
            turns[-1].append(line)
        elif len(turns) > 1 and _goes_on(turns[-2], turns[-1], line):
            turns[-2].append(line)
        else:
            turns.append([line])
    return turns


def _goes_on(reply: list[Line], results: list[Line], line: Line) -> bool:
    """True when a reply has another line although its first calls were answered meanwhile."""
    return (
        line.message_id is not None
        and reply[-1].message_id == line.message_id
        and all(r.answers for r in results)
    )


def _turn_after(line: Line, turns: Sequence[list[Line]]) -> int:
    """Return the index of the first turn that has something from behind `line`."""
    return next((number for number, turn in enumerate(turns) if turn[-1].index >= line.index), len(turns))


def _join(turn: Sequence[Line]) -> Item:
    """Make one message of the lines of a turn, results first, as the provider demands."""
    if len(turn) == 1:
        return turn[0].message
    blocks = [block for line in turn for block in _blocks(line.message["content"])]
    in_order = sorted(blocks, key=lambda block: not _is_result(block))
    # The last line of a reply has its final usage and reason to stop.
    return {**turn[0].message, **turn[-1].message, "content": in_order}


def _is_result(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_result"


def _blocks(content: str | list[object]) -> list[object]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []
