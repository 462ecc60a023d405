"""Values that say what a call tried and how it ended, however it is spelled.

They are compared to say what became of a failure.
"""

from collections.abc import Sequence
from enum import StrEnum

from midfold.late_dataclasses import dataclass, field

_EVERYTHING = frozenset({".", "./...", "...", "./", "all", "tests", "tests/", "test", "test/", "src", "src/"})

SHELLS = frozenset({"bash", "sh", "zsh", "dash"})
SCRIPT_RUNNERS = frozenset({"python", "node", "ruby", "perl", "php", "deno", "tsx", "ts-node", *SHELLS})
"""programs that run a script; one that was made to find something out is over with the next"""


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
    chosen: frozenset[str] = field(default=frozenset(), compare=False)
    """those of the targets that choose some of what is there, as `-k name` does"""

    @property
    def is_broad(self) -> bool:
        return self.targets <= _EVERYTHING

    def covers(self, other: "Invocation", said: Sequence[str] = ()) -> bool:
        """Whether a success of this one is one of another run, too, which `said` why it failed."""
        if not is_same_place(self.place, other.place):
            return False
        if self.is_broad or (said and self._names_all(said)):
            return True
        if other.is_broad or (self.chosen and not (other.chosen and other.chosen <= self.chosen)):
            return False
        ours, theirs = self.targets - self.chosen, other.targets - other.chosen
        return ours <= _EVERYTHING or (
            bool(theirs) and all(any(_holds(one, it) for one in ours) for it in theirs)
        )

    def _names_all(self, said: Sequence[str]) -> bool:
        """Whether each line about what failed, of the first one's kind, names what was run here."""
        kind = said[0][:_KIND_CHARS]
        names = [name for name in self.chosen or self.targets - _EVERYTHING if len(name) >= _NAME_CHARS]
        return bool(names) and all(
            any(name in line for name in names) for line in said if line.startswith(kind)
        )


_KIND_CHARS, _NAME_CHARS = 6, 4


def _holds(one: str, other: str) -> bool:
    """Whether a target is another one, or the folder or file that this is in."""
    outer = one.removesuffix("...").rstrip("/")
    return one == other or (other.startswith(outer) and other[len(outer) : len(outer) + 1] in ("/", ":"))


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
