"""Takes credentials out of text: `[REDACTED:jwt]` stands in their place, or with a key `[REDACTED:jwt:3fa9]`.

Each detector screens the text, then reads what its screen found. A text is read part by part, so that its
cost is bounded by its length: every step goes forward. The gate finds the next position that any rule may
take interest in; from there on a part of some thousand characters is read, by each rule from where it left
off. A rule looks for evidence only a little way behind the part's end, so that none runs to the end of the
text in vain for each part. Where a text repeats itself, so do its parts, and those that were read before
are known.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, count

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.redact import (
    assignments,
    commands,
    headers,
    logins,
    manifests,
    next_line,
    private_keys,
    tables,
    tokens,
)
from midfold.redact.ascii_text import ascii_form, find_places, unwrap
from midfold.redact.json_strings import escaped_strings, rewrite_strings
from midfold.redact.patterns import (
    MAX_VALUE_CHARS,
    Detection,
    Engine,
    LateScreen,
    Pattern,
    Secret,
    choose_engine,
)
from midfold.redact.placeholders import hide_placeholders, lines_around, write_placeholder
from midfold.redact.shapes import MAX_BEFORE_CHARS, RUN_PREFIX

_PART_CHARS = 2_048
# No evidence of a credential is longer, but for what has a run of letters and digits in it.
_EVIDENCE_CHARS = 512
_SHORT_RUN = 256
_LONG_RUN = compile_late(rb"[\w-]{%d}" % _SHORT_RUN)
_LONG_WORD = compile_late(rb"[A-Za-z0-9]{%d}" % _SHORT_RUN)
_REST_OF_RUN = compile_late(rb"[\w-]*+")
_REST_OF_WORD = compile_late(rb"[A-Za-z0-9]*+")
_TO_RUN = compile_late(rb"(?s:.*)[^\w-]")
# How far behind an escaped character, which may be taken for the beginning of a run, the run begins.
_ESCAPE_CHARS = 16
# What reading depends on: names that are none of a credential before, a value and what follows it behind.
_BEHIND_CHARS = max(MAX_BEFORE_CHARS, logins.PIPED_CHARS) + _EVIDENCE_CHARS
_AHEAD_CHARS = MAX_VALUE_CHARS + _EVIDENCE_CHARS
_MAX_KNOWN = 256
_MAX_SHORT_TRIES = 4


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The credentials of a part, counted from where it starts. A part that comes again has the same ones."""

    secrets: tuple[Secret, ...]


@dataclass(frozen=True, slots=True)
class ScannedPart:
    """text[start:stop], which holds every credential it touches as a whole"""

    start: int
    stop: int
    findings: Findings


@dataclass(frozen=True, slots=True)
class Detector:
    """One way to find credentials: what it looks for, and how it reads what it finds."""

    screen: Pattern
    read: Callable[[bytes, int], Detection]
    reach_chars: int = 0
    """how far before what the screen finds a credential may begin"""


@dataclass(frozen=True, slots=True)
class _Known:
    """The result of reading a part; positions are counted from where reading began.

    A part may begin before: a credential is seen by its middle first, or by another detector later.
    """

    findings: Findings
    first: int
    stop: int
    cursors: tuple[int, ...]
    upcoming: int | None
    """the next position of interest to a detector, if it is near; the others go on where they left off"""


_Key = tuple[bytes, int, tuple[int, ...]]


