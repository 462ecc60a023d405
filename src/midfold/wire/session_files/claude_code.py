"""Claude Code sessions: a tree of lines, in which one message takes several lines.

Each block of a reply is a line of its own, and each tool result another. A result hangs on the line of its
call, so parallel calls fork the tree although nobody went back. Going back forks it for good: the branch
that ends in the newest line is the conversation. A compaction starts a root; what came before it stays.
"""

from collections.abc import Iterable, Iterator, Sequence

from midfold.errors import MalformedMessage
from midfold.late_dataclasses import dataclass, field
from midfold.wire.dialect import Item, describe
from midfold.wire.session_files.records import (
    ClientCall,
    SessionFacts,
    SessionFile,
    counted,
    has_figures,
    make_title,
    note_compactions,
    note_other_kinds,
    require_objects,
    text_or_none,
)

_ROLES = ("user", "assistant")
_SYNTHETIC = "<synthetic>"


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A line of a session: a message, a piece of one, or bookkeeping.

    `message`, `calls` and `answers` (ids of tool calls) are empty for bookkeeping.
    """

    index: int
    record: Item
    message: Item = field(default_factory=dict)
    calls: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()

    @property
    def kind(self) -> str:
        """The kind of line as the file has it; `user` and `assistant` are the messages."""
        return str(self.record.get("type"))

    @property
    def uuid(self) -> str | None:
        """The name by which the lines that follow this one point to it."""
        return text_or_none(self.record.get("uuid"))

    @property
    def message_id(self) -> str | None:
        """The provider's id of a reply, shared by all lines of that reply."""
        return text_or_none(self.message.get("id")) if self.kind == "assistant" else None

    @property
    def is_sidechain(self) -> bool:
        """True for what a subagent said."""
        return self.record.get("isSidechain") is True

    @property
    def is_compaction(self) -> bool:
        """True for the line that marks one; in files without such lines, for a summary that starts a root."""
        if self.record.get("subtype") == "compact_boundary":
            return True
        return self.record.get("isCompactSummary") is True and self.record.get("parentUuid") is None

    @property
    def is_placeholder(self) -> bool:
        """True for what stands in place of a reply that never came: no model wrote it."""
        return self.record.get("isApiErrorMessage") is True or self.message.get("model") == _SYNTHETIC


def is_claude_code(records: Sequence[object]) -> bool:
    """True when a line holds a message of a user or an assistant beside an id of the line or session."""
    return any(
        isinstance(record, dict)
        and record.get("type") in _ROLES
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
        "anthropic",
        [_join(turn) for turn in turns],
        model=models[-1] if models else None,
        notes=notes,
        facts=_read_facts(everything, live),
        lines=_lines_of(turns, live),
    )


def _read_lines(records: Sequence[object]) -> list[SessionLine]:
    """Read the lines of a file; one that was written twice is one line."""
    lines: dict[str | int, SessionLine] = {}
    for index, record in enumerate(require_objects(records)):
        line = _read_line(index, record)
        lines.setdefault(line.uuid or index, line)
    return list(lines.values())


def _read_facts(lines: Sequence[SessionLine], live: Sequence[SessionLine]) -> SessionFacts:
    return SessionFacts(
        session_id=_first_text(lines, "sessionId"),
        folder=_first_text(lines, "cwd"),
        title=make_title(
            *(_first_text(reversed(lines), name) for name in ("customTitle", "aiTitle", "summary")),
            next(_requests(live), None),
        ),
        calls=_read_calls(lines),
    )


def _first_text(lines: Iterable[SessionLine], name: str) -> str | None:
    return next((text for line in lines if (text := text_or_none(line.record.get(name)))), None)


def _requests(lines: Sequence[SessionLine]) -> Iterator[str]:
    """Yield the words of people; the client marks its own lines, or puts its words into tags."""
    for line in lines:
        is_of_client = line.record.get("isMeta") is True or line.record.get("isCompactSummary") is True
        if line.kind == "user" and line.message and not is_of_client:
            for block in _blocks(line.message["content"]):
                text = text_or_none(block.get("text")) if isinstance(block, dict) else None
                if text and not text.lstrip().startswith("<"):
                    yield text


