"""A fold as JSON and back, so that what one process folded another can splice, show or take back."""

from collections.abc import Mapping
from dataclasses import fields

from midfold.compression.results import Edit, Fold, Insert, Span
from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.store.codec import DamagedRow
from midfold.transcripts import decode_json

_PARTS: dict[str, type[Part]] = {
    kind.__name__: kind for kind in (Text, Reasoning, ToolCall, ToolResult, Media, Opaque, Removed)
}


def fold_to_json(fold: Fold) -> dict[str, object]:
    """Spell a fold as a JSON value."""
    return {
        "spans": [[span.start, span.stop] for span in fold.spans],
        "at": fold.at,
        "summary": _from_message(fold.summary) if fold.summary else None,
        "edits": [
            {"index": edit.index, "parts": [[position, _from_part(part)] for position, part in edit.parts]}
            for edit in fold.edits
        ],
        "inserts": [[insert.after, _from_message(insert.message)] for insert in fold.inserts],
        "prefix_digest": fold.prefix_digest.hex(),
        "span_digest": fold.span_digest.hex(),
    }


def fold_from_json(body: str) -> Fold:
    """Read a stored fold. Raises `DamagedRow` when it is none."""
    try:
        return _read_fold(decode_json(body))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedRow(f"a stored fold cannot be read: {error}") from error


def _read_fold(value: object) -> Fold:
    found = _mapping(value)
    summary = found["summary"]
    return Fold(
        spans=tuple(Span(_whole(start), _whole(stop)) for start, stop in _list(found["spans"])),
        at=_whole(found["at"]),
        summary=_to_message(summary) if summary is not None else None,
        edits=tuple(_to_edit(_mapping(edit)) for edit in _list(found["edits"])),
        inserts=tuple(Insert(_whole(after), _to_message(made)) for after, made in _list(found["inserts"])),
        prefix_digest=bytes.fromhex(str(found["prefix_digest"])),
        span_digest=bytes.fromhex(str(found["span_digest"])),
    )


def _from_message(message: Message) -> dict[str, object]:
    return {"role": message.role, "parts": [_from_part(part) for part in message.parts]}


def _to_message(value: object) -> Message:
    found = _mapping(value)
    return Message(str(found["role"]), tuple(_to_part(part) for part in _list(found["parts"])))


def _to_edit(found: Mapping[str, object]) -> Edit:
    parts = tuple((_whole(position), _to_part(part)) for position, part in _list(found["parts"]))
    return Edit(_whole(found["index"]), parts)


def _from_part(part: Part) -> dict[str, object]:
    spelled: dict[str, object] = {"part": type(part).__name__}
    for each in fields(part):
        value = getattr(part, each.name)
        spelled[each.name] = [_from_part(item) for item in value] if isinstance(value, tuple) else value
    return spelled


def _to_part(value: object) -> Part:
    found = dict(_mapping(value))
    kind = _PARTS[str(found.pop("part"))]
    if "media" in found:
        found["media"] = tuple(_to_part(item) for item in _list(found["media"]))
    return kind(**found)  # type: ignore[arg-type]


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("expected an object")
    return value


def _list(value: object) -> list[list[object]]:
    if not isinstance(value, list):
        raise TypeError("expected a list")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError("expected a whole number")
    return value
