"""What the checks look at: a request in which SDK objects are read as the dicts they stand for."""

from dataclasses import dataclass

from midfold.ports import Fault
from midfold.wire.plain import plain
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
