"""Reads a text part by part, so that what it costs is bounded by its length whatever it says.

Every step goes forward. The gate finds the next place that any rule may take interest in; from there on a
part of some thousand characters is read, by each rule from where it left off. A rule looks for evidence only
a little way behind the part's end, so that none runs to the end of the text in vain for each part. Where a
text repeats itself, so do its parts, and those that were read before are known.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count

from midfold.redact.engine import Pattern
from midfold.redact.results import Findings, Part, Reading, Secret
from midfold.redact.shapes import MAX_BEFORE_CHARS, RUN_PREFIX
from midfold.redact.values import MAX_VALUE_CHARS

_PART_CHARS = 2_048
# No evidence of a credential is longer, but for what has a run of letters and digits in it.
_EVIDENCE_CHARS = 512
_SHORT_RUN = 256
_LONG_RUN = re.compile(rb"[\w-]{%d}" % _SHORT_RUN)
_LONG_WORD = re.compile(rb"[A-Za-z0-9]{%d}" % _SHORT_RUN)
_REST_OF_RUN = re.compile(rb"[\w-]*+")
_REST_OF_WORD = re.compile(rb"[A-Za-z0-9]*+")
_TO_RUN = re.compile(rb"(?s:.*)[^\w-]")
# How far behind an escaped character, which may be taken for the beginning of a run, the run begins.
_ESCAPE_CHARS = 16
# What reading depends on: names that are none of a credential before, a value and what follows it behind.
_BEHIND_CHARS = MAX_BEFORE_CHARS + _EVIDENCE_CHARS
_AHEAD_CHARS = MAX_VALUE_CHARS + _EVIDENCE_CHARS
_MAX_KNOWN = 256
_MAX_SHORT_TRIES = 4


@dataclass(frozen=True, slots=True)
class Way:
    """One way to find credentials: what it looks for, and how it reads what it finds."""

    screen: Pattern
    read: Callable[[bytes, int], Reading]
    reach_chars: int = 0
    """how far before what the screen finds a credential may begin"""


@dataclass(frozen=True, slots=True)
class _Known:
    """What reading a part gave; positions are counted from where reading began.

    A part may begin before: a credential is seen by its middle first, or by another way later.
    """

    findings: Findings
    first: int
    stop: int
    cursors: tuple[int, ...]
    upcoming: int | None
    """the next place of interest to one of the ways, if it is near; others go on from where they left off"""


_Key = tuple[bytes, int, tuple[int, ...]]


class PartReader:
    """Reads one text, once. Of two ways that find the same place, the first names it."""

    def __init__(self, data: bytes, gate: Pattern, ways: Sequence[Way]) -> None:
        self._data = data
        self._gate = gate
        self._ways = ways
        self._cursors = (0,) * len(ways)
        self._known: dict[_Key, _Known] = {}

    def parts(self) -> Iterator[Part]:
        """Yield the parts that hold credentials, from first to last."""
        start = self._next_place(0)
        while start is not None:
            known = self._read_or_recall(start)
            stop = start + known.stop
            if known.findings.secrets:
                yield Part(start + known.first, stop, known.findings)
            start = self._next_place(stop) if known.upcoming is None else start + known.upcoming

    def _next_place(self, position: int) -> int | None:
        """Return what the gate finds from `position` on, and have every way pass over what is before."""
        match = self._gate.search(self._data, position)
        if match is None:
            return None
        self._cursors = tuple(max(cursor, match.start()) for cursor in self._cursors)
        return match.start()

    def _read_or_recall(self, start: int) -> _Known:
        stop = self._cut(start, start + _PART_CHARS)
        cursors = tuple(cursor - start for cursor in self._cursors)
        behind = min(start, _BEHIND_CHARS)
        key = (self._data[start - behind : stop + _AHEAD_CHARS], behind, cursors)
        known = self._known.get(key)
        if known is None:
            known = self._read(start, stop, cursors)
            is_all_in_key = max(known.stop, *known.cursors) <= stop - start + MAX_VALUE_CHARS
            if is_all_in_key and len(self._known) < _MAX_KNOWN:
                self._known[key] = known
        self._cursors = tuple(start + cursor for cursor in known.cursors)
        return known

    def _read(self, start: int, stop: int, cursors: Sequence[int]) -> _Known:
        """Read as far as `stop`, or on to the end of the last credential that begins before."""
        positions = [start + cursor for cursor in cursors]
        found: list[list[Secret]] = [[] for _ in self._ways]
        places: list[int | None] = [None for _ in self._ways]
        for tries in count():
            for number, way in enumerate(self._ways):
                positions[number], places[number] = self._scan(way, positions[number], stop, found[number])
            joined = join(list(chain.from_iterable(found)))
            if not joined or joined[-1].stop <= stop:
                break
            # Where each credential leads to the next, going twice as far keeps it to joining a few times.
            least = 2 * stop - start if tries >= _MAX_SHORT_TRIES else 0
            stop = self._cut(start, max(joined[-1].stop, least))
        first = min(joined[0].start, start) if joined else start
        secrets = tuple(Secret(secret.kind, secret.start - first, secret.stop - first) for secret in joined)
        upcoming = min((place for place in places if place is not None), default=None)
        return _Known(
            Findings(secrets),
            first - start,
            stop - start,
            tuple(position - start for position in positions),
            None if upcoming is None else max(upcoming, stop) - start,
        )

    def _scan(self, way: Way, position: int, stop: int, found: list[Secret]) -> tuple[int, int | None]:
        """Add what begins before `stop`; return where to look on, and what place comes next if it is near."""
        search, read, data = way.screen.search, way.read, self._data
        last, most = stop + way.reach_chars, stop + _EVIDENCE_CHARS
        while position < last:
            match = search(data, position, most)
            if match is None:
                return max(position, stop), None
            place = match.start()
            reading = read(data, place) if place < last else None
            if reading is None or (way.reach_chars and reading.secrets and reading.secrets[0].start >= stop):
                return max(position, stop), place
            found += reading.secrets
            position = reading.resume
        return position, position

    def _cut(self, start: int, stop: int) -> int:
        """Return where the part from `start` ends: at `stop`, or behind a long run or word that goes on.

        A run counts only if its beginning is telling, so that a text which is all one run has parts, too.
        """
        data = self._data
        if not _LONG_RUN.match(data, stop):
            return stop
        to_run = _TO_RUN.match(data, max(start - 1, 0), stop)
        if to_run or start == 0:
            first = to_run.end() if to_run else 0
            if RUN_PREFIX in data[first : first + _ESCAPE_CHARS]:
                return _end(_REST_OF_RUN, data, stop)
        return _end(_REST_OF_WORD, data, stop) if _LONG_WORD.match(data, stop) else stop


def _end(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    match = pattern.match(data, position)
    return match.end() if match else position


def join(found: Sequence[Secret]) -> list[Secret]:
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
