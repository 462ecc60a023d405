"""Wire items as JSON texts that may be stored, and back.

One choke point: nothing reaches a table but through `pack_item`, `pack_value` and `pack_exact`, which put
placeholders where credentials were and replace, or escape, what a database cannot hold.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b

import msgspec

from midfold.errors import MidfoldError, StoreError
from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.messages import Message, Part, ToolCall, ToolResult, texts_of
from midfold.redact import escaped_strings, find_secrets, redact
from midfold.search import SEARCH_TOOLS
from midfold.transcripts import decode_json
from midfold.wire import parse, plain

# A lone surrogate cannot be bound, a NUL cuts a text short in some functions of the database.
_UNSTORABLE = {0: 0x2400, **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)}
_NUL_IN_JSON = compile_late(r"(?<!\\)((?:\\\\)*)\\u0000")
_MAX_DEPTH = 100
_OUTLINE_CHARS = 256
_LEAST_SECRET_CHARS = 16
_encode = msgspec.json.Encoder().encode
_encode_ascii = json.JSONEncoder(separators=(",", ":")).encode
_encode_anything = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_WHOLE_FIELD = "[REDACTED:secret]"

# Credentials that only a reader of JSON makes out. Some are named by the field beside them, as in
# `{"name": "DB_PASSWORD", "value": ...}`. Some lie deeper in JSON inside of JSON than a search for names
# looks, and some have a name that is written with escapes. All of them are found in the text: a field is two
# strings with a colon between, whatever backslashes its quotes have.
#
# A look for the first of each is all that most texts cost.
_PAIR_SIGN, _PAIR_SIGNS = "alue", ('alue"', "alue\\")
_DEPTH_SIGN = "\\\\"
# Seven backslashes: JSON in a string of JSON in a string of JSON, which is a string itself.
_DEEP_SIGN = '\\\\\\\\\\\\\\"'
_ESCAPE_SIGN = "\\\\u00"

_QUOTE = r'\\*"'
_SPACES = r"(?:\s|\\+[nrt])*"
_COLON = rf"{_QUOTE}{_SPACES}:{_SPACES}{_QUOTE}"
_NAME = r'((?:[^"\\]|\\+u[0-9a-f]{4}){1,128})'
_VALUE = r'([^"\\]*(?:\\+[^"\\][^"\\]*)*)'
_OTHER_FIELDS = r"(?:\\*[^{}\\]){1,128}?\\*"
_NAME_FIRST = compile_late(
    rf'"(?:name|key){_COLON}{_NAME}{_QUOTE}{_OTHER_FIELDS}"value{_COLON}{_VALUE}', re.IGNORECASE
)
_VALUE_FIRST = compile_late(
    rf'"value{_COLON}{_VALUE}{_QUOTE}{_OTHER_FIELDS}"(?:name|key){_COLON}{_NAME}', re.IGNORECASE
)
_DEEP_FIELD = compile_late(rf'(?<=\\{{7}})"{_NAME}{_COLON}{_VALUE}', re.IGNORECASE)
_FIELD = compile_late(rf'"{_NAME}{_COLON}{_VALUE}', re.IGNORECASE)
_ESCAPE = compile_late(r"\\+u([0-9a-f]{4})", re.IGNORECASE)

DAMAGED_TEXT = "[This message was damaged in the session store and cannot be read.]"
"""The text in place of a damaged message, for people and for models."""


class DamagedRow(StoreError, ValueError):
    """A stored row cannot be the one that was written."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A JSON text that may be stored."""

    body: str
    is_redacted: bool
    is_exact: bool
    """says all that the item says, letter by letter"""


def pack_item(item: object, key: bytes | None) -> Packed:
    """Encode a wire item for storing; `key` makes its placeholders stable, `None` keeps credentials."""
    packed = _pack(item, key)
    hidden = packed.body if key is None else hide_fields(packed.body, key)
    return packed if hidden is packed.body else Packed(hidden, is_redacted=True, is_exact=False)