class Scanner:
    """Reads one text, once. Of two detectors that find the same text, the first names it."""

    def __init__(self, data: bytes, gate: Pattern, detectors: Sequence[Detector]) -> None:
        self._data = data
        self._gate = gate
        self._detectors = detectors
        self._cursors = (0,) * len(detectors)
        self._known: dict[_Key, _Known] = {}

    def parts(self) -> Iterator[ScannedPart]:
        """Yield the parts that hold credentials, from first to last."""
        start = self._next_start(0)
        while start is not None:
            known = self._read_or_recall(start)
            stop = start + known.stop
            if known.findings.secrets:
                yield ScannedPart(start + known.first, stop, known.findings)
            start = self._next_start(stop) if known.upcoming is None else start + known.upcoming

    def _next_start(self, position: int) -> int | None:
        """Return what the gate finds from `position` on, and have every detector pass over what is before."""
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
        found: list[list[Secret]] = [[] for _ in self._detectors]
        following: list[int | None] = [None for _ in self._detectors]
        for tries in count():
            for number, detector in enumerate(self._detectors):
                scanned = self._scan(detector, positions[number], stop, found[number])
                positions[number], following[number] = scanned
            joined = join(list(chain.from_iterable(found)))
            if not joined or joined[-1].stop <= stop:
                break
            # Where each credential leads to the next, going twice as far keeps it to joining a few times.
            least = 2 * stop - start if tries >= _MAX_SHORT_TRIES else 0
            stop = self._cut(start, max(joined[-1].stop, least))
        first = min(joined[0].start, start) if joined else start
        secrets = tuple(Secret(secret.kind, secret.start - first, secret.stop - first) for secret in joined)
        upcoming = min((position for position in following if position is not None), default=None)
        return _Known(
            Findings(secrets),
            first - start,
            stop - start,
            tuple(position - start for position in positions),
            None if upcoming is None else max(upcoming, stop) - start,
        )

    def _scan(
        self, detector: Detector, position: int, stop: int, found: list[Secret]
    ) -> tuple[int, int | None]:
        """Add what begins before `stop`; return where to look on, and what comes next if it is near."""
        search, read, data = detector.screen.search, detector.read, self._data
        reach = detector.reach_chars
        last, most = stop + reach, stop + _EVIDENCE_CHARS
        while position < last:
            match = search(data, position, most)
            if match is None:
                return max(position, stop), None
            start = match.start()
            detection = read(data, start) if start < last else None
            if detection is None or (reach and detection.secrets and detection.secrets[0].start >= stop):
                return max(position, stop), start
            found += detection.secrets
            position = detection.resume
        return position, position

    def _cut(self, start: int, stop: int) -> int:
        """Return where the part from `start` ends: at `stop`, or behind a long run or word that goes on.

        A run counts only if its beginning is suspicious, so that a text which is all one run has parts, too.
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


# The surest first: where two find the same text, the surer one names it.
_LINE_DETECTORS = (
    (tokens.SCREEN, tokens.read_token),
    (headers.SCREEN, headers.read_header),
    (headers.URL_SCREEN, headers.read_url),
    (commands.SCREEN, commands.read_command),
    (logins.SCREEN, logins.read_login),
    (assignments.SCREEN, assignments.read_assignment),
    (next_line.SCREEN, next_line.read_next_line),
)
# Nearly every text, and nearly every line of others, is let go after one look for all there is.
_GATE = (*(screen for screen, _ in _LINE_DETECTORS), tokens.MIDDLE_SIGNS, logins.PIPED_SCREEN)
# What stands next to a placeholder may be read otherwise than next to a secret, so redacted text is looked at
# again. More than one more round takes text made for it, and that must not make us go round for ever.
_MAX_ROUNDS = 8


class Finder:
    """Finds credentials with the given engine."""

    def __init__(self, engine: Engine) -> None:
        self._gate = engine(b"|".join(_GATE))
        # Most texts end at the gate, so the detectors' own screens are compiled when one gets through.
        detectors = [Detector(LateScreen(engine, screen), read) for screen, read in _LINE_DETECTORS]
        middle = Detector(tokens.MIDDLE_SCREEN, tokens.read_middle, MAX_BEFORE_CHARS)
        piped = Detector(LateScreen(engine, logins.PIPED_SCREEN), logins.read_piped, logins.PIPED_CHARS)
        self._cells, self._columns = LateScreen(engine, tables.SIGN), LateScreen(engine, tables.SCREEN)
        self._detectors = (detectors[0], middle, *detectors[1:], piped)

    def find(self, text: str) -> list[Secret]:
        """Return the credentials in `text` from first to last; no two overlap."""
        return [secret for part in self.find_parts(text) for secret in _moved(part)]

    def find_parts(self, text: str) -> list[ScannedPart]:
        """Return the parts of `text` that hold credentials, from first to last."""
        data = hide_placeholders(ascii_form(text))
        parts = list(Scanner(data, self._gate, self._detectors).parts())
        # These may reach over parts: keys of many lines, and what invisible characters stand in.
        across = list(private_keys.find_keys(data)) if any(map(data.__contains__, private_keys.WORDS)) else []
        if self._cells.search(data, 0) is not None:
            across += tables.find_columns(data, self._columns)
        across += manifests.find_values(data) if manifests.SIGN in data else ()
        across += self._find_unwrapped(text, data)
        if not across:
            return parts
        return [
            ScannedPart(
                secret.start, secret.stop, Findings((Secret(secret.kind, 0, secret.stop - secret.start),))
            )
            for secret in join([*across, *(secret for part in parts for secret in _moved(part))])
        ]

    def _find_unwrapped(self, text: str, data: bytes) -> list[Secret]:
        """Return the credentials that are seen without the invisible characters, as they are with them."""
        shown = unwrap(text, data)
        if shown is data:
            return []
        parts = list(Scanner(shown, self._gate, self._detectors).parts())
        if not parts:
            return []
        places = find_places(data)
        return [
            Secret(secret.kind, places.first(secret.start), places.stop(secret.stop))
            for part in parts
            for secret in _moved(part)
        ]


@cache
def default_finder() -> Finder:
    """Return the finder with the best engine there is; compiling takes some milliseconds, once."""
    return Finder(choose_engine())


def redact(text: str, *, key: bytes = b"", finder: Finder | None = None) -> str:
    """Return `text` with a typed placeholder for each credential, or `text` itself if it has none.

    With a `key` of up to 64 bytes a placeholder carries four hex digits of a keyed digest: the same
    credential has the same placeholder wherever that key is used, and nobody without it can test a guess.
    Redacting the result again changes nothing. Strings of a JSON text are read without their escapes, too.
    """
    finder = finder or default_finder()
    text = _redact_text(text, key, finder)
    said = escaped_strings(text)
    if not said or not finder.find("\n".join(said)):
        return text
    return rewrite_strings(text, lambda string: redact(string, key=key, finder=finder))


def _redact_text(text: str, key: bytes, finder: Finder) -> str:
    parts = finder.find_parts(text)
    for _ in range(_MAX_ROUNDS):
        if not parts:
            break
        pieces = list(_write(text, parts, key))
        text = "".join(pieces)
        # Every other piece was written now; what is near an older one was read after that had been written.
        ends = list(accumulate(map(len, pieces), initial=0))
        written = map(slice, ends[1::2], ends[2::2])
        parts = [part for near in lines_around(text, written) for part in _find_within(finder, text, near)]
    return text


def _find_within(finder: Finder, text: str, near: slice) -> Iterator[ScannedPart]:
    for part in finder.find_parts(text[near]):
        yield ScannedPart(near.start + part.start, near.start + part.stop, part.findings)


def find_secrets(text: str) -> list[Secret]:
    """Return the credentials in `text` from first to last; no two overlap."""
    return default_finder().find(text)


def _write(text: str, parts: Iterable[ScannedPart], key: bytes) -> Iterator[str]:
    """Yield the text between its parts and these as they are written, in turn.

    One that comes again is written once.
    """
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
        yield write_placeholder(secret.kind, text[secret.start : secret.stop], key)
        position = secret.stop
    yield text[position:]


def _moved(part: ScannedPart) -> Iterator[Secret]:
    """Yield the credentials of a part, counted from where the text begins."""
    for secret in part.findings.secrets:
        yield Secret(secret.kind, part.start + secret.start, part.start + secret.stop)
