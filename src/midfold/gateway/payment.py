"""A request that is paid for from a budget: money is put aside before it is sent, and booked afterwards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import ParamSpec, Protocol, TypeVar

from midfold.keys import Purse, Reservation
from midfold.providers import RelayAnswer
from midfold.transcripts import decode_json

_P = ParamSpec("_P")
_T = TypeVar("_T")
_BYTES_PER_TOKEN = 3
"""fewer than texts have, so that a request which could not be counted is not thought too small"""


class SideWork(Protocol):
    """Does work beside the event loop."""

    def __call__(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Awaitable[_T]:
        """Return what `work` returns."""
        ...


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A request, as far as its price goes. `tokens` is 0 where they were not counted."""

    provider: str
    body: bytes = field(repr=False)
    tokens: int = 0
    output_cap: int | None = None

    def reserve(self, purse: Purse) -> Reservation:
        """Put aside the most that it may cost; raises `OverBudget`."""
        model = self._read_model()
        tokens = self.tokens or len(self.body) // _BYTES_PER_TOKEN
        return purse.reserve(f"{self.provider}/{model}" if model else self.provider, tokens, self.output_cap)

    def _read_model(self) -> str:
        try:
            decoded = decode_json(self.body)
        except (ValueError, RecursionError):
            return ""
        model = decoded.get("model") if isinstance(decoded, dict) else None
        return model if isinstance(model, str) else ""


@asynccontextmanager
async def pay(
    purse: Purse, asked: PaidRequest, sending: AbstractAsyncContextManager[RelayAnswer], work: SideWork
) -> AsyncIterator[RelayAnswer]:
    """Send a request once its money is put aside; raises `OverBudget` before anything is sent."""
    reservation = await work(asked.reserve, purse)
    answer: RelayAnswer | None = None
    try:
        async with sending as answer:
            yield answer
    finally:
        if answer is None or not answer.is_success:
            await work(reservation.release)
        else:
            seen = answer.observation()
            charged = seen.completion.reported_cost if seen.completion is not None else None
            await work(reservation.settle, seen.usage, charged)
