"""Codex rollouts: lines of `{timestamp, type, payload}`, whose response items are the conversation.

The oldest files have no such envelope: a first line about the session, then bare response items.
"""

from collections.abc import Iterator, Sequence

from midfold.errors import MalformedMessage
from midfold.late_dataclasses import dataclass
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

_ENVELOPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
# Codex keeps the state of the working tree among the items to undo with, and never sends it.
_UNSENT_ITEMS = ("ghost_snapshot",)
_READ = ("session_meta", "turn_context", "compacted")
_SHOWN_EVENTS = ("user_message", "agent_message", "agent_reasoning", "item_completed")
_CLIENT_WORDS = ("<", "# AGENTS.md")


def is_codex(records: Sequence[object]) -> bool:
    """True when a line has Codex's envelope, or the file starts like its oldest ones."""
    lines = [record for record in records if isinstance(record, dict)]
    if any(line.get("type") in _ENVELOPES and "payload" in line for line in lines):
        return True
    return bool(lines) and "type" not in lines[0] and {"id", "timestamp", "instructions"} <= lines[0].keys()


def read_codex(records: Sequence[object]) -> SessionFile:
    """Read a rollout. All items stay, also those from before a compaction or of turns taken back."""
    entries = [_open(index, line) for index, line in enumerate(require_objects(records))]
    items = [entry for entry in entries if entry.is_item]
    other = [entry for entry in entries if not entry.is_item and entry.kind not in _READ]
    rollbacks = sum(entry.event == "thread_rolled_back" for entry in other)
    notes = (
        *note_compactions("Codex", _find_compactions(entries)),
        *counted(rollbacks, "rollback", "; the turns taken back are kept"),
        *note_other_kinds(entry.name for entry in other if entry.event != "thread_rolled_back"),
    )
    metas = [entry.payload for entry in entries if entry.kind == "session_meta"]
    contexts = [entry for entry in entries if entry.kind == "turn_context"]
    models = [model for entry in contexts if (model := text_or_none(entry.payload.get("model")))]
    return SessionFile(
        "openai_responses",
        [_require_item(entry) for entry in items],
        next((text for meta in metas if (text := _instructions(meta))), None),
        model=models[-1] if models else None,
        notes=notes,
        facts=_read_facts(entries, metas[0] if metas else {}),
        lines=_lines_of(entries),
        preamble=tuple(entry.line for entry in entries if entry.kind == "session_meta")[:1]
        + tuple(entry.line for entry in contexts[-1:]),
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line, and what is inside its envelope."""

    index: int
    line: Item
    kind: str
    payload: Item

    @property
    def is_item(self) -> bool:
        return self.kind == "response_item" and self.payload.get("type") not in _UNSENT_ITEMS

    @property
    def event(self) -> str | None:
        """The kind of an event, which is a line for the screen."""
        return text_or_none(self.payload.get("type")) if self.kind == "event_msg" else None

    @property
    def name(self) -> str:
        """The name of a skipped line in a note."""
        return str(self.payload["type"]) if self.kind == "response_item" else self.kind


def _open(index: int, line: Item) -> _Entry:
    """Take a line out of its envelope, or recognise a line without one by its keys."""
    kind = line.get("type")
    if "payload" not in line:
        if kind is not None:
            return _Entry(index, line, "response_item", line)
        return _Entry(index, line, "session_meta" if "instructions" in line else "state", line)
    payload = line["payload"]
    if not isinstance(kind, str):
        raise MalformedMessage(index, f"the line's type is {describe(kind)}; expected text")
    if not isinstance(payload, dict):
        raise MalformedMessage(index, f"the payload is {describe(payload)}; expected an object")
    return _Entry(index, line, kind, payload)


def _require_item(entry: _Entry) -> Item:
    kind = entry.payload.get("type")
    if not isinstance(kind, str):
        raise MalformedMessage(entry.index, f"the item's type is {describe(kind)}; expected text")
    return entry.payload


def _find_compactions(entries: Sequence[_Entry]) -> list[int]:
    """Say before which items Codex had compacted the conversation."""
    found: list[int] = []
    items = 0
    for entry in entries:
        items += entry.is_item
        if entry.kind == "compacted":
            found.append(items)
    return found


def _lines_of(entries: Sequence[_Entry]) -> tuple[tuple[Item, ...], ...]:
    """Return the line of each item, and the lines that put its words on the screen.

    Older versions write these behind the item, newer ones write those of a reply before it.
    """
    found: list[list[Item]] = []
    waiting: list[Item] = []
    for entry in entries:
        if entry.is_item:
            found.append([entry.line, *waiting])
            waiting = []
        elif entry.event in _SHOWN_EVENTS and _speaks_before(entry):
            waiting.append(entry.line)
        elif entry.event in _SHOWN_EVENTS and found:
            found[-1].append(entry.line)
    return tuple(map(tuple, found))


def _speaks_before(entry: _Entry) -> bool:
    item = entry.payload.get("item")
    return isinstance(item, dict) and item.get("type") == "AgentMessage"


def _read_facts(entries: Sequence[_Entry], meta: Item) -> SessionFacts:
    session_id = text_or_none(meta.get("id"))
    names = [entry.payload.get("thread_name") for entry in entries if entry.event == "thread_name_updated"]
    windows = [window for entry in entries if (window := _stated_window(entry))]
    return SessionFacts(
        session_id=session_id,
        folder=text_or_none(meta.get("cwd")),
        title=make_title(*reversed(names), next(_requests(entries), None)),
        window_tokens=windows[-1] if windows else None,
        calls=tuple(_read_calls(entries, session_id or "")),
    )


def _requests(entries: Sequence[_Entry]) -> Iterator[str]:
    """Yield the words of people; Codex writes its own as tags and under one heading."""
    for entry in entries:
        if entry.is_item and entry.payload.get("role") == "user":
            content = entry.payload.get("content")
            blocks = content if isinstance(content, list) else [{"text": content}]
            for block in blocks:
                text = text_or_none(block.get("text")) if isinstance(block, dict) else None
                if text and not text.lstrip().startswith(_CLIENT_WORDS):
                    yield text


def _stated_window(entry: _Entry) -> int | None:
    """Return the context window that an event states."""
    info = entry.payload.get("info") if entry.event == "token_count" else entry.payload
    window = info.get("model_context_window") if entry.event and isinstance(info, dict) else None
    return window if type(window) is int and window > 0 else None


def _read_calls(entries: Sequence[_Entry], session_id: str) -> Iterator[ClientCall]:
    """Yield the calls that were paid for.

    Codex repeats the newest figures; only a total that grew is a call.
    """
    model, total = "", 0
    for entry in entries:
        if entry.kind == "turn_context":
            model = text_or_none(entry.payload.get("model")) or model
        info = entry.payload.get("info") if entry.event == "token_count" else None
        if not isinstance(info, dict):
            continue
        now, last = _total_tokens(info.get("total_token_usage")), info.get("last_token_usage")
        if now > total and has_figures(last):
            yield ClientCall(f"{session_id}:{now}", model, _as_usage(last), entry.line.get("timestamp"))
        total = max(total, now)


def _total_tokens(usage: object) -> int:
    figure = usage.get("total_tokens") if isinstance(usage, dict) else None
    return figure if type(figure) is int else 0


def _as_usage(report: Item) -> Item:
    """Return the figures under the names that the provider gives them."""
    return {
        "input_tokens": report.get("input_tokens", 0),
        "input_tokens_details": {"cached_tokens": report.get("cached_input_tokens", 0)},
        "output_tokens": report.get("output_tokens", 0),
        "output_tokens_details": {"reasoning_tokens": report.get("reasoning_output_tokens", 0)},
    }


def _instructions(meta: Item) -> str | None:
    """Return the system prompt of a session, which has had two names and two shapes."""
    base = meta.get("base_instructions")
    if isinstance(base, dict):
        base = base.get("text")
    return text_or_none(base) or text_or_none(meta.get("instructions"))
