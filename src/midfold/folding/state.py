"""What a compression remembers from one to the next: values in, a new value out."""

from dataclasses import dataclass, replace


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
    """how large the request was when automatic compression paused; `None` while it runs"""
    turn: int = 0
    last_pass_turn: int | None = None
    """the turn of the last pass, whatever came of it"""
    vain_turns: tuple[int, ...] = ()
    """turns of late in which a pass saved too little"""
    is_warned: bool = False
    """the approach warning has been shown and not been cleared"""
    pins: tuple[str, ...] = ()
    """what the user pinned by hand"""
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
