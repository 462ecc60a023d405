"""Placeholders: what stands in the place of a credential, and how a text that has some is read again."""

import re
from collections.abc import Iterator
from hashlib import blake2b

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
_OPENING_TEXT = OPENING.decode()
# Farther than a private key is long, and than any other evidence or value.
_NEAR_CHARS = 20_480
_ID_BYTES = 2
# A pattern of all kinds would take longer to compile than all others together.
_PLACEHOLDER = re.compile(rb"\[REDACTED:([a-z0-9-]{1,64})(?::[0-9a-f]{4})?\]")


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


def near_placeholders(text: str) -> Iterator[slice]:
    """Yield the lines around placeholders, stretch by stretch; no reading depends on what is farther away."""
    start = stop = 0
    position = text.find(_OPENING_TEXT)
    while position >= 0:
        first = max(text.rfind("\n", 0, max(position - _NEAR_CHARS, 0)), 0)
        if stop and first > stop:
            yield slice(start, stop)
            start = first
        elif not stop:
            start = first
        end = text.find("\n", position + _NEAR_CHARS)
        stop = end if end >= 0 else len(text)
        # Whatever stands before is in this stretch, so the next one that counts is near its end.
        position = text.find(_OPENING_TEXT, max(position + 1, stop - _NEAR_CHARS))
    if stop:
        yield slice(start, stop)
