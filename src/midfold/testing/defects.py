"""The defects that real transcripts have, for tests."""

import random
from collections.abc import Callable
from enum import StrEnum
from typing import Any

Items = list[Any]


class Defect(StrEnum):
    """A defect of a transcript that can still be read."""

    UNANSWERED_CALL = "unanswered_call"
    ORPHAN_RESULT = "orphan_result"
    DUPLICATE_ID = "duplicate_id"
    EMPTY_ID = "empty_id"
    EMPTY_TURN = "empty_turn"
    SAME_ROLE = "same_role"
    SURROGATE = "surrogate"
    NUL = "nul"
    UNKNOWN_KEY = "unknown_key"


def add_defects(items: list[object], defects: frozenset[Defect], chance: random.Random) -> list[object]:
    """Return the items with one defect of each kind in `defects`, as far as they have room for it."""
    for kind in sorted(defects):
        items = _add_defect(list(items), kind, chance)
    return items


def _add_defect(items: Items, kind: Defect, chance: random.Random) -> Items:
    turn = _plain_turn(items)
    match kind:
        case Defect.UNANSWERED_CALL:
            return _drop_one(items, chance, _is_result)
        case Defect.ORPHAN_RESULT:
            return _drop_one(items, chance, _calls)
        case Defect.DUPLICATE_ID:
            return [_with_id(item, "call_again") for item in items]
        case Defect.EMPTY_ID:
            return [_with_id(item, "") for item in items]
        case Defect.EMPTY_TURN:
            return [*items, _with_words(turn, "")]
        case Defect.SAME_ROLE:
            return [*items, turn, turn]
        case Defect.SURROGATE:
            return [*items, _with_words(turn, "half an emoji: \ud83d")]
        case Defect.NUL:
            return [*items, _with_words(turn, "binary:\x00\x01")]
        case Defect.UNKNOWN_KEY:
            return [*items[:-1], {**items[-1], "x_vendor": {"trace": [1, 2]}}]


def _drop_one(items: Items, chance: random.Random, wanted: Callable[[Any], bool]) -> Items:
    indices = [index for index, item in enumerate(items) if wanted(item)]
    if not indices:
        return items
    index = chance.choice(indices)
    return items[:index] + items[index + 1 :]


def _is_result(item: Any) -> bool:
    return (
        item.get("role") == "tool"
        or item.get("from") == "tool"
        or item.get("type") == "function_call_output"
        or (item.get("role") == "user" and _has_block(item, "tool_result"))
    )


def _calls(item: Any) -> bool:
    return bool(
        item.get("tool_calls")
        or item.get("type") == "function_call"
        or _has_block(item, "tool_use")
        or "<tool_call>" in str(item.get("value", ""))
    )


def _has_block(item: Any, kind: str) -> bool:
    content = item.get("content")
    return isinstance(content, list) and any(block.get("type") == kind for block in content)


def _plain_turn(items: Items) -> dict[str, Any]:
    """A turn of the assistant in the dialect of these items."""
    if items and "from" in items[0]:
        return {"from": "gpt", "value": "One more thing."}
    return {"role": "assistant", "content": "One more thing."}


def _with_words(turn: dict[str, Any], words: str) -> dict[str, Any]:
    return {**turn, "value" if "value" in turn else "content": words}


def _with_id(value: Any, new: str) -> Any:
    """Give every call and every result in `value` the same id."""
    if isinstance(value, list):
        return [_with_id(element, new) for element in value]
    if not isinstance(value, dict):
        return value
    id_keys = ("id", "call_id", "tool_call_id", "tool_use_id")
    return {key: new if key in id_keys else _with_id(inner, new) for key, inner in value.items()}
