"""The rules of a dialect as a value, and the request that they are checked against.

In that request SDK objects are read as the dicts they stand for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from midfold.ports import Fault
from midfold.wire.dialect import plain
from midfold.wire.validate.profiles import Profile

STILL_WAITING = "is still waiting for its result"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A request as far as its messages depend on it."""

    messages: list[object]
    system: object
    tools: list[object] | None
    """`None` when nobody said which tools are offered, which differs from none being offered."""
    profile: Profile
    thinking: bool
    continues: bool
    """The provider keeps a history before the messages, so what they lack may stand there."""
    enforce: bool
    """Ask for more than the provider does."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The things that the provider of a dialect refuses."""

    check: Callable[[Outgoing], Iterator[Fault]]
    """Name what the provider would refuse, and what we refuse besides when the rules are enforced."""
    not_a_list: str
    """the code for what is no list of messages at all"""
    takes_text: bool = False
    """plain text may stand in place of the list"""
    profile: str = "openai"
    """of the dialect's own provider"""
    profiles_by_model: Mapping[str, str] = field(default_factory=dict)
    """the profiles of others who serve this dialect, by a pattern that the model's name matches"""


def is_waiting(fault: Fault) -> bool:
    """Tell a call that is open at the end of the list from one that the list went on without answering."""
    return fault.reason.endswith(STILL_WAITING)


def read_list(values: object) -> list[object] | None:
    """Read a list whose members may be SDK objects; `None` for what is no list."""
    if not isinstance(values, (list, tuple)):
        return None
    # Asking for the type first spares the common case a call.
    return [value if type(value) is dict else plain(value) for value in values]


def read_text(item: dict[str, object], key: str) -> str | None:
    """Return what stands under `key` when it is text."""
    value = item.get(key)
    return value if isinstance(value, str) else None


_SHOWN_CHARS = 80


def shown(text: str) -> str:
    """Quote a text from the request, shortened so that a reason stays one line."""
    return repr(text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…")
