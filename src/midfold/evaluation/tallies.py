"""Counts of what was asked for and what was there."""

from midfold.late_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tally:
    """The number of things that were asked for, and of those that were there."""

    kept: int = 0
    asked: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.kept + other.kept, self.asked + other.asked)

    @property
    def part(self) -> float | None:
        return self.kept / self.asked if self.asked else None


@dataclass(frozen=True, slots=True)
class SectionTally:
    """The entries of one section: shown, true by a label, wrong; the rest is unknown."""

    shown: int = 0
    true: int = 0
    wrong: int = 0

    def __add__(self, other: "SectionTally") -> "SectionTally":
        return SectionTally(self.shown + other.shown, self.true + other.true, self.wrong + other.wrong)

    @property
    def part_true(self) -> float | None:
        """Of the entries that are judged, the part that is true."""
        judged = self.true + self.wrong
        return self.true / judged if judged else None

    @property
    def part_not_wrong(self) -> float | None:
        """Of all entries, the part that nothing speaks against."""
        return 1 - self.wrong / self.shown if self.shown else None
