"""What a run has done so far: put together chunk by chunk, and again from the manifest when it is resumed."""

from dataclasses import dataclass, field
from decimal import Decimal

from midfold.trajectories.files import START, Position
from midfold.trajectories.metrics import AggregateMetrics


@dataclass(frozen=True, slots=True)
class Bill:
    """What models were asked for, as far as it is known.

    `dollars` is the least it cost: calls whose price nobody knows are counted apart.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    dollars: Decimal = Decimal(0)
    unpriced_calls: int = 0

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.dollars + other.dollars,
            self.unpriced_calls + other.unpriced_calls,
        )


NO_BILL = Bill()


@dataclass(slots=True)
class Totals:
    """Everything up to `position`."""

    position: Position = START
    read_bytes: int = 0
    """of the files as they lie on disk"""
    output_bytes: int = 0
    """as collected; columns are packed further in the end"""
    written: int = 0
    listed: int = 0
    metrics: AggregateMetrics = field(default_factory=AggregateMetrics)
    bill: Bill = NO_BILL
