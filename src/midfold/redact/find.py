"""Brings together the ways to find a credential: each screens the text, then reads what its screen found."""

from collections.abc import Iterator
from functools import cache

from midfold.redact import assignments, blocks, headers, middles, tokens, urls
from midfold.redact.ascii_form import ascii_form
from midfold.redact.engine import Engine, re2_or_bounded
from midfold.redact.parts import PartReader, Way, join
from midfold.redact.placeholders import hide_placeholders
from midfold.redact.results import Findings, Part, Secret
from midfold.redact.shapes import MAX_BEFORE_CHARS

# The surest first: where two find the same place, it is named by the surer one.
_LINE_WAYS = (
    (tokens.SCREEN, tokens.read_token),
    (headers.SCREEN, headers.read_header),
    (urls.SCREEN, urls.read_url),
    (assignments.SCREEN, assignments.read_assignment),
)
# Nearly every text, and nearly every line of others, is let go after one look for all there is.
_GATE = (tokens.SCREEN, middles.SIGNS, headers.SCREEN, urls.SCREEN, assignments.SCREEN)


class Finder:
    """Finds credentials with the given engine."""

    def __init__(self, engine: Engine) -> None:
        self._gate = engine(b"|".join(_GATE))
        ways = [Way(engine(screen), read) for screen, read in _LINE_WAYS]
        middle = Way(middles.SCREEN, middles.read_middle, MAX_BEFORE_CHARS)
        self._ways = (ways[0], middle, *ways[1:])

    def find(self, text: str) -> list[Secret]:
        """Return the credentials in `text` from first to last; no two overlap."""
        return [secret for part in self.find_parts(text) for secret in _moved(part)]

    def find_parts(self, text: str) -> list[Part]:
        """Return the parts of `text` that hold credentials, from first to last."""
        data = hide_placeholders(ascii_form(text))
        parts = list(PartReader(data, self._gate, self._ways).parts())
        keys = list(blocks.find_keys(data)) if any(map(data.__contains__, blocks.WORDS)) else []
        if not keys:
            return parts
        # A key has many lines, so it may reach over parts.
        joined = join([*keys, *(secret for part in parts for secret in _moved(part))])
        return [Part(0, len(text), Findings(tuple(joined)))]


@cache
def default_finder() -> Finder:
    """Return the finder with the best engine there is; compiling takes some milliseconds, once."""
    return Finder(re2_or_bounded())


def find_secrets(text: str) -> list[Secret]:
    """Return the credentials in `text` from first to last; no two overlap."""
    return default_finder().find(text)


def _moved(part: Part) -> Iterator[Secret]:
    """Yield the credentials of a part, counted from where the text begins."""
    for secret in part.findings.secrets:
        yield Secret(secret.kind, part.start + secret.start, part.start + secret.stop)