def _pack(item: object, key: bytes | None) -> Packed:
    strings: list[str] = []
    try:
        outline = _outline(item, strings)
    except _NotPlain:
        item = outline = _make_plain(item)
        strings = list(_strings(item))
        encoded, is_exact = _encode_any_json(item)
    else:
        encoded, is_exact = _encode_json(item)
    if key is None or not _may_hold_secrets(outline, strings):
        return Packed(encoded, is_redacted=False, is_exact=is_exact)
    redacted = _redact_json(item, key)
    is_redacted = redacted != encoded
    return Packed(redacted, is_redacted, is_exact and not is_redacted)


def pack_value(value: object, key: bytes | None) -> str:
    """Encode any JSON value for storing."""
    return pack_item(value, key).body


def pack_exact(value: object, key: bytes | None) -> str:
    """Encode a JSON value so that it comes back letter by letter: in ASCII nothing has to be replaced.

    Only where credentials are left in it do they go, as everywhere.
    """
    redacted = value if key is None else _redact_strings(value, key)
    packed = pack_item(redacted, key)
    return packed.body if packed.is_redacted else _encode_ascii(redacted)


def hide_text(text: str, key: bytes | None) -> str:
    """Return a plain text that may be stored."""
    if len(text) < _LEAST_SECRET_CHARS and text.isidentifier():
        return text  # roles and reasons are words; no credential is so short, and no name stands before it
    return clean_text(text if key is None else redact(text, key=key))


def hide_id(text: str, key: bytes | None) -> str:
    """Return an id that may be stored: one that holds a credential becomes a digest, each time the same."""
    if key is None or not find_secrets(text):
        return clean_text(text)
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()


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
    except (TypeError, ValueError, RecursionError, MidfoldError) as error:
        raise DamagedRow(f"a stored message cannot be read: {error}") from error


def read_value(body: str) -> object:
    """Read a stored JSON value. Raises `DamagedRow` when it is none."""
    try:
        return decode_json(body)
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedRow(f"a stored value cannot be read: {error}") from error


@contextmanager
def damage_noticed(what: str) -> Iterator[None]:
    """Say so when a row does not hold what such rows hold: a number for a text, a word nobody wrote."""
    try:
        yield
    except DamagedRow:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise DamagedRow(f"a stored {what} cannot be read: {type(error).__name__}") from error


_SPEAKERS = ("user", "assistant")


def stored_texts(dialect: str, body: str) -> Iterator[str]:
    """Yield what a search should find a stored item by. Raises `DamagedRow` when it is none."""
    return texts_in(read_body(dialect, body))


def texts_in(message: Message) -> Iterator[str]:
    """Yield what a search should find a message by; what was asked of a search and found by it is no find."""
    parts = tuple(part for part in message.parts if not _is_search(part))
    for part in parts:
        if isinstance(part, ToolCall):
            yield part.name
    name = message.raw.get("name") if isinstance(message.raw, dict) else None
    if isinstance(name, str) and message.role in _SPEAKERS:
        yield name
    yield from texts_of(message if len(parts) == len(message.parts) else Message(message.role, parts))


def _is_search(part: Part) -> bool:
    return isinstance(part, ToolCall | ToolResult) and part.name in SEARCH_TOOLS


class _NotPlain(Exception):
    """A value is no JSON value, or one that wants care."""


def _outline(value: object, strings: list[str], depth: int = 0) -> object:
    """Collect the texts of a JSON value, and return the same value with its long texts cut."""
    kind = type(value)
    if kind is str:
        strings.append(value)  # type: ignore[arg-type]
        strings += escaped_strings(value)  # type: ignore[arg-type]
        return value[:_OUTLINE_CHARS]  # type: ignore[index]
    if depth > _MAX_DEPTH:
        raise _NotPlain
    if kind is dict:
        cut: dict[str, object] = {}
        for name, inner in value.items():  # type: ignore[attr-defined]
            if type(name) is not str:
                raise _NotPlain
            cut[name] = _outline(inner, strings, depth + 1)
        return cut
    if kind is list:
        return [_outline(inner, strings, depth + 1) for inner in value]  # type: ignore[attr-defined]
    if value is None or kind is bool or kind is int:
        return value
    raise _NotPlain


