"""The money of a key: reserved before a request is sent, settled when its answer is known.

The book is one file that all gateways of a home share, so that a hundred requests at once cannot spend the
money that is there for one. A reservation that a dead gateway never settled counts as spent after an hour.
"""

import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_UP, Decimal
from pathlib import Path

from midfold.errors import ConfigError
from midfold.keys.files import hold_file, load_object, save_object
from midfold.keys.virtual_key import BudgetPeriod, VirtualKey
from midfold.late_dataclasses import dataclass
from midfold.tokens import CanonicalUsage, find_model, price

SPENDING_FILE = "gateway-spending.json"
_NANO = Decimal(1_000_000_000)
_STALE_SECONDS = 3_600.0
_USUAL_OUTPUT = 8_192
"""reserved where neither the request nor the table says how much a model may write"""
_KEPT_PERIODS = 2
"""of each key"""
_PERIOD_FORMS = {BudgetPeriod.DAY: "%Y-%m-%d", BudgetPeriod.MONTH: "%Y-%m", BudgetPeriod.EVER: "ever"}


class OverBudget(Exception):
    """A request is not sent, as its key has not the money for it; `str()` says so."""


@dataclass(slots=True)
class _Ledger:
    """One key in one period, in thousand-millionths of a dollar."""

    spent: int
    reserved: dict[str, tuple[int, float]]

    @property
    def total(self) -> int:
        return self.spent + sum(amount for amount, _ in self.reserved.values())


class BudgetBook:
    """The spending of all keys, shared by threads and processes. Raises `ConfigError` for a damaged file."""

    def __init__(self, home: Path, *, clock: Callable[[], float] = time.time) -> None:
        self.path = home / SPENDING_FILE
        self._clock = clock
        self._lock = threading.Lock()

    def spent(self, key: VirtualKey) -> Decimal:
        """Return the dollars that a key spent in this period, reservations included."""
        found = self._read().get(self._name(key))
        return Decimal(found.total) / _NANO if found else Decimal(0)

    def reserve(self, key: VirtualKey, dollars: Decimal) -> str:
        """Put money aside, and return by which name; raises `OverBudget`."""
        amount = _whole(dollars)
        with self._lock, hold_file(self.path):
            book = self._read()
            ledger = book.setdefault(self._name(key), _Ledger(0, {}))
            most = _whole(key.budget_dollars or Decimal(0))
            if ledger.total + amount > most:
                left = Decimal(max(most - ledger.total, 0)) / _NANO
                raise OverBudget(
                    f"the budget of this key has ${left:.4f} left of ${key.budget_dollars}"
                    f" {_per(key.period)}, and this request may cost ${dollars:.4f}"
                )
            # The period is part of it: a request may be answered in the next one.
            name = f"{self._name(key)}/{secrets.token_hex(8)}"
            ledger.reserved[name] = (amount, self._clock())
            self._write(book, key)
        return name

    def settle(self, key: VirtualKey, name: str, dollars: Decimal) -> None:
        """Book a cost in place of its reservation."""
        with self._lock, hold_file(self.path):
            book = self._read()
            ledger = book.setdefault(name.rpartition("/")[0], _Ledger(0, {}))
            ledger.reserved.pop(name, None)
            ledger.spent += _whole(dollars)
            self._write(book, key)

    def _name(self, key: VirtualKey) -> str:
        now = datetime.fromtimestamp(self._clock(), UTC)
        return f"{key.id}/{now.strftime(_PERIOD_FORMS[key.period])}"

    def _read(self) -> dict[str, _Ledger]:
        try:
            held = load_object(self.path)
            book = {name: _read_ledger(value) for name, value in held.items()}
        except (OSError, ValueError, TypeError, KeyError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise ConfigError(
                SPENDING_FILE, str(self.path), hint=f"the spending of keys, as it was written ({reason})"
            ) from None
        oldest = self._clock() - _STALE_SECONDS
        for ledger in book.values():
            for name in [name for name, (_, at) in ledger.reserved.items() if at < oldest]:
                ledger.spent += ledger.reserved.pop(name)[0]
        return book

    def _write(self, book: dict[str, _Ledger], key: VirtualKey) -> None:
        own = sorted(name for name in book if name.startswith(f"{key.id}/"))
        for name in own[:-_KEPT_PERIODS]:
            del book[name]
        save_object(
            self.path, {name: {"spent": each.spent, "reserved": each.reserved} for name, each in book.items()}
        )


@dataclass(frozen=True, slots=True)
class KeyBudget:
    """The money of one key, for requests and for the summaries that they need."""

    key: VirtualKey
    book: BudgetBook

    def reserve(
        self, model: str, prompt_tokens: int, output_tokens: int | None, *, answers: int = 1
    ) -> "Reservation":
        """Put aside the most that a call may cost; raises `OverBudget`, and so where its price is unknown.

        A call may ask for several `answers`, each as long as `output_tokens`.
        """
        facts = find_model(model)
        most = facts.max_output_tokens if facts is not None else None
        asked = output_tokens or most or _USUAL_OUTPUT
        output = min(asked, most or asked) * answers
        forms = (
            CanonicalUsage(prompt_tokens, output),
            CanonicalUsage(0, output, cache_write_tokens=prompt_tokens),
        )
        costs = [cost.dollars for usage in forms if (cost := price(usage, model)).is_complete]
        known = [dollars for dollars in costs if dollars is not None]
        if not known:
            raise OverBudget(
                f"the price of {model} is not known, and this key has a budget; ask for a model with a price"
            )
        return Reservation(self, model, max(known), self.book.reserve(self.key, max(known)))


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money that is put aside for one call."""

    key_budget: KeyBudget
    model: str
    dollars: Decimal
    name: str

    def settle(self, usage: CanonicalUsage | None, charged: Decimal | None = None) -> None:
        """Book what a call cost: as it was charged, or priced by its usage, or else the whole reservation."""
        cost = charged
        if cost is None and usage is not None:
            cost = price(usage, self.model).dollars
        self.key_budget.book.settle(self.key_budget.key, self.name, self.dollars if cost is None else cost)

    def release(self) -> None:
        """Give all of it back: nothing was answered."""
        self.key_budget.book.settle(self.key_budget.key, self.name, Decimal(0))


def _whole(dollars: Decimal) -> int:
    return int((dollars * _NANO).to_integral_value(ROUND_UP))


def _per(period: BudgetPeriod) -> str:
    return "in all" if period is BudgetPeriod.EVER else f"a {period.value}"


def _read_ledger(value: object) -> _Ledger:
    if not isinstance(value, dict):
        raise TypeError
    reserved = {name: (int(amount), float(at)) for name, (amount, at) in value["reserved"].items()}
    return _Ledger(int(value["spent"]), reserved)
