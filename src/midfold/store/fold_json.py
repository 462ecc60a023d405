"""A fold as JSON and back, so that what one process folded another can splice, show or take back."""

from collections.abc import Mapping
from typing import Any

from midfold.folding import Edit, Fold, Insert, Replacement, Span
from midfold.late_dataclasses import fields
from midfold.messages import PARTS, Message, Part
from midfold.store.codec import DamagedRow
from midfold.transcripts import decode_json

_VERSION = 2


def fold_to_json(fold: Fold) -> dict[str, object]:
    """Return a fold as a JSON value."""
    return {
        "version": _VERSION,
        "replacements": [
            {
                "span": [each.span.start, each.span.stop],
                "message": None if each.message is None else _from_message(each.message),
            }
            for each in fold.replacements
        ],
        "edits": [
            {"index": edit.index, "parts": [[ordinal, _from_part(part)] for ordinal, part in edit.parts]}
            for edit in fold.edits
        ],
        "inserts": [[insert.after, _from_message(insert.message)] for insert in fold.inserts],
        "note": fold.note,
        "lead": fold.lead,
        "silent": list(fold.silent),
        "prefix_digest": fold.prefix_digest.hex(),
        "span_digest": fold.span_digest.hex(),
    }


def fold_from_json(body: object) -> Fold:
    """Read a stored fold, or the value that its text holds. Raises `DamagedRow` when it is none."""
    try:
        return _read_fold(decode_json(body) if isinstance(body, str) else body)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedRow(f"a stored fold cannot be read: {error}") from error


def _read_fold(value: object) -> Fold:
    found = _mapping(value)
    if found["version"] != _VERSION:
        raise ValueError(f"its version is {found['version']!r}")
    note = found["note"]
    return Fold(
        replacements=tuple(_to_replacement(_mapping(each)) for each in _list(found["replacements"])),
        edits=tuple(_to_edit(_mapping(edit)) for edit in _list(found["edits"])),
        inserts=tuple(Insert(_whole(after), _to_message(made)) for after, made in _list(found["inserts"])),
        note=None if note is None else str(note),
        lead=_whole(found["lead"]),
        silent=tuple(_whole(index) for index in _list(found["silent"])),
        prefix_digest=bytes.fromhex(str(found["prefix_digest"])),
        span_digest=bytes.fromhex(str(found["span_digest"])),
    )


def _to_replacement(found: Mapping[str, object]) -> Replacement:
    start, stop = _list(found["span"])
    message = found["message"]
    return Replacement(Span(_whole(start), _whole(stop)), None if message is None else _to_message(message))


def _from_message(message: Message) -> dict[str, object]:
    return {"role": message.role, "parts": [_from_part(part) for part in message.parts]}


def _to_message(value: object) -> Message:
    found = _mapping(value)
    return Message(str(found["role"]), tuple(_to_part(part) for part in _list(found["parts"])))


def _to_edit(found: Mapping[str, object]) -> Edit:
    parts = tuple((_whole(position), _to_part(part)) for position, part in _list(found["parts"]))
    return Edit(_whole(found["index"]), parts)


def _from_part(part: Part) -> dict[str, object]:
    written: dict[str, object] = {"part": part.tag}
    for each in fields(part):
        value = getattr(part, each.name)
        written[each.name] = [_from_part(item) for item in value] if isinstance(value, tuple) else value
    return written


def _to_part(value: object) -> Part:
    found = dict(_mapping(value))
    kind = PARTS[str(found.pop("part"))]
    if "media" in found:
        found["media"] = tuple(_to_part(item) for item in _list(found["media"]))
    return kind(**found)  # type: ignore[arg-type]


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("expected an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("expected a list")
    return value


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError("expected a whole number")
    return value
