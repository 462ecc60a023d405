"""The state of a conversation's compressions as JSON and back."""

from collections.abc import Mapping
from dataclasses import fields

from midfold.folding.state import CompressionState


def state_to_json(state: CompressionState) -> dict[str, object]:
    """Return a state as a JSON value."""
    written = {each.name: getattr(state, each.name) for each in fields(state)}
    return {
        **written,
        "vain_turns": list(state.vain_turns),
        "pins": list(state.pins),
        "unpinned": sorted(state.unpinned),
    }


def state_from_json(value: object) -> CompressionState:
    """Read a state; what cannot be read in it is as at the beginning."""
    found: Mapping[str, object] = value if isinstance(value, dict) else {}
    turns = (_whole(turn) for turn in _list(found, "vain_turns"))
    return CompressionState(
        count=_whole(found.get("count")) or 0,
        folds=_whole(found.get("folds")) or 0,
        ineffective=_whole(found.get("ineffective")) or 0,
        paused_at_tokens=_whole(found.get("paused_at_tokens")),
        turn=_whole(found.get("turn")) or 0,
        last_pass_turn=_whole(found.get("last_pass_turn")),
        vain_turns=tuple(turn for turn in turns if turn is not None),
        is_warned=found.get("is_warned") is True,
        pins=tuple(_texts(found, "pins")),
        unpinned=frozenset(_texts(found, "unpinned")),
    )


def _whole(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _list(found: Mapping[str, object], name: str) -> list[object]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _texts(found: Mapping[str, object], name: str) -> list[str]:
    return [text for text in _list(found, name) if isinstance(text, str)]
