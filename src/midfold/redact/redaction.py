"""Takes credentials out of text: `[REDACTED:jwt]` stands in their place, or with a key `[REDACTED:jwt:3fa9]`.

Each detector screens the text, then reads what its screen found.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b

from midfold.redact import assignments, headers, private_keys, tokens
from midfold.redact.patterns import Engine, ascii_form, choose_engine
from midfold.redact.scanner import Detector, Findings, ScannedPart, Scanner, join
from midfold.redact.secrets import Secret
from midfold.redact.shapes import MAX_BEFORE_CHARS, MIDDLE_SHAPES, SHAPES

# The surest first: where two find the same text, the surer one names it.
_LINE_DETECTORS = (
    (tokens.SCREEN, tokens.read_token),
    (headers.SCREEN, headers.read_header),
    (headers.URL_SCREEN, headers.read_url),
    (assignments.SCREEN, assignments.read_assignment),
)
# Nearly every text, and nearly every line of others, is let go after one look for all there is.
_GATE = (tokens.SCREEN, tokens.MIDDLE_SIGNS, headers.SCREEN, headers.URL_SCREEN, assignments.SCREEN)
# What stands next to a placeholder may be read otherwise than next to a secret, so redacted text is looked at
# again. More than one more round takes text made for it, and that must not make us go round for ever.
_MAX_ROUNDS = 8

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
"""What every placeholder begins with."""
_ID_BYTES = 2
_PLACEHOLDER = re.compile(rf"\[REDACTED:(?:{'|'.join(sorted(KINDS))})(?::[0-9a-f]{{4}})?\]".encode())


class Finder:
    """Finds credentials with the given engine."""

    def __init__(self, engine: Engine) -> None:
        self._gate = engine(b"|".join(_GATE))
        detectors = [Detector(engine(screen), read) for screen, read in _LINE_DETECTORS]
        middle = Detector(tokens.MIDDLE_SCREEN, tokens.read_middle, MAX_BEFORE_CHARS)
        self._detectors = (detectors[0], middle, *detectors[1:])

    def find(self, text: str) -> list[Secret]:
        """Return the credentials in `text` from first to last; no two overlap."""
        return [secret for part in self.find_parts(text) for secret in _moved(part)]

    def find_parts(self, text: str) -> list[ScannedPart]:
        """Return the parts of `text` that hold credentials, from first to last."""
        data = _hide_placeholders(ascii_form(text))
        parts = list(Scanner(data, self._gate, self._detectors).parts())
        keys = list(private_keys.find_keys(data)) if any(map(data.__contains__, private_keys.WORDS)) else []
        if not keys:
            return parts
        # A key has many lines, so it may reach over parts.
        joined = join([*keys, *(secret for part in parts for secret in _moved(part))])
        return [ScannedPart(0, len(text), Findings(tuple(joined)))]


@cache
def default_finder() -> Finder:
    """Return the finder with the best engine there is; compiling takes some milliseconds, once."""
    return Finder(choose_engine())


def redact(text: str, *, key: bytes = b"", finder: Finder | None = None) -> str:
    """Return `text` with a typed placeholder for each credential, or `text` itself if it has none.

    With a `key` of up to 64 bytes a placeholder carries four hex digits of a keyed digest: the same
    credential has the same placeholder wherever that key is used, and nobody without it can test a guess.
    Redacting the result again changes nothing.
    """
    finder = finder or default_finder()
    for _ in range(_MAX_ROUNDS):
        parts = finder.find_parts(text)
        if not parts:
            break
        text = "".join(_write(text, parts, key))
    return text


def find_secrets(text: str) -> list[Secret]:
    """Return the credentials in `text` from first to last; no two overlap."""
    return default_finder().find(text)


def _write(text: str, parts: Iterable[ScannedPart], key: bytes) -> Iterator[str]:
    """Yield the text with its parts written; one that comes again is written once."""
    written: dict[tuple[Findings, str], str] = {}
    position = 0
    for part in parts:
        yield text[position : part.start]
        shown = (part.findings, text[part.start : part.stop])
        if shown not in written:
            written[shown] = "".join(_pieces(shown[1], part.findings.secrets, key))
        yield written[shown]
        position = part.stop
    yield text[position:]


def _pieces(text: str, secrets: Iterable[Secret], key: bytes) -> Iterator[str]:
    """Yield the text between the secrets and a placeholder for each, in order."""
    position = 0
    for secret in secrets:
        yield text[position : secret.start]
        yield _placeholder(secret.kind, text[secret.start : secret.stop], key)
        position = secret.stop
    yield text[position:]


def _moved(part: ScannedPart) -> Iterator[Secret]:
    """Yield the credentials of a part, counted from where the text begins."""
    for secret in part.findings.secrets:
        yield Secret(secret.kind, part.start + secret.start, part.start + secret.stop)


def _placeholder(kind: str, secret: str, key: bytes) -> str:
    """Write the placeholder of a secret; `key` has at most 64 bytes."""
    if not key:
        return f"[REDACTED:{kind}]"
    digest = blake2b(secret.encode("utf-8", "surrogatepass"), key=key, digest_size=_ID_BYTES)
    return f"[REDACTED:{kind}:{digest.hexdigest()}]"


def _hide_placeholders(data: bytes) -> bytes:
    """Put form feeds in the place of placeholders: nothing is found in them, nor across them.

    Only the kinds that we write count, so that brackets around a credential do not save it from being found.
    """
    return _PLACEHOLDER.sub(_blank, data) if OPENING in data else data


def _blank(match: re.Match[bytes]) -> bytes:
    return b"\f" * len(match[0])
