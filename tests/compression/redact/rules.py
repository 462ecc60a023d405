"""Draws hostile text from the rules themselves: every literal and every way through a pattern.

A rule that is added is drawn from as well, so that nobody has to remember a table of shapes.
"""

import re
from itertools import chain

from midfold.compression.redact import ascii_form, assignments, blocks, headers, tokens, urls
from midfold.compression.redact.placeholders import KINDS, OPENING
from midfold.compression.redact.shapes import MIDDLE_SHAPES, SHAPES

_parse, _codes = re._parser.parse, re._constants
_REPEATS = (_codes.MAX_REPEAT, _codes.MIN_REPEAT, _codes.POSSESSIVE_REPEAT)
_LIKELY = "a1A_-. :=/\"'\n"
PATTERNS = [
    *(screen.decode() for screen in (headers.SCREEN, urls.SCREEN, assignments.SCREEN)),
    blocks.EDGE.pattern.decode(),
    blocks.REST.pattern.decode(),
    *(shape.pattern for shape in SHAPES),
    *(f"{shape.before}{re.escape(shape.sign)}{shape.after}" for shape in MIDDLE_SHAPES),
    tokens.ESCAPE,
]
WORDS = [*ascii_form.PASSWORDS, *ascii_form.SECRETS, "：", "\N{FULLWIDTH EQUALS SIGN}"]


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
    return re.sub("\x03+", ascii_form.SECRETS[0], re.sub("\x02+", ascii_form.PASSWORDS[0], text))


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
