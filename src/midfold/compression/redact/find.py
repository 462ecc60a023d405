"""Brings together the ways to find a credential: each screens the text, then reads what its screen found."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from midfold.compression.redact import assignments, blocks, headers, tokens, urls
from midfold.compression.redact.ascii_form import ascii_form
from midfold.compression.redact.engine import Engine, Pattern, re2_or_bounded
from midfold.compression.redact.placeholders import OPENING, hide_placeholders
from midfold.compression.redact.results import Reading, Secret

_Read = Callable[[bytes, int], Reading]
# The surest first: where two find the same place, it is named by the surer one.
_LINE_WAYS: tuple[tuple[bytes, _Read], ...] = (
    (tokens.SCREEN, tokens.read_token),
    (headers.SCREEN, headers.read_header),
    (urls.SCREEN, urls.read_url),
    (assignments.SCREEN, assignments.read_assignment),
)
# Lines are looked at together with those that follow: next to a suspicious line there often is another.
_TOGETHER_CHARS = 2_048


class Finder:
    """Finds credentials with the given engine."""

    def __init__(self, engine: Engine) -> None:
        self._block_screen = engine(blocks.SCREEN)
        # Nearly every text, and nearly every line of others, is let go after one look for all there is.
        words = map(re.escape, (*blocks.WORDS, OPENING))
        self._screen = engine(b"|".join((*(screen for screen, _ in _LINE_WAYS), *words)))
        self._line_ways = [(engine(screen), read) for screen, read in _LINE_WAYS]

    def find(self, text: str) -> list[Secret]:
        """Return the credentials in `text` from first to last; no two overlap."""
        data = ascii_form(text)
        match = self._screen.search(data)
        if match is None:
            return []
        first_line = max(data.rfind(b"\n", 0, match.start()), 0)
        data = hide_placeholders(data)
        found = list(self._find_in_lines(data, first_line))
        if any(map(data.__contains__, blocks.WORDS)):
            found = [*_scan(data, self._block_screen, blocks.read_block), *found]
        return _join(found) if found else []

    def _find_in_lines(self, data: bytes, position: int) -> Iterator[Secret]:
        """Find what no line break interrupts, from `position` on."""
        match = self._screen.search(data, position)
        while match:
            start = data.rfind(b"\n", 0, match.start()) + 1
            stop = data.find(b"\n", match.start() + _TOGETHER_CHARS)
            lines = data[start:] if stop < 0 else data[start:stop]
            for screen, read in self._line_ways:
                for secret in _scan(lines, screen, read):
                    yield Secret(secret.kind, start + secret.start, start + secret.stop)
            match = self._screen.search(data, stop) if stop >= 0 else None


@cache
def default_finder() -> Finder:
    """Return the finder with the best engine there is; compiling takes some milliseconds, once."""
    return Finder(re2_or_bounded())


def find_secrets(text: str) -> list[Secret]:
    """Return the credentials in `text` from first to last; no two overlap."""
    return default_finder().find(text)


def _scan(data: bytes, screen: Pattern, read: _Read) -> Iterator[Secret]:
    match = screen.search(data)
    while match:
        reading = read(data, match.start())
        yield from reading.secrets
        match = screen.search(data, reading.resume)


def _join(found: Sequence[Secret]) -> list[Secret]:
    """Make one of those that overlap: as wide as all of them, named by the surest, which comes first."""
    ranks = sorted(range(len(found)), key=lambda rank: found[rank].start)
    joined: list[Secret] = []
    surest = 0
    for rank in ranks:
        secret = found[rank]
        last = joined[-1] if joined else None
        if last is None or secret.start >= last.stop:
            joined.append(secret)
            surest = rank
            continue
        kind = secret.kind if rank < surest else last.kind
        surest = min(surest, rank)
        joined[-1] = Secret(kind, last.start, max(last.stop, secret.stop))
    return joined
