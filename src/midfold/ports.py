"""The protocols at which layers meet: what a part needs of another, without knowing which one it gets."""

from collections.abc import Sequence
from typing import Literal, Protocol

from midfold.late_dataclasses import dataclass
from midfold.messages import Message


class Count(Protocol):
    """Say how many tokens a message takes in the window."""

    def __call__(self, message: Message, /) -> int: ...


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule of a provider that a list of messages breaks.

    `index` is the message at fault, or `None` when the list as a whole is. A `warning` is accepted by the
    provider the rule belongs to, yet refused by some compatible servers.
    """

    code: str
    index: int | None
    reason: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        where = "" if self.index is None else f" in message {self.index}"
        return f"{self.code}{where}: {self.reason}"


class Validate(Protocol):
    """Name the rules that an outgoing list breaks; none when the provider will take it."""

    def __call__(self, messages: Sequence[object], /) -> list[Fault]: ...


class Sink(Protocol):
    """Keep a large text outside the conversation and give parts of it back.

    A sink belongs to one session: it knows no reference of another. Whatever goes wrong is an `OSError`, so
    that the caller can go on without it.
    """

    def write(self, key: str, text: str, *, tool: str = "") -> str:
        """Store `text` durably and return the reference under which `read` finds it.

        `key` distinguishes equal texts, as the id of a call does; the same text under the same key has the
        same reference. `tool` is what gave the text, for those who look through what is kept.
        """
        ...

    def read(self, reference: str, offset: int = 0, limit: int | None = None) -> str:
        """Return `limit` characters from `offset` on."""
        ...

    def holds(self, reference: str) -> bool:
        """Whether `read` would find it."""
        ...
