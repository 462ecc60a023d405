"""Values that say what a call tried and how it ended, however it is spelled.

They are compared to say what became of a failure.
"""

from enum import StrEnum

from midfold.late_dataclasses import dataclass, field

_EVERYTHING = frozenset({".", "./...", "...", "./", "all", "tests", "tests/", "test", "test/", "src", "src/"})


class Aim(StrEnum):
    """The end to which a program is run, where that concerns the whole work."""

    TEST = "test"
    BUILD = "build"
    LINT = "lint"
    INSTALL = "install"
    PUBLISH = "publish"
    LOOK = "look"
    """only looks: what finds nothing has not failed"""
    NONE = ""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One program at its targets; none where it is run on everything."""

    program: str
    targets: frozenset[str] = frozenset()
    aim: Aim = Aim.NONE
    place: str = field(default="", compare=False)
    """the folder that it is run in, where the command says so"""

    @property
    def is_broad(self) -> bool:
        return self.targets <= _EVERYTHING


def is_same_place(one: str, other: str) -> bool:
    """Whether two folders may be the same; one that is not named may be any."""
    ours, theirs = one.rstrip("/"), other.rstrip("/")
    return not ours or not theirs or ours.endswith(theirs) or theirs.endswith(ours)


class RunEnd(StrEnum):
    """The end of a call, as far as its result shows it."""

    PASSED = "passed"
    FAILED = "failed"
    LOOKED = "looked"
    """it only looked and found nothing"""
    REFUSED = "refused"
    """a person did not want it"""
    UNCLEAR = "unclear"
    """no result, or an error in the output of what ended well"""
