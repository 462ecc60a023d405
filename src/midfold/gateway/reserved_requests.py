"""A request that is paid for from a budget: money is put aside before it is sent, and booked afterwards."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import ParamSpec, Protocol, TypeVar

from midfold.keys import KeyBudget, Reservation
from midfold.late_dataclasses import dataclass, field
from midfold.providers import RelayAnswer
from midfold.transcripts import decode_json

_P = ParamSpec("_P")
_T = TypeVar("_T")
_BYTES_PER_TOKEN = 3
"""fewer than texts have, so that a request which could not be counted is not thought too small"""
_CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_ANSWERS = ("n", "best_of")


class SideWork(Protocol):
    """Does work beside the event loop."""

    def __call__(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> Awaitable[_T]:
        """Return what `work` returns."""
        ...


@dataclass(frozen=True, slots=True)
class ReservedRequest:
    """A request, as far as its price goes. `tokens` is 0 where they were not counted."""

    provider: str
    body: bytes = field(repr=False)
    tokens: int = 0

    def reserve(self, key_budget: KeyBudget) -> Reservation:
        """Put aside the most that it may cost; raises `OverBudget`."""
        body = self._read_body()
        model = body.get("model")
        name = f"{self.provider}/{model}" if isinstance(model, str) and model else self.provider
        tokens = self.tokens or len(self.body) // _BYTES_PER_TOKEN
        # Of several caps the upstream may heed any.
        cap, answers = _largest(body, _CAPS), _largest(body, _ANSWERS)
        return key_budget.reserve(name, tokens, cap, answers=answers or 1)

    def _read_body(self) -> Mapping[str, object]:
        try:
            decoded = decode_json(self.body)
        except (ValueError, RecursionError):
            return {}
        return decoded if isinstance(decoded, dict) else {}


@asynccontextmanager
async def pay(
    key_budget: KeyBudget,
    asked: ReservedRequest,
    sending: AbstractAsyncContextManager[RelayAnswer],
    work: SideWork,
) -> AsyncIterator[RelayAnswer]:
    """Send a request once its money is put aside; raises `OverBudget` before anything is sent."""
    reservation = await work(asked.reserve, key_budget)
    answer: RelayAnswer | None = None
    has_left = False
    try:
        async with sending as answer:
            yield answer
    except asyncio.CancelledError:
        has_left = answer is None
        raise
    finally:
        if has_left:  # the upstream answers, and charges, whether or not somebody waits for it
            await work(reservation.settle, None)
        elif answer is None or not answer.is_success:
            await work(reservation.release)
        else:
            seen = answer.observation()
            charged = seen.completion.reported_cost if seen.completion is not None else None
            await work(reservation.settle, seen.usage, charged)


def _largest(body: Mapping[str, object], names: Iterable[str]) -> int | None:
    """Return the largest count by one of these names; other values are the upstream's to refuse."""
    found = [body.get(name) for name in names]
    counts = [value for value in found if isinstance(value, int) and not isinstance(value, bool)]
    return max((count for count in counts if count > 0), default=None)
