"""The common parts of the three grammars: JSON as providers write it, events, and texts in pieces."""

import json
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.testing.upstream.script import Reply
from midfold.tokens import CanonicalUsage

Json: TypeAlias = dict[str, object]

CREATED = 1_760_000_000
"""When every reply was made: the same script gives the same bytes."""

_DELTA_CHARS = 24


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """One reply and what its wording depends on. `number` makes its ids; `usage` is what it reports."""

    number: int
    model: str
    reply: Reply
    usage: CanonicalUsage | None
    usage_chunk: bool = False


def write_json(value: Mapping[str, object]) -> bytes:
    """Write JSON with letters as they are, so that a stream can be cut inside one.

    Half a surrogate pair has no bytes of its own; the escape that replaces it is the JSON for it.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def write_event(data: Mapping[str, object], name: str = "") -> bytes:
    """Write one server-sent event. Words travel as JSON, which has no line ends; a name may have none."""
    if not name.isprintable():
        raise ValueError(f"the name of an event is {name!r}; expected one line")
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + write_json(data) + b"\n\n"


def in_pieces(text: str) -> Iterator[str]:
    """Cut a text as a model lets it out: a few words at a time."""
    return (text[start : start + _DELTA_CHARS] for start in range(0, len(text), _DELTA_CHARS))
