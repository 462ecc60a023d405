"""A conversation as a file that others can read.

Every export is redacted, also one from a store that keeps credentials: a file travels further than a store.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path

from midfold.errors import StoreCorrupt
from midfold.files import refuse_read_only, replace_file
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, Text
from midfold.store.base import Store
from midfold.store.codec import Packed, pack_item, pack_value
from midfold.store.values import Condition, Session, StoredFold, StoredMessage
from midfold.transcripts import decode_json
from midfold.wire import DEFAULT_DIALECT, convert, parse

FORMAT = "midfold.session"
"""The value of the field `format` in our own files."""
VERSION = 1

_PRIVATE = 0o600
# Nothing in a session without a dialect shows which one it has.
# Without a key placeholders name the kind alone, so that nobody can compare them with a guess.
NO_KEY = b""
# Legal in JSON, and yet a terminal may obey them or a reader of lines break there.
_STEERING = re.compile("[\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class ExportFormat(StrEnum):
    """The format of an export."""

    JSON = "json"
    JSONL = "jsonl"
    SHAREGPT = "sharegpt"


class ExportView(StrEnum):
    """The part of a conversation that is exported."""

    HISTORY = "history"
    TIP = "tip"


@dataclass(frozen=True, slots=True)
class Export:
    """A file's text. `losses` say in words what the form could not say.

    `damaged` messages could not be read: marks stand for them, which json also notes in the
    `condition` of their records.
    """

    text: str
    messages: int
    losses: tuple[str, ...]
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class _Conversation:
    """All that is known about what is exported; its items are redacted."""

    session: Session
    system: object
    chain: Sequence[Session]
    folds: Sequence[StoredFold]
    records: Sequence[StoredMessage]
    items: Sequence[Packed]
    view: ExportView
    is_system_damaged: bool

    @property
    def dialect(self) -> str:
        return self.session.dialect or DEFAULT_DIALECT


def export_session(
    store: Store,
    session_id: str,
    *,
    form: ExportFormat = ExportFormat.JSON,
    view: ExportView = ExportView.HISTORY,
) -> Export:
    """Export the conversation of a session: all that was said in it, or what its tip says."""
    conversation = _read(store, session_id, view)
    export = _format(conversation, form)
    losses = [*export.losses]
    losses += ["the system prompt, which is damaged"] if conversation.is_system_damaged else []
    losses += [
        "a fold, which is damaged" for fold in conversation.folds if fold.condition is not Condition.SOUND
    ]
    damaged = sum(record.is_damaged for record in conversation.records)
    return replace(export, losses=tuple(losses), damaged=damaged)


def _format(conversation: "_Conversation", form: ExportFormat) -> Export:
    match form:
        case ExportFormat.JSON:
            return Export(_as_json(conversation), len(conversation.records), ())
        case ExportFormat.JSONL:
            return _as_lines(conversation)
        case ExportFormat.SHAREGPT:
            return _as_sharegpt(conversation)


def write_export(path: Path, text: str) -> None:
    """Write an export in one step, for its owner alone, also where a file was that others may read."""
    try:
        refuse_read_only(path)
        if path.is_file():
            path.chmod(_PRIVATE)
        replace_file(path, text.encode())
    except OSError as error:
        # The temporary file beside it is nothing that anybody asked for.
        raise OSError(error.errno, error.strerror, str(path)) from error


def _read(store: Store, session_id: str, view: ExportView) -> _Conversation:
    tip = store.get_compression_tip(session_id)
    records = store.history(session_id) if view is ExportView.HISTORY else store.records(tip)
    try:
        system, is_system_damaged = store.system(tip), False
    except StoreCorrupt:
        system, is_system_damaged = None, True
    return _Conversation(
        session=store.session(tip),
        system=system,
        chain=store.chain(session_id),
        folds=store.folds(session_id),
        records=records,
        items=[pack_item(record.item, NO_KEY) for record in records],
        view=view,
        is_system_damaged=is_system_damaged,
    )


def _as_json(conversation: _Conversation) -> str:
    """Lay the file out with a message on each line. `messages` are plain wire items, so that whatever reads
    transcripts reads this, too; what else is known about each stands in `records`, in the same order."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "view": conversation.view,
        "session": {**asdict(conversation.session), "system": conversation.system},
        "model": conversation.session.model,
        "chain": [asdict(session) for session in conversation.chain],
        "folds": [_fold_facts(fold) for fold in conversation.folds],
    }
    fields = [f'"{name}": {pack_value(value, NO_KEY)}' for name, value in head.items()]
    facts = map(_record_facts, conversation.records, conversation.items)
    fields += [
        _list_field("messages", [packed.body for packed in conversation.items]),
        _list_field("records", [pack_value(each, NO_KEY) for each in facts]),
    ]
    return _disarm("{\n" + ",\n".join(fields) + "\n}\n")


def _list_field(name: str, values: Iterable[str]) -> str:
    return f'"{name}": [\n' + ",\n".join(values) + "\n]"


def _fold_facts(fold: StoredFold) -> dict[str, object]:
    return {
        "session_id": fold.session_id,
        "child_id": fold.child_id,
        "created_at": fold.created_at,
        "condition": fold.condition,
        "spans": [[span.start, span.stop] for span in fold.fold.spans],
        "facts": dict(fold.facts),
    }


def _record_facts(record: StoredMessage, packed: Packed) -> dict[str, object]:
    return {
        "session_id": record.session_id,
        "seq": record.seq,
        "origin": record.origin,
        "role": record.role,
        "tokens": record.tokens,
        "finish_reason": record.finish_reason,
        "is_redacted": record.is_redacted or packed.is_redacted,
        "created_at": record.created_at,
        "condition": record.condition,
    }


def _as_lines(conversation: _Conversation) -> Export:
    lines = [packed.body + "\n" for packed in conversation.items]
    losses = () if conversation.system is None else ("the system prompt, which is kept beside the messages",)
    return Export(_disarm("".join(lines)), len(lines), losses)


def _as_sharegpt(conversation: _Conversation) -> Export:
    """Render one row of a data set; the system prompt speaks first in it."""
    items = [decode_json(packed.body) for packed in conversation.items]
    messages = parse(items, conversation.dialect)
    system = decode_json(pack_value(conversation.system, NO_KEY))
    if isinstance(system, str) and system:
        messages = [Message("system", (Text(system),)), *messages]
    converted = convert(messages, "sharegpt")
    row = {"id": conversation.session.conversation_id, "conversations": converted.messages}
    losses = _count_alike(loss.what for loss in converted.losses)
    return Export(_disarm(pack_value(row, NO_KEY) + "\n"), len(items), losses)


def _count_alike(losses: Iterable[str]) -> tuple[str, ...]:
    """Say each kind of loss once: there may be thousands that differ in a name or an id alone."""
    kinds = Counter(re.sub(r"'[^']*'|\([^)]*\)", "…", what) for what in losses)
    return tuple(what if count == 1 else f"{what} ({count:,} times)" for what, count in kinds.items())


def _disarm(text: str) -> str:
    return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
