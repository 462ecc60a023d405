"""No text makes redaction slow: linear time on both engines, and little of it on the fast one.

The texts are drawn from the rules: each literal and each way through a pattern, repeated, alone and in pairs.
A rule that is added is drawn from as well, so that nobody has to remember a table of shapes.

CPU time differs between machines and moments. So a limit in milliseconds is one of the machine on which
`REFERENCE_MS` was measured, and is scaled by what the reference takes here and now.
"""

import random
import re
import string
import time
from dataclasses import dataclass
from itertools import chain, product

import pytest

from midfold.redact import (
    ascii_text,
    assignments,
    commands,
    headers,
    logins,
    manifests,
    private_keys,
    redact,
    tokens,
)
from midfold.redact.placeholders import KINDS, OPENING
from midfold.redact.shapes import MIDDLE_SHAPES, SHAPES

REFERENCE_MS = 7.2
_WORD = re.compile(rb"\w+")
_PROSE = b"the quick brown fox jumps over 13 lazy dogs and runs away again; " * 4_000
MAX_GROWTH = 4.6
"""How much longer four times the text may take."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a text of `4 * size` characters took, and what it grew by from a quarter of it."""

    unit: str
    growth: float
    ms_per_mb: float
    is_secret: bool

    def __str__(self):
        return f"{self.unit!r}: {self.ms_per_mb:.0f} ms/MB, {self.growth:.1f} x"


def cpu_seconds(work, runs):
    best = float("inf")
    for _ in range(runs):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def slowness(runs=5):
    """Return how much slower this machine is at the moment than the one the limits are for."""
    took = cpu_seconds(lambda: sum(match.end() for match in _WORD.finditer(_PROSE)), runs)
    return took * 1000 / REFERENCE_MS


