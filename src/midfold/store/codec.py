"""How wire items become rows and come back.

One choke point: nothing reaches a table but through `pack_item` and `pack_value`, which put placeholders
where credentials were and mend what a database cannot hold.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from midfold.compression.redact import find_secrets, redact
from midfold.compression.results import texts_of
from midfold.errors import MidfoldError, StoreError
from midfold.messages import Message
from midfold.transcripts import decode_json
from midfold.wire import parse
from midfold.wire.plain import plain

# A lone surrogate cannot be bound, a NUL cuts a text short in some functions of the database.
_UNSTORABLE = {0: 0x2400, **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)}
_NUL_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_MAX_DEPTH = 100
_WHOLE_FIELD = "[REDACTED:secret]"


class DamagedRow(StoreError, ValueError):
    """What is stored cannot be what was written."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A JSON text that may be stored."""

    body: str
    is_redacted: bool
    is_exact: bool
    """says all that the item says, letter by letter"""


def pack_item(item: object, key: bytes | None) -> Packed:
    """Spell a wire item for storing; `key` makes its placeholders stable, `None` keeps credentials."""
    strings: list[str] = []
    if not _gather(item, strings):
        item = _make_plain(item)
        strings.clear()
        _gather(item, strings)
    spelled, is_exact = _spell(item)
    # Some shapes show only in the words themselves, some only next to the name of their field.
    if key is None or not find_secrets("\n".join([spelled, *strings])):
        return Packed(spelled, is_redacted=False, is_exact=is_exact)
    redacted = _redact_json(item, key)
    is_redacted = redacted != spelled
    return Packed(redacted, is_redacted, is_exact and not is_redacted)


def pack_value(value: object, key: bytes | None) -> str:
    """Spell any JSON value for storing."""
    return pack_item(value, key).body


def clean_text(text: str) -> str:
    """Return a text that every database can hold."""
    if text.isascii():
        return text.replace("\0", "\u2400") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_UNSTORABLE)
    return text.replace("\0", "\u2400") if "\0" in text else text


def read_body(dialect: str, body: str) -> Message:
    """Read a stored item as a message. Raises `DamagedRow` when it is none."""
    try:
        return parse([decode_json(body)], dialect)[0]
    except (ValueError, RecursionError, MidfoldError) as error:
        raise DamagedRow(f"a stored message cannot be read: {error}") from error


def read_value(body: str) -> object:
    """Read a stored JSON value. Raises `DamagedRow` when it is none."""
    try:
        return decode_json(body)
    except (ValueError, RecursionError) as error:
        raise DamagedRow(f"a stored value cannot be read: {error}") from error


def texts_in(message: Message) -> Iterator[str]:
    """Yield what a search should find a message by."""
    for call in message.calls:
        yield call.name
    yield from texts_of(message)


def _gather(value: object, strings: list[str], depth: int = 0) -> bool:
    """Collect the texts of a JSON value; false when it is none, or none that comes back the same."""
    kind = type(value)
    if kind is str:
        strings.append(value)  # type: ignore[arg-type]
        return True
    if kind is dict and depth < _MAX_DEPTH:
        return all(
            type(name) is str and _gather(inner, strings, depth + 1)
            for name, inner in value.items()  # type: ignore[attr-defined]
        )
    if kind is list and depth < _MAX_DEPTH:
        return all(_gather(inner, strings, depth + 1) for inner in value)  # type: ignore[attr-defined]
    return value is None or kind is bool or kind is int


def _make_plain(value: object) -> object:
    """Read an item that is no JSON value, or one with numbers that want care, as one."""
    try:
        plain_value = _plain_deeply(value)
        json.dumps(plain_value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a message cannot be stored as JSON: {error}") from error
    return plain_value


def _plain_deeply(value: object, depth: int = 0) -> object:
    value = plain(value)
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {str(name): _plain_deeply(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain_deeply(inner, depth + 1) for inner in value]
    return value


def _spell(value: object) -> tuple[str, bool]:
    """Return a JSON text that can be stored, and whether it says all that the value says."""
    try:
        spelled = _encode(value)
    except UnicodeEncodeError:
        spelled = clean_text(_encode_anything(value))
        return _without_nul(spelled), False
    cleaned = _without_nul(spelled)
    return cleaned, cleaned == spelled


def _without_nul(spelled: str) -> str:
    """Show each NUL as a sign; the backslash before its number may itself be spelled with one."""
    return _NUL_IN_JSON.sub("\\1\u2400", spelled) if "\\u0000" in spelled else spelled


def _redact_json(value: object, key: bytes) -> str:
    """Redact the words, then the text they stand in: a password may be one only by its field's name."""
    body, _ = _spell_slowly(_redact_strings(value, key))
    redacted = redact(body, key=key)
    if redacted == body or _is_json(redacted):
        return redacted
    return _spell_slowly(_redact_fields(value, key))[0]


def _redact_strings(value: object, key: bytes) -> object:
    value = plain(value)
    if isinstance(value, str):
        return redact(value, key=key)
    if isinstance(value, dict):
        return {redact(str(name), key=key): _redact_strings(inner, key) for name, inner in value.items()}
    return [_redact_strings(inner, key) for inner in value] if isinstance(value, list) else value


def _redact_fields(value: object, key: bytes) -> object:
    """Redact each text together with its field's name; one in which something is found goes as a whole."""
    value = plain(value)
    if isinstance(value, dict):
        return {
            redact(str(name), key=key): _redact_field(str(name), inner, key) for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_redact_fields(inner, key) for inner in value]
    return redact(value, key=key) if isinstance(value, str) else value


def _redact_field(name: str, value: object, key: bytes) -> object:
    if not isinstance(value, str):
        return _redact_fields(value, key)
    value = redact(value, key=key)
    return _WHOLE_FIELD if find_secrets(_encode({name: value})) else value


def _is_json(text: str) -> bool:
    try:
        decode_json(text)
    except (ValueError, RecursionError):
        return False
    return True
