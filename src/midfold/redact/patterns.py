"""Patterns that no text makes slow, and the credentials that they find.

Nothing else knows google-re2. Every pattern given to an engine keeps to the syntax both libraries share, so
that both find the same: no lookaround, no possessive repeats, repeat counts up to 1,000. A repeat in front of
something else is bounded or begins a run of characters, so that the standard library's backtracking stays
linear where re2 is missing.

Names, types, calls, templates and numbers are no credentials. Values are the ASCII form of a text (see
`ascii_text`): every other character is a question mark.
"""

import re
import sys
from collections.abc import Callable
from functools import cache, cached_property, partial
from importlib.util import find_spec
from typing import Protocol

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late

MIN_PASSWORD_CHARS = 5
MIN_QUOTED_CHARS = 4
"""In quotes nothing else can be meant by a short value."""
MIN_ARGUMENT_CHARS = 3
MIN_SECRET_CHARS = 10
"""Keys and tokens are longer than passwords; what is shorter is a name or a number."""
MAX_VALUE_CHARS = 4_096
"""No assignment has a longer value that is a credential."""
# Rows of stars, dashes and crosses stand for something that was there.
_MIN_DISTINCT_CHARS = 4
_MIN_PASSWORD_DISTINCT_CHARS = 3

# Words as people write names with: snake_case, kebab-case, camelCase, dotted, a path, with a number behind.
_WORD = (
    rb"(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,40}(?![a-z])|(?<=[a-z])Id(?![a-z])|"
    rb"(?<![A-Za-z0-9])(?:s3|S3|X(?=_))(?![A-Za-z0-9]))++"
)
_NAME = compile_late(
    rb"[-_./~:@]*+" + _WORD + rb"(?:[-_./:@?# ]++" + _WORD + rb")*+(?:[-_.]?\d{1,4})?[-_.:=!?]*+"
)
_NUMBER = compile_late(rb"[-\d.,:_+%/]+")
_DIGITS = compile_late(rb"\d{6,}")
_TEMPLATE = rb"[$#%@]?\{|\$\(|\$[A-Za-z_]\w*$|^[<\[(&*$%]|%[sdr]$|%\(|\.\.\.|\*\*\*|xxxx|<%"
_EXPRESSION = rb"^[\w.$]*\?[\w.$!]*:|&&|\|\||=>|->|::"
_FILE_OR_URL = (
    rb"^(?:https?|file)://|"
    rb"\.(?:json|txt|ya?ml|pem|pub|py|[jt]sx?|env|crt|toml|md|html?|go|rs|sh|java|rb|c|h)$"
)
_INSTEAD = (
    rb"your[-_ ]|[-_]here$|placeholder|redacted|example\.(?:com|org)|undefined|"
    rb"^(?:true|false|none|null|nil)$|^arn:[a-z*-]+:|abcdefghijklmnopqrst"
)
_STAND_IN = compile_late(b"|".join((_TEMPLATE, _EXPRESSION, _FILE_OR_URL, _INSTEAD)), re.IGNORECASE)
_LABEL = compile_late(
    rb"passw|passphrase|token|string|requir|invalid|optional|enter|confirm|incorrect|wrong|missing|hidden|"
    rb"hash|field|input|value|default|prompt|^(?:pass|pwd|bool|bytes|object|number|boolean|unknown|username)$",
    re.IGNORECASE,
)
_KEY_LABEL = compile_late(
    rb"key|secret|auth|test|name|user|data|sha|md5|utf|base|vers|^v[0-9]", re.IGNORECASE
)
# "password" with a number or a sign behind is the most common password of all.
_WEAK = compile_late(rb"p[a@4]ssw[o0]rd[0-9!@#$%^&*]{2,8}", re.IGNORECASE)
_METAVARIABLE = compile_late(
    rb"[A-Z][A-Z_-]*|(?i:pass|pw|pwd|passwd|password|secret|the|and|or|for|to|is|no)"
)
# A letter with an accent is a question mark.
_LETTERS = compile_late(rb"(?=.{4,64}$)\??[A-Za-z]+(?:\?{1,2}[A-Za-z]+){0,8}\??")
_SHORT_KEY = compile_late(rb"[A-Za-z0-9][A-Za-z0-9_.!@$%^&+-]+")
_NUMBERED = compile_late(rb"[A-Za-z]{2,20}(?:-[A-Za-z]{2,20}){0,4}-[0-9]{1,6}")
_MOST_WORDS = 8
_PATHS = (b"/", b"./", b"../", b"~/")
_SYLLABLE = compile_late(rb"[A-Za-z]++[\d@#$%^&*!~]|[\d@#$%^&*!~]++[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Secret:
    """A credential: text[start:stop]"""

    kind: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Detection:
    """The result of a detector at one suspicious position."""

    secrets: tuple[Secret, ...]
    resume: int
    """where to look on"""


def is_name(value: bytes) -> bool:
    """Whether a value reads as words, as names in code, files and sentences do."""
    return _NAME.fullmatch(value) is not None


def is_random(value: bytes, *, min_chars: int = MIN_SECRET_CHARS) -> bool:
    """Whether a value looks drawn from an alphabet, as keys and tokens are."""
    return (
        min_chars <= len(value) <= MAX_VALUE_CHARS
        and b" " not in value
        and len(set(value)) >= _MIN_DISTINCT_CHARS
        and not _STAND_IN.search(value)
        and not _NUMBER.fullmatch(value)
        and not is_name(value)
    )


def is_password(value: bytes, *, is_quoted: bool) -> bool:
    """Whether a value may be a password that someone chose.

    Where it is neither in quotes nor alone after a setting's name, a word is more often a type, a variable or
    the rest of a sentence.
    """
    least = MIN_QUOTED_CHARS if is_quoted else MIN_PASSWORD_CHARS
    if (
        not least <= len(value) <= MAX_VALUE_CHARS
        or _STAND_IN.search(value)
        or len(set(value)) < _MIN_PASSWORD_DISTINCT_CHARS
    ):
        return False
    if value.startswith(_PATHS) and is_name(value):
        return False
    if _NUMBER.fullmatch(value):
        return _DIGITS.fullmatch(value) is not None
    if b" " in value:
        return is_quoted and _SYLLABLE.search(value) is not None
    if is_name(value) and not _SYLLABLE.search(value):
        return is_quoted and not _LABEL.search(value)
    return not (is_name(value) and _LABEL.search(value)) or (is_quoted and _WEAK.fullmatch(value) is not None)


def is_argument(value: bytes) -> bool:
    """Whether a value may be the password that a command is given: no stand-in, port or label."""
    return (
        len(value) >= MIN_ARGUMENT_CHARS
        and not _STAND_IN.search(value)
        and not (len(value) < MIN_PASSWORD_CHARS + 1 and _NUMBER.fullmatch(value))
        and not (is_name(value) and _LABEL.search(value))
        and not _METAVARIABLE.fullmatch(value)
        and not value.startswith((b"-", b"/", b"./", b"../", b"~/"))
    )


def is_word(value: bytes) -> bool:
    """Whether a value is letters only, of one case or with a capital: a password that reads as a word."""
    return (
        _LETTERS.fullmatch(value) is not None
        and len(set(value)) >= _MIN_PASSWORD_DISTINCT_CHARS
        and not _STAND_IN.search(value)
    )


def is_passphrase(value: bytes) -> bool:
    """Whether words with blanks between may be a credential: a few of them that ask for nothing."""
    words = value.split(b" ")
    return (
        2 <= len(words) <= _MOST_WORDS
        and all(words)
        and not _STAND_IN.search(value)
        and not _LABEL.search(value)
        and not _KEY_LABEL.search(value)
    )


def has_letters_only(value: bytes) -> bool:
    """Whether a value is one run of letters, be it a word or not."""
    return value.isalpha() or _LETTERS.fullmatch(value) is not None


def is_short_key(value: bytes) -> bool:
    """Whether a value mixes letters and digits as short keys and tokens do, and names no key."""
    return (
        MIN_PASSWORD_CHARS <= len(value) < MIN_SECRET_CHARS
        and _SHORT_KEY.fullmatch(value) is not None
        and _SYLLABLE.search(value) is not None
        and len(set(value)) >= _MIN_DISTINCT_CHARS
        and not _STAND_IN.search(value)
        and not _LABEL.search(value)
        and not _KEY_LABEL.search(value)
    )


def is_mixed(value: bytes) -> bool:
    """Whether a value mixes letters and digits as short keys do, however long it is, and names no key."""
    return is_short_key(value[: MIN_SECRET_CHARS - 1]) or is_short_key(value[1 - MIN_SECRET_CHARS :])


def is_numbered(value: bytes) -> bool:
    """Whether a value is words with dashes between and a number behind: a name, or a password."""
    return _NUMBERED.fullmatch(value) is not None and not _LABEL.search(value)


class PatternMatch(Protocol):
    """The methods of a match that are used."""

    def start(self) -> int: ...


class Pattern(Protocol):
    """The methods of a compiled pattern that are used; it looks at bytes."""

    def search(self, data: bytes, pos: int = 0, endpos: int = sys.maxsize, /) -> PatternMatch | None: ...


Engine = Callable[[bytes], Pattern]
"""Compiles a pattern."""


def compile_bounded(pattern: bytes) -> Pattern:
    """Compile with the standard library."""
    return re.compile(pattern)


class LateScreen:
    """A pattern that an engine compiles when it is first used."""

    def __init__(self, engine: Engine, pattern: bytes) -> None:
        self._compile = partial(engine, pattern)

    @cached_property
    def search(self) -> Callable[..., PatternMatch | None]:
        """Look for the pattern as the compiled one does."""
        return self._compile().search


def choose_engine() -> Engine:
    """Return the engine of re2 where that is installed, else the standard library's."""
    return _re2_engine() if find_spec("re2") else compile_bounded


@cache
def _re2_engine() -> Engine:
    import re2  # wheels exist for most platforms, not for all

    options = re2.Options()
    options.log_errors = False  # re2 writes to stderr by itself
    options.encoding = re2.Options.Encoding.LATIN1  # a byte is a character
    options.never_capture = True
    # Room for the states of a pattern with a hundred branches; too little would mean a slower method.
    options.max_mem = 64 << 20
    return lambda pattern: re2.compile(pattern, options)
