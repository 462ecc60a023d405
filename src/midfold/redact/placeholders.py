"""What stands in a credential's place: `[REDACTED:jwt]`, or with a key `[REDACTED:jwt:3fa9]`."""

import re
from hashlib import blake2b

from midfold.redact.shapes import MIDDLE_SHAPES, SHAPES

_KINDS_BY_PLACE = [
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
    (*(shape.kind for shape in SHAPES), *(shape.kind for shape in MIDDLE_SHAPES), *_KINDS_BY_PLACE)
)
"""Every kind there is."""

OPENING = b"[REDACTED:"
"""What every placeholder begins with."""
_ID_BYTES = 2
_PLACEHOLDER = re.compile(rf"\[REDACTED:(?:{'|'.join(sorted(KINDS))})(?::[0-9a-f]{{4}})?\]".encode())


def placeholder(kind: str, secret: str, key: bytes) -> str:
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
    return b"\f" * len(match[0])
