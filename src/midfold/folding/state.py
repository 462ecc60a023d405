"""State that one compression hands to the next: values in, a new value out."""

from collections.abc import Mapping

from midfold.late_dataclasses import dataclass, fields, replace

STATE_NAME = "compression"
"""The name that stores keep the state of a conversation by."""


@dataclass(frozen=True, slots=True)
class CompressionState:
    """The history of a conversation's compressions, as far as the next one needs it."""

    count: int = 0
    """compressions that changed something"""
    folds: int = 0
    """those among them that replaced messages with a summary"""
    ineffective: int = 0
    """passes in a row that saved too little"""
    paused_at_tokens: int | None = None
    """the size of the request when automatic compression paused; `None` while it runs"""
    turn: int = 0
    last_pass_turn: int | None = None
    """the turn of the last pass, whatever came of it"""
    vain_turns: tuple[int, ...] = ()
    """turns of late in which a pass saved too little"""
    is_warned: bool = False
    """the approach warning has been shown and not been cleared"""
    pins: tuple[str, ...] = ()
    """sentences that the user pinned by hand"""
    unpinned: frozenset[str] = frozenset()
    """sentences that are not to be pinned though they set a rule"""

    def with_pin(self, text: str) -> "CompressionState":
        """Keep a sentence word for word from now on."""
        text = text.strip()
        pins = self.pins if not text or text in self.pins else (*self.pins, text)
        return replace(self, pins=pins, unpinned=self.unpinned - {text})

    def without_pin(self, text: str) -> "CompressionState":
        """Let go of a sentence, pinned by hand or found as a rule."""
        text = text.strip()
        pins = tuple(pin for pin in self.pins if pin != text)
        return replace(self, pins=pins, unpinned=self.unpinned | {text})

    def next_turn(self) -> "CompressionState":
        """Note that another request was answered."""
        return replace(self, turn=self.turn + 1)


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
    turns = (_read_count(turn) for turn in _list(found, "vain_turns"))
    return CompressionState(
        count=_read_count(found.get("count")) or 0,
        folds=_read_count(found.get("folds")) or 0,
        ineffective=_read_count(found.get("ineffective")) or 0,
        paused_at_tokens=_read_count(found.get("paused_at_tokens")),
        turn=_read_count(found.get("turn")) or 0,
        last_pass_turn=_read_count(found.get("last_pass_turn")),
        vain_turns=tuple(turn for turn in turns if turn is not None),
        is_warned=found.get("is_warned") is True,
        pins=tuple(_texts(found, "pins")),
        unpinned=frozenset(_texts(found, "unpinned")),
    )


def _read_count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _list(found: Mapping[str, object], name: str) -> list[object]:
    value = found.get(name)
    return value if isinstance(value, list) else []


def _texts(found: Mapping[str, object], name: str) -> list[str]:
    return [text for text in _list(found, name) if isinstance(text, str)]
