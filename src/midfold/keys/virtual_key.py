"""A key that the gateway gave out, without its text: only a keyed hash of that is kept."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from midfold.late_dataclasses import dataclass, field

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""of a key, a tenant or an upstream: fit for logs, headers and file names as it is"""
_DIGEST_CHARS = 64


class BudgetPeriod(StrEnum):
    """The time after which a budget is whole again, by the calendar in UTC."""

    DAY = "day"
    MONTH = "month"
    EVER = "ever"


@dataclass(frozen=True, slots=True)
class VirtualKey:
    """The rights of a key. `None` is without a limit; no `upstreams` are the usual ones."""

    id: str
    name: str
    digest: str = field(repr=False)
    tenant: str = ""
    is_admin: bool = False
    upstreams: tuple[str, ...] = ()
    budget_dollars: Decimal | None = None
    period: BudgetPeriod = BudgetPeriod.MONTH
    per_minute: int | None = None
    parallel: int | None = None
    created_at: float = 0.0
    expires_at: float | None = None
    revoked_at: float | None = None

    def is_valid(self, now: float) -> bool:
        """Whether it may still be used."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def to_json(self) -> dict[str, object]:
        """Return it as the file has it."""
        kept = asdict(self)
        kept["budget_dollars"] = None if self.budget_dollars is None else str(self.budget_dollars)
        return kept | {"period": self.period.value, "upstreams": list(self.upstreams)}

    @staticmethod
    def from_json(value: object) -> "VirtualKey":
        """Read one back; raises `ValueError` for anything that was not written by `to_json`."""
        if not isinstance(value, Mapping):
            raise ValueError("a key is no object")  # noqa: TRY004 - one kind of error for a damaged file
        given = dict(value)
        try:
            dollars, upstreams = given.pop("budget_dollars"), given.pop("upstreams")
            period = BudgetPeriod(given.pop("period"))
            budget = None if dollars is None else Decimal(dollars)
            key = VirtualKey(**given, period=period, upstreams=tuple(upstreams), budget_dollars=budget)
        except (TypeError, KeyError, InvalidOperation) as error:
            raise ValueError(f"a key cannot be read ({type(error).__name__})") from None
        texts = (key.id, key.name, key.digest, key.tenant, *key.upstreams)
        if not all(isinstance(text, str) for text in texts) or len(key.digest) != _DIGEST_CHARS:
            raise ValueError("a key has fields of the wrong kind")
        return key