def _read_calls(lines: Sequence[SessionLine]) -> tuple[ClientCall, ...]:
    """Read the calls that were paid for: those of subagents and of abandoned branches, too.

    Each line of a reply repeats the usage of its call; the last one has the final figures.
    """
    calls: dict[str, ClientCall] = {}
    for line in lines:
        call_id, report = line.message_id or line.uuid, line.message.get("usage")
        if line.kind == "assistant" and call_id and not line.is_placeholder and has_figures(report):
            model = text_or_none(line.message.get("model")) or ""
            calls[call_id] = ClientCall(call_id, model, report, line.record.get("timestamp"))
    return tuple(calls.values())


def _lines_of(
    turns: Sequence[Sequence[SessionLine]], live: Sequence[SessionLine]
) -> tuple[tuple[Item, ...], ...]:
    """Return the lines of each turn, each with the context that the client attached behind it."""
    turn_of = {line.index: number for number, turn in enumerate(turns) for line in turn}
    found: list[list[Item]] = [[] for _ in turns]
    current = 0
    for line in live if turns else ():
        current = turn_of.get(line.index, current)
        if line.index in turn_of or line.kind == "attachment":
            found[current].append(line.record)
    return tuple(map(tuple, found))


def _messages(lines: Sequence[SessionLine]) -> int:
    return sum(bool(line.message) for line in lines)


def _read_line(index: int, record: Item) -> SessionLine:
    """Read one line; raise `MalformedMessage` where it says that it holds a message and does not."""
    if record.get("type") not in _ROLES:
        return SessionLine(index, record)
    message = record.get("message")
    if not isinstance(message, dict):
        raise MalformedMessage(index, f"the message is {describe(message)}; expected an object")
    role, content = message.get("role"), message.get("content")
    if role not in _ROLES:
        raise MalformedMessage(index, f"the role is {role!r}; expected user or assistant")
    if not isinstance(content, str | list):
        raise MalformedMessage(index, f"the content is {describe(content)}; expected text or a list")
    blocks = [block for block in content if isinstance(block, dict)]
    return SessionLine(
        index,
        record,
        message,
        calls=frozenset([str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]),
        answers=frozenset(
            [str(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]
        ),
    )


def _find_live(lines: Sequence[SessionLine]) -> list[SessionLine]:
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


def _walk_back(lines: Sequence[SessionLine]) -> dict[int, SessionLine]:
    """Return the newest message and all lines above it, by index."""
    by_uuid = {line.uuid: position for position, line in enumerate(lines) if line.uuid}
    position = max((position for position, line in enumerate(lines) if line.message), default=None)
    branch: dict[int, SessionLine] = {}
    while position is not None and lines[position].index not in branch:
        line = lines[position]
        branch[line.index] = line
        position = _parent(line, by_uuid, before=position - 1 if position else None)
    return branch


def _parent(line: SessionLine, by_uuid: dict[str, int], before: int | None) -> int | None:
    """Say where the line above stands: `before` where the file does not know, `None` for a root."""
    if "parentUuid" not in line.record:
        return before
    parent = text_or_none(line.record["parentUuid"])
    if parent is None and not line.is_compaction:
        return None
    return by_uuid.get(parent or str(line.record.get("logicalParentUuid")), before)


def _group(said: Iterable[SessionLine]) -> list[list[SessionLine]]:
    """Gather the lines of each turn, so that the roles alternate and results directly follow their calls."""
    turns: list[list[SessionLine]] = []
    for line in said:
        if turns and turns[-1][0].message["role"] == line.message["role"]:
            turns[-1].append(line)
        elif len(turns) > 1 and _goes_on(turns[-2], turns[-1], line):
            turns[-2].append(line)
        else:
            turns.append([line])
    return turns


def _goes_on(reply: list[SessionLine], results: list[SessionLine], line: SessionLine) -> bool:
    """True when a reply has another line although its first calls were answered meanwhile."""
    return (
        line.message_id is not None
        and reply[-1].message_id == line.message_id
        and all(r.answers for r in results)
    )


def _turn_after(line: SessionLine, turns: Sequence[list[SessionLine]]) -> int:
    """Return the index of the first turn that has something from behind `line`."""
    return next((number for number, turn in enumerate(turns) if turn[-1].index >= line.index), len(turns))


def _join(turn: Sequence[SessionLine]) -> Item:
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
