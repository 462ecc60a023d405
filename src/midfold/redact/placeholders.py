"""Placeholders: what stands in the place of a credential, and how a text that has some is read again."""

import re
from collections.abc import Iterable, Iterator
from hashlib import blake2b

from midfold.late_patterns import compile_late
from midfold.redact.shapes import MIDDLE_SHAPES, SHAPES

_KINDS_BY_CONTEXT = [
    "api-key",
    "authorization",
    "basic-auth",
    "bearer-token",
    "cookie",
    "credential",
    "jwt",
    "password",
    "private-key",
    "secret",
    "token",
    "url-password",
    "url-token",
]
KINDS = frozenset(
    (*(shape.kind for shape in SHAPES), *(shape.kind for shape in MIDDLE_SHAPES), *_KINDS_BY_CONTEXT)
)
"""Every kind there is."""

OPENING = b"[REDACTED:"
"""The beginning of every placeholder."""
# Farther than a private key is long, and than any other evidence or value.
_NEAR_CHARS = 20_480
_ID_BYTES = 2
# A pattern of all kinds would take longer to compile than all others together.
_PLACEHOLDER = compile_late(rb"\[REDACTED:([a-z0-9-]{1,64})(?::[0-9a-f]{4})?\]")


def write_placeholder(kind: str, secret: str, key: bytes) -> str:
    """Write the placeholder of a secret; `key` has at most 64 bytes."""
    if not key:
        return f"[REDACTED:{kind}]"
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=key, digest_size=_ID_BYTES)
    return f"[REDACTED:{kind}:{digest.hexdigest()}]"


def hide_placeholders(data: bytes) -> bytes:
    """Put form feeds in the place of placeholders: nothing is found in them, nor across them.

    Only the kinds that we write count, so that brackets around a credential do not save it from being found.
    """
    return _PLACEHOLDER.sub(_blank, data) if OPENING in data else data


def _blank(match: re.Match[bytes]) -> bytes:
    return b"\f" * len(match[0]) if match[1].decode() in KINDS else match[0]


def lines_around(text: str, written: Iterable[slice]) -> Iterator[slice]:
    """Yield the lines around what was `written`, stretch by stretch.

    No reading depends on what is farther away.
    """
    start = stop = 0
    for each in written:
        first, last = max(each.start - _NEAR_CHARS, 0), each.stop + _NEAR_CHARS
        if first > stop:
            if stop:
                yield slice(start, stop)
            start = max(text.rfind("\n", stop, first), stop)
        if last > stop:
            end = text.find("\n", last)
            stop = end if end >= 0 else len(text)
    if stop:
        yield slice(start, stop)