def repeated(unit, size):
    return (unit * (size // len(unit) + 1))[:size]


def measure(finder, unit, size, runs, slowness):
    """Measure a unit repeated; a further megabyte is what counts, as the first of repeated parts is read."""
    short, long = repeated(unit, size), repeated(unit, 4 * size)
    first = cpu_seconds(lambda: redact(short, finder=finder), runs)
    whole = cpu_seconds(lambda: redact(long, finder=finder), runs)
    ms_per_mb = (whole - first) / (len(long) - len(short)) * 1e9
    return Cost(unit, whole / first, ms_per_mb / slowness, _is_secret(finder, unit))


def too_slow(finder, units, size, *, max_ms, max_secret_ms, max_growth=MAX_GROWTH):
    """Return the cost of units over a limit; a suspect is measured again, longer, before it counts."""
    found = []
    as_now = slowness()
    for unit in units:
        for factor in (1, 4, 8):
            as_now = as_now if factor == 1 else slowness()
            cost = measure(finder, unit, factor * size, 1 + factor, as_now)
            limit = max_secret_ms if cost.is_secret else max_ms
            if cost.growth <= max_growth and cost.ms_per_mb <= limit:
                break
        else:
            found.append(cost)
    return found


def _is_secret(finder, unit):
    """Whether the repeated unit has a credential at least every 200 characters."""
    text = repeated(unit, 4_000)
    secrets = finder.find(text)
    return len(secrets) >= 20 or sum(secret.stop - secret.start for secret in secrets) >= 2_000


_parse, _codes = re._parser.parse, re._constants
_REPEATS = (_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT)
_LIKELY = "a1A_-. :=/\"'\n"
PATTERNS = [
    *(screen.decode() for screen in (headers.SCREEN, headers.URL_SCREEN, assignments.SCREEN)),
    *(screen.decode() for screen in (logins.SCREEN, logins.PIPED_SCREEN, commands.SCREEN)),
    *(f"(?:{tool.names}){tool.lead}abc9{tool.after}" for tool in commands.COMMANDS),
    *(f"{form.lead}{form.value}" for form in logins.FORMS),
    *(each.pattern.decode() for each in (manifests.KIND, manifests.FIELDS, manifests.FIELD)),
    private_keys.EDGE.pattern.decode(),
    private_keys.REST.pattern.decode(),
    *(shape.pattern for shape in SHAPES),
    *(f"{shape.before}{re.escape(shape.sign)}{shape.after}" for shape in MIDDLE_SHAPES),
    tokens.ESCAPE,
]
WORDS = [
    *(word for pair in ascii_text.REPLACED for word in pair[:1]),
    *ascii_text.INVISIBLE,
]


def literals():
    """Return every run of fixed characters and every single one that a rule asks for."""
    found = set(chain(WORDS, [OPENING.decode()], *map(_runs, map(_parse, PATTERNS))))
    return sorted(found - {"\x02", "\x03"})


def samples():
    """Return the shortest texts that rules ask for, one for each way through a pattern."""
    written = set(chain([f"[REDACTED:{min(KINDS)}]"], *(_ways(_parse(pattern)) for pattern in PATTERNS)))
    return sorted(_in_words(text) for text in written)


def halves():
    """Return what a credential begins with and does not go on with."""
    cut = {text[: len(text) * part // 4] for text in samples() for part in (2, 3)} | {
        text[:-1] for text in samples()
    }
    return sorted(cut - {""})


def _in_words(text):
    """Write a word for a password or a key where its sign stands."""
    return re.sub("\x03+", ascii_text.SECRETS[0], re.sub("\x02+", ascii_text.PASSWORDS[0], text))


def _runs(tree):
    run = []
    for code, value in tree:
        if code is _codes.LITERAL:
            run.append(chr(value))
            continue
        if run:
            yield "".join(run)
            run = []
        yield from chain.from_iterable(map(_runs, _inside(code, value)))
        if code is _codes.IN:
            yield from (chr(char) for kind, char in value if kind is _codes.LITERAL)
    if run:
        yield "".join(run)


def _inside(code, value):
    if code is _codes.SUBPATTERN:
        return [value[3]]
    if code is _codes.BRANCH:
        return value[1]
    return [value[2]] if code in _REPEATS else []


def _ways(tree):
    """Yield texts so that every choice is taken once; the others of a text are the first ones."""
    parts = [list(dict.fromkeys(_choices(code, value))) for code, value in tree]
    first = [part[0] for part in parts]
    yield "".join(first)
    for number, part in enumerate(parts):
        for choice in part[1:]:
            yield "".join((*first[:number], choice, *first[number + 1 :]))


def _choices(code, value):
    if code is _codes.LITERAL:
        yield chr(value)
    elif code in (_codes.IN, _codes.ANY, _codes.NOT_LITERAL):
        yield _member(code, value)
    elif code in _REPEATS:
        least, most, inner = value
        yield from (text * least for text in _ways(inner))
        if least == 0:
            yield from _ways(inner)
        elif most is _codes.MAXREPEAT or most > least:
            yield next(_ways(inner)) * (least + 40)
    elif code in (_codes.SUBPATTERN, _codes.BRANCH):
        yield from chain.from_iterable(map(_ways, _inside(code, value)))
    else:
        yield ""


def _member(code, value):
    if code is not _codes.IN:
        return next(char for char in _LIKELY if code is _codes.ANY or ord(char) != value)
    known = [chr(char) for kind, char in value if kind is _codes.LITERAL]
    compiled = re._compiler.compile(re._parser.SubPattern(re._parser.State(), [(code, value)]))
    return next(char for char in (*_LIKELY, *known, *map(chr, range(128))) if compiled.match(char))


SOURCE = random.Random(11)
SIZE = 16_384
FALLBACK_SIZE = 2_048
MAX_MS = 60
MAX_SECRET_MS = 150
"""Where every line holds a credential."""
MAX_FALLBACK_MS = 4_000
REPORTED = ["Q~", "PASSWORD=abcde :", '密钥:"', "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"]
FAST_LIMITS = {"max_ms": MAX_MS, "max_secret_ms": MAX_SECRET_MS}
# A busy machine measures many times more: the quick form finds what grows with the square, which takes
# thousands of times as long, and the long form what is slow.
QUICK_LIMITS = {"max_ms": 10 * MAX_MS, "max_secret_ms": 10 * MAX_SECRET_MS, "max_growth": 10}
FALLBACK_LIMITS = {"max_ms": MAX_FALLBACK_MS, "max_secret_ms": MAX_FALLBACK_MS}
QUICK_FALLBACK_LIMITS = {
    "max_ms": 10 * MAX_FALLBACK_MS,
    "max_secret_ms": 10 * MAX_FALLBACK_MS,
    "max_growth": 10,
}


def pairs(units):
    return map("".join, product(units, repeat=2))


def every(step, units):
    return SOURCE.sample(units, len(units) // step)


def drawn(alphabet):
    return "".join(SOURCE.choices(alphabet, k=4 * SIZE))


def told(costs):
    return "\n".join(map(str, costs))


@pytest.mark.parametrize("unit", REPORTED)
def test_a_reported_shape_takes_linear_time(finder, unit):
    assert not (slow := too_slow(finder, [unit], FALLBACK_SIZE, **QUICK_FALLBACK_LIMITS)), told(slow)


@pytest.mark.slow
def test_reported_shapes_and_some_of_each_rule_take_little_time(fast):
    units = [*REPORTED, *every(4, literals()), *every(16, samples()), *every(32, halves())]
    assert not (slow := too_slow(fast, units, SIZE, **QUICK_LIMITS)), told(slow)


def test_some_pairs_take_little_time(fast):
    units = [left + right for left, right in zip(every(8, literals()), every(8, literals()), strict=True)]
    assert not (slow := too_slow(fast, units, SIZE, **QUICK_LIMITS)), told(slow)


def test_some_of_each_rule_take_linear_time_without_re2(fallback):
    units = [*every(40, literals()), *every(80, samples()), *every(160, halves())]
    assert not (slow := too_slow(fallback, units, FALLBACK_SIZE, **QUICK_FALLBACK_LIMITS)), told(slow)


@pytest.mark.faults
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("draw", [literals, samples, halves])
def test_all_of_every_rule_takes_little_time(fast, draw):
    assert not (slow := too_slow(fast, draw(), 4 * SIZE, **FAST_LIMITS)), told(slow)


@pytest.mark.faults
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("part", range(8))
def test_all_pairs_of_literals_take_little_time(fast, part):
    units = list(pairs(literals()))[part::8]
    assert not (slow := too_slow(fast, units, 2_048, **FAST_LIMITS)), told(slow)


@pytest.mark.faults
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("draw", [literals, samples, halves])
def test_all_of_every_rule_takes_linear_time_without_re2(fallback, draw):
    assert not (slow := too_slow(fallback, draw(), FALLBACK_SIZE, **FALLBACK_LIMITS)), told(slow)


@pytest.mark.parametrize("alphabet", ["+/", "-_", "Q~", "=:\"' \n"])
def test_drawn_characters_take_little_time(fast, alphabet):
    text = drawn(string.ascii_letters + string.digits + alphabet)
    assert measure(fast, text, len(text) // 4, 3, slowness()).ms_per_mb <= QUICK_LIMITS["max_ms"]


@pytest.mark.faults
def test_clean_text_costs_microseconds_per_call(fast):
    text = "The tests pass now; I changed two files and left the third as it was. " * 20
    took = cpu_seconds(lambda: [fast.find(text) for _ in range(100)], 5) / 100
    assert took / slowness() <= 100e-6
