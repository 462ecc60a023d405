"""What a compression remembers from one to the next: values in, a new value out."""

from dataclasses import dataclass


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
    vain_turns: tuple[int, ...] = ()
    """turns of late in which a pass saved too little"""
    is_warned: bool = False
    """the approach warning has been shown and not been cleared"""
    pins: tuple[str, ...] = ()
    """what the user pinned by hand"""
    unpinned: frozenset[str] = frozenset()
    """sentences that are not to be pinned though they set a rule"""
