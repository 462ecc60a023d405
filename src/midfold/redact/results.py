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


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The credentials of a part, counted from where it starts. A part that comes again has the same ones."""

    secrets: tuple[Secret, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """text[start:stop], which holds every credential it touches as a whole"""

    start: int
    stop: int
    findings: Findings
