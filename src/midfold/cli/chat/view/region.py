"""The lines at the bottom of a terminal that change while something is under way.

Only what differs is written, in one piece, so that nothing flickers; lines that are final scroll away above.
"""

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TypeAlias

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType, Segment, Segments

Line: TypeAlias = Sequence[Segment]

_NEW_LINE = Segment.line()


class Region:
    """A region of a terminal. Its caller sees to it that only one thread draws at a time.

    Where nothing can be taken back, in a file or on a terminal that cannot move its cursor, only final lines
    are written.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._drawn: list[list[Segment]] = []

    @property
    def is_live(self) -> bool:
        """Whether lines that are not final are shown."""
        console = self._console
        return console.is_terminal and not (
            console.is_dumb_terminal or console.legacy_windows or console.record
        )

    def draw(self, lines: Iterable[Line], final: Sequence[Line] = ()) -> None:
        """Show `lines` instead of what was shown; `final` lines go above, and stay."""
        width = max(self._console.width - 1, 1)
        wanted = [Segment.adjust_line_length(list(line), width, pad=False) for line in lines if self.is_live]
        kept = 0 if final else _count_equal(self._drawn, wanted)
        if not final and kept == len(self._drawn) == len(wanted):
            return
        with self._console:  # what is printed in here is written at once
            self._go_back_to(kept)
            shown = [*final, *wanted[kept:]]
            segments = [segment for line in shown for segment in (*line, _NEW_LINE)]
            self._console.print(Segments(segments), end="", soft_wrap=True)
        self._drawn = wanted

    def clear(self) -> None:
        """Take everything away that is not final."""
        self.draw(())

    def _go_back_to(self, line: int) -> None:
        """Move the cursor to a line that is drawn, and empty the rest.

        Some terminals wrap what is drawn when they become narrower and some do not; whichever it is, nothing
        above may be lost, so that a piece of a line may be left.
        """
        for _ in self._drawn[line:]:
            up = (ControlType.CURSOR_UP, 1)
            self._console.control(Control(ControlType.CARRIAGE_RETURN, up, (ControlType.ERASE_IN_LINE, 2)))


def _count_equal(old: Sequence[Line], new: Sequence[Line]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
