"""How long to wait for what. There is no limit to a whole call: a long answer that keeps coming is fine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds."""

    connect: float = 5.0
    headers: float = 120.0
    """From the request to the first line of the answer; models that think first take their time."""
    idle: float = 90.0
    """Between one piece of the answer and the next."""


DEFAULT_TIMEOUTS = Timeouts()