def _may_hold_secrets(outline: object, strings: list[str]) -> bool:
    """Some shapes show only in the words themselves, some only next to the name of their field.

    A name says what its field begins with, too, so long texts are looked at once and not twice.
    """
    return bool(find_secrets("\n".join([_encode_json(outline)[0], *strings])))


def _make_plain(value: object, depth: int = 0) -> object:
    """Read SDK objects as what they stand for, also inside an item."""
    value = plain(value)
    if depth > _MAX_DEPTH:
        raise StoreError(f"a message cannot be stored: it is nested more than {_MAX_DEPTH} deep")
    if isinstance(value, dict):
        return {str(name): _make_plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_make_plain(inner, depth + 1) for inner in value]
    return value


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _encode_json(value: object) -> tuple[str, bool]:
    """Return a JSON text that can be stored, and whether it says all that the value says."""
    try:
        encoded = _encode(value).decode()
    except (TypeError, UnicodeEncodeError, OverflowError):
        return _encode_any_json(value)
    cleaned = _without_nul(encoded)
    return cleaned, cleaned is encoded


def _encode_any_json(value: object) -> tuple[str, bool]:
    """Do the same for what the quick encoder refuses, or would change."""
    try:
        encoded = _encode_anything(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(f"a message cannot be stored as JSON: {error}") from error
    cleaned = _without_nul(clean_text(encoded))
    return cleaned, cleaned == encoded


def _without_nul(encoded: str) -> str:
    """Show each NUL as a sign; the backslash before its number may itself be escaped."""
    return _NUL_IN_JSON.sub("\\1\u2400", encoded) if "\\u0000" in encoded else encoded


def _redact_json(value: object, key: bytes) -> str:
    """Redact the words, then the text they stand in: a password may be one only by its field's name."""
    body, _ = _encode_any_json(_redact_strings(value, key))
    redacted = redact(body, key=key)
    if redacted == body or _is_json(redacted):
        return redacted
    return _encode_any_json(_redact_fields(value, key))[0]


def _redact_strings(value: object, key: bytes) -> object:
    if isinstance(value, str):
        return redact(value, key=key)
    if isinstance(value, dict):
        return {redact(str(name), key=key): _redact_strings(inner, key) for name, inner in value.items()}
    return [_redact_strings(inner, key) for inner in value] if isinstance(value, list) else value


def _redact_fields(value: object, key: bytes) -> object:
    """Redact each text together with its field's name; one in which something is found goes as a whole."""
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
    return _WHOLE_FIELD if find_secrets(_encode_anything({name: value})) else value


def _is_json(text: str) -> bool:
    try:
        decode_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def hide_fields(text: str, key: bytes) -> str:
    """Return a JSON text with placeholders in such fields; the very same text where there are none."""
    hidden = text
    if _PAIR_SIGN in text and any(sign in text for sign in _PAIR_SIGNS):
        hidden = _NAME_FIRST.sub(_hiding(key, name=1, value=2), hidden)
        hidden = _VALUE_FIRST.sub(_hiding(key, name=2, value=1), hidden)
    if _DEPTH_SIGN in text:
        if _DEEP_SIGN in text:
            hidden = _DEEP_FIELD.sub(_hiding(key, name=1, value=2), hidden)
        if _ESCAPE_SIGN in text:
            hidden = _FIELD.sub(_hiding(key, name=1, value=2), hidden)
    return text if hidden == text else hidden


def _hiding(key: bytes, *, name: int, value: int) -> Callable[[re.Match[str]], str]:
    def hide(found: re.Match[str]) -> str:
        whole, start = found[0], found.start()
        before, after = whole[: found.start(value) - start], whole[found.end(value) - start :]
        return f"{before}{_placeholder(found[name], found[value], key)}{after}"

    return hide


def _placeholder(name: str, value: str, key: bytes) -> str:
    """Return what stands for a value: the value itself where its name makes it no secret."""
    opening = f'"{_ESCAPE.sub(lambda found: chr(int(found[1], 16)), name)}": "'
    field = f'{opening}{value}"'
    hidden = redact(field, key=key)
    is_value = hidden.startswith(opening) and hidden.endswith('"')
    return hidden[len(opening) : -1] if hidden != field and is_value else value
