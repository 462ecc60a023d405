"""How wire items become rows and come back.

One choke point: nothing reaches a table but through `pack_item` and `pack_value`, which put placeholders
where credentials were and mend what a database cannot hold.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from midfold.compression.redact import find_secrets, redact
from midfold.compression.results import texts_of
from midfold.errors import StoreError
from midfold.messages import Message
from midfold.transcripts import decode_json
from midfold.wire import parse
from midfold.wire.plain import plain

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
# A lone surrogate cannot be bound, a NUL cuts a text short in some functions of the database.
_UNSTORABLE = {0: 0x2400, **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)}
_NUL_IN_JSON = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")
_MAX_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Packed:
    """A JSON text that may be stored."""

    body: str
    is_redacted: bool
    is_exact: bool
    """says all that the item says, letter by letter"""


def pack_item(item: object, key: bytes | None) -> Packed:
    """Spell a wire item for storing; `key` makes its placeholders stable, `None` keeps credentials."""
    value = plain(item)
    spelled = _spell(value)
    body = _clean_json(spelled)
    is_exact = body == spelled
    if key is None:
        return Packed(body, is_redacted=False, is_exact=is_exact)
    # Some shapes show only in the words themselves, some only next to the name of their field.
    if not find_secrets(body) and not find_secrets("\n".join(_strings(value))):
        return Packed(body, is_redacted=False, is_exact=is_exact)
    return Packed(_clean_json(_redact_json(value, key)), is_redacted=True, is_exact=False)


def pack_value(value: object, key: bytes | None) -> str:
    """Spell any JSON value for storing."""
    return pack_item(value, key).body


def clean_text(text: str) -> str:
    """Return a text that every database can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.translate(_UNSTORABLE)
    return text.replace("\0", "\u2400") if "\0" in text else text


def _clean_json(body: str) -> str:
    """Clean a JSON text, in which a NUL is spelled with a backslash that is not itself spelled with one."""
    return _NUL_IN_JSON.sub("\\1\u2400", clean_text(body)) if "\\u0000" in body else clean_text(body)


def read_body(dialect: str, body: str) -> Message:
    """Read a stored item as a message."""
    return parse([decode_json(body)], dialect)[0]


def texts_in(message: Message) -> Iterator[str]:
    """Yield what a search should find a message by."""
    for call in message.calls:
        yield call.name
    yield from texts_of(message)


def _spell(value: object) -> str:
    try:
        return _encode(_plain_deeply(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a message cannot be stored as JSON: {error}") from error


def _plain_deeply(value: object, depth: int = 0) -> object:
    """Read SDK objects inside an item, too; everything plain stays the same object where it can."""
    value = plain(value)
    if depth > _MAX_DEPTH:
        raise ValueError(f"nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {str(name): _plain_deeply(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain_deeply(inner, depth + 1) for inner in value]
    return value


def _strings(value: object) -> Iterator[str]:
    value = plain(value)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _redact_json(value: object, key: bytes) -> str:
    """Redact the words, then the text they stand in: a password may be one only by its field's name."""
    body = _spell(_redact_strings(value, key))
    redacted = redact(body, key=key)
    if redacted == body or _is_json(redacted):
        return redacted
    return _spell(_redact_fields(value, key))


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
    return "[REDACTED:secret]" if find_secrets(_encode({name: value})) else value


def _is_json(text: str) -> bool:
    try:
        decode_json(text)
    except (ValueError, RecursionError):
        return False
    return True
