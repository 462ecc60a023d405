"""The request to a summariser, complete, so that any function can be one."""

from midfold.late_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A request to a summariser. `facts` are exact strings that should survive."""

    prompt: str
    max_tokens: int
    facts: tuple[str, ...] = ()
    is_manual: bool = False
    """a person asked for this compression, and waits"""
