"""What a search for credentials returns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential: text[start:stop]"""

    kind: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a look at one suspicious place gave."""

    secrets: tuple[Secret, ...]
    resume: int
    """where to look on"""
