"""How the workers of a run fare: whether one that dies may be replaced, or the machine is to blame.

One row in a million may end the process that reads it. Where everybody dies it is not the rows: a library is
missing, or memory, and to go on would reject row after row. The run ends then, and can be resumed.
"""

from dataclasses import dataclass

from midfold.errors import MidfoldError

MOST_FAILED_STARTS = 3
"""Workers that may fail to start, one after the other."""
MOST_ROWS_IN_A_ROW = 5
"""Rows that may end their workers with no other row in between that a worker gets through."""
SPARE_DEATHS = 100
"""Workers that may die beyond one for every chunk that is answered; a row that ends workers ends three."""
_RESUME = "go on with --resume"


@dataclass(slots=True)
class Health:
    """Counts deaths and what was done between them; raises `MidfoldError` when there are too many."""

    failed_starts: int = 0
    deaths: int = 0
    answered: int = 0
    rows_in_a_row: int = 0

    def note_start(self) -> None:
        self.failed_starts = 0

    def note_failed_start(self, how: str) -> None:
        """Count a worker that ended before it was ready."""
        self.failed_starts += 1
        if self.failed_starts >= MOST_FAILED_STARTS:
            raise MidfoldError(
                f"no worker can be started: {how}, {self.failed_starts} times in a row; {_RESUME}"
            )

    def note_death(self, how: str) -> None:
        """Count a worker that ended at its work."""
        self.deaths += 1
        if self.deaths > SPARE_DEATHS + self.answered:
            raise MidfoldError(
                f"{self.deaths:,} workers ended for {self.answered:,} chunks that are done, the last: {how}; "
                f"with fewer --workers there is more memory for each; {_RESUME}"
            )

    def note_answer(self) -> None:
        """Count a chunk that came back as it should."""
        self.answered += 1
        self.rows_in_a_row = 0

    def note_row(self) -> None:
        """Count a row that a worker got through."""
        self.rows_in_a_row = 0

    def note_rejected_row(self, where: str, how: str) -> None:
        """Count a row that ends its workers."""
        self.rows_in_a_row += 1
        if self.rows_in_a_row >= MOST_ROWS_IN_A_ROW:
            raise MidfoldError(
                f"{self.rows_in_a_row} rows in a row ended their workers, the last of them {where}: {how}; "
                f"that is the machine rather than the rows; {_RESUME}"
            )


def cannot_work(reason: str) -> MidfoldError:
    """Return the error that ends a run in which a worker said that it cannot go on."""
    return MidfoldError(f"a worker failed: {reason}; {_RESUME}")
