"""Tables for any width: words give way first, then whole columns; a figure is shown whole or not at all."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from midfold.late_dataclasses import dataclass

_GAP = "  "
_NAME_CELLS = 20  # tables below one another line up
_LEAST_NAME_CELLS = 10


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; rows may be shorter than the heading.

    `words` are the columns that are aligned to the left and may be shortened; the others are figures.
    """

    headings: tuple[str, ...]
    rows: Sequence[Sequence[Text]]
    words: tuple[int, ...] = (0,)

    def lines(self, width: int) -> list[Text]:
        """Lay the table out in `width` cells, the heading first; the first two columns always stay."""
        table = [[Text(heading, style="dim") for heading in self.headings], *self.rows]
        natural = [
            max([row[index].cell_len for row in table if index < len(row)])
            for index in range(len(self.headings))
        ]
        natural[0] = max(natural[0], _NAME_CELLS)
        widths = _fit_columns(natural, width, self.words)
        return [_line(row[: len(widths)], widths, self.words) for row in table]


def _fit_columns(natural: Sequence[int], width: int, words: Sequence[int]) -> list[int]:
    """Leave out columns from the right until the words can be shortened enough, and shorten them."""
    least = [
        min(cells, _LEAST_NAME_CELLS) if index in words else cells for index, cells in enumerate(natural)
    ]
    count = len(natural)
    while count > 2 and _total(least[:count]) > width:
        count -= 1
    widths = list(natural[:count])
    for index in sorted(set(words) & set(range(count)), reverse=True):
        widths[index] -= min(max(_total(widths) - width, 0), widths[index] - least[index])
    widths[0] -= min(max(_total(widths) - width, 0), widths[0] - 1)
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def _line(cells: Sequence[Text], widths: Sequence[int], words: Sequence[int]) -> Text:
    fitted = []
    for index, cell in enumerate(cells):
        cell = cell.copy()
        if index in words:
            cell.truncate(widths[index], overflow="ellipsis", pad=True)
        else:
            cell.pad_left(widths[index] - cell.cell_len)
        fitted.append(cell)
    line = Text(_GAP).join(fitted)
    line.rstrip()
    return line


def print_grid(grid: Grid, console: Console) -> None:
    """Print a table, a blank line before it."""
    console.print()
    for line in grid.lines(console.width):
        console.print(line, soft_wrap=True)
