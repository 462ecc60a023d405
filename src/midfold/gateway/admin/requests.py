"""Requests to the admin API: their parameters and bodies, read strictly."""

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias
from urllib.parse import parse_qs

from midfold.errors import MidfoldError
from midfold.late_dataclasses import dataclass, field

Json: TypeAlias = Mapping[str, object]

_MOST_DEPTH = 100
_MOST_DIGITS = 4_300
_MOST_TEXT = 8_000
_MOST_NUMBERS = 500
_MOST_NUMBER = 1_000_000_000


class AdminRefusal(MidfoldError):
    """A request that cannot be served; `str()` says why, in words for people."""

    def __init__(self, reason: str, status: int = 400, methods: Sequence[str] = ()) -> None:
        super().__init__(reason)
        self.status = status
        self.methods = methods
        """those that the path has, where it does not have the one that was used"""


@dataclass(frozen=True, slots=True)
class AdminRequest:
    """A request that was let in: the parts of its path, its query and its body."""

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Json = field(default_factory=dict, repr=False)
    by: str = "owner"
    """who asks, for the audit log"""

    def number(self, name: str, default: int, *, least: int = 0, most: int = 1_000_000_000) -> int:
        """Return a whole number of the query."""
        text = self.query.get(name)
        if text is None:
            return default
        # int() also reads other scripts, signs and underscores.
        if not (text.isascii() and text.isdecimal() and len(text) <= 10) or not least <= int(text) <= most:
            raise AdminRefusal(f"{name} is a number from {least:,} to {most:,}")
        return int(text)

    def choice(self, name: str, *choices: str) -> str:
        """Return a text of the query that is one of these; the first of them where it has none."""
        text = self.query.get(name, choices[0])
        if text not in choices:
            raise AdminRefusal(f"{name} is {' or '.join(choices)}")
        return text

    def path_number(self, name: str) -> int:
        """Return a whole number of the path; nothing else matches its route."""
        return int(self.path[name])

    def text(self, name: str, *, is_needed: bool = True) -> str:
        """Return a text of the body."""
        value = self.body.get(name, "")
        if not isinstance(value, str) or len(value) > _MOST_TEXT or "\x00" in value:
            raise AdminRefusal(f"{name} is a text of at most {_MOST_TEXT:,} characters")
        if is_needed and not value.strip():
            raise AdminRefusal(f"{name} is missing")
        return value

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers of the body."""
        value = self.body.get(name)
        found = value if isinstance(value, list) else []
        if not 0 < len(found) <= _MOST_NUMBERS or not all(map(_is_whole, found)):
            raise AdminRefusal(f"{name} is a list of numbers")
        return tuple(map(int, found))

    def check_fields(self, *names: str) -> None:
        """Raise `AdminRefusal` where the body has a field that nothing reads."""
        unknown = sorted(set(self.body).difference(names))
        if unknown:
            raise AdminRefusal(f"the body has only {', '.join(names) or 'no fields'}")


def read_query(query: bytes) -> dict[str, str]:
    """Read a query; the first of values by one name counts."""
    try:
        found = parse_qs(query.decode("ascii"), max_num_fields=50, errors="strict", keep_blank_values=True)
    except ValueError:
        raise AdminRefusal("the query cannot be read") from None
    if any("\x00" in value for values in found.values() for value in values):
        raise AdminRefusal("the query cannot be read")
    return {name: values[0] for name, values in found.items()}


def read_json(body: bytes) -> Json:
    """Read a body that is an object; raises `AdminRefusal` for anything else, however deep or long."""
    if not body:
        return {}
    if _depth(body) > _MOST_DEPTH:
        raise AdminRefusal(f"the body is nested deeper than {_MOST_DEPTH}")
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_whole_number,
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, _Refused) else "the body is no JSON"
        raise AdminRefusal(reason) from None
    if not isinstance(value, dict):
        raise AdminRefusal("the body is no JSON object")
    # A lone surrogate can neither be stored nor shown.
    if not _is_plain_text(value):
        raise AdminRefusal("the body has characters that are none")
    return value


class _Refused(ValueError):
    pass


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused("the body has a field twice")
    return found


def _refuse_constant(name: str) -> object:
    raise _Refused(f"{name} is no number")


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise _Refused("the body has a number that is too long")
    return int(text)


def _is_whole(value: object) -> bool:
    """Whether a value is a number of something; JSON has no other kind of number than 2.0."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return 0 <= value <= _MOST_NUMBER and value == int(value)


def _depth(body: bytes) -> int:
    """Count how deep brackets are nested, without those in texts."""
    depth = deepest = 0
    in_text = escaped = False
    for byte in body:
        if escaped:
            escaped = False
        elif in_text:
            escaped, in_text = byte == 0x5C, byte != 0x22
        elif byte == 0x22:
            in_text = True
        elif byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > _MOST_DEPTH:
                return deepest
        elif byte in b"]}":
            depth -= 1
    return deepest


def _is_plain_text(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
