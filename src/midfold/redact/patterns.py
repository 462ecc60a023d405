"""Patterns that no text makes slow, and the credentials that they find.

Nothing else knows google-re2. Every pattern given to an engine keeps to the syntax both libraries share, so
that both find the same: no lookaround, no possessive repeats, repeat counts up to 1,000. A repeat in front of
something else is bounded or begins a run of characters, so that the standard library's backtracking stays
linear where re2 is missing.

Names, types, calls, templates and numbers are no credentials. Values are the ASCII form of a text (see
`ascii_form`): every other character is a question mark.
"""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Protocol

MIN_PASSWORD_CHARS = 5
MIN_SECRET_CHARS = 10
"""Keys and tokens are longer than passwords; what is shorter is a name or a number."""
MAX_VALUE_CHARS = 4_096
"""No assignment has a longer value that is a credential."""
# Rows of stars, dashes and crosses stand for something that was there.
_MIN_DISTINCT_CHARS = 4

# Words as people write names with: snake_case, kebab-case, camelCase, dotted, a path, with a number behind.
_WORD = rb"(?:[A-Z]?[a-z]{2,}+|[A-Z]{2,40}(?![a-z]))++"
_NAME = re.compile(
    rb"[-_./~:@]*+" + _WORD + rb"(?:[-_./:@?# ]++" + _WORD + rb")*+(?:[-_.]?\d{1,4})?[-_.:=!?]*+"
)
_NUMBER = re.compile(rb"[-\d.,:_+%/]+")
_DIGITS = re.compile(rb"\d{6,}")
_TEMPLATE = rb"[$#%@]?\{|\$\(|\$[A-Za-z_]\w*$|^[<\[(&*$%]|%[sdr]$|%\(|\.\.\.|\*\*\*|xxxx|<%"
_EXPRESSION = rb"^[\w.$]*\?[\w.$!]*:|&&|\|\||=>|->|::"
_FILE_OR_URL = (
    rb"^(?:https?|file)://|"
    rb"\.(?:json|txt|ya?ml|pem|pub|py|[jt]sx?|env|crt|toml|md|html?|go|rs|sh|java|rb|c|h)$"
)
_INSTEAD = (
    rb"your[-_ ]|[-_]here$|placeholder|redacted|example\.(?:com|org)|undefined|"
    rb"^(?:true|false|none|null|nil)$"
)
_STAND_IN = re.compile(b"|".join((_TEMPLATE, _EXPRESSION, _FILE_OR_URL, _INSTEAD)), re.IGNORECASE)
_LABEL = re.compile(
    rb"passw|passphrase|token|string|requir|invalid|optional|enter|confirm|incorrect|wrong|missing|hidden|"
    rb"hash|field|input|value|default|prompt|^(?:bytes|object|number|boolean|unknown|username)$",
    re.IGNORECASE,
)
_PATHS = (b"/", b"./", b"../", b"~/")
_SYLLABLE = re.compile(rb"[A-Za-z]++[\d@#$%^&*!~]|[\d@#$%^&*!~]++[A-Za-z]")


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
    if (
        not MIN_PASSWORD_CHARS <= len(value) <= MAX_VALUE_CHARS
        or _STAND_IN.search(value)
        or len(set(value)) < _MIN_DISTINCT_CHARS
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
    return not (is_name(value) and _LABEL.search(value))


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
    options.max_mem = 16 << 20
    return lambda pattern: re2.compile(pattern, options)


LOGIN_WORD = "\x02\x02{1,5}"
"""The pattern of a word for a password."""
KEY_WORD = "\x03\x03{1,5}"
"""The pattern of a word for a key or a token."""
PASSWORDS = ("密码", "密碼", "口令", "パスワード", "비밀번호", "пароль", "Пароль")
SECRETS = ("密钥", "密鑰", "令牌", "トークン", "토큰", "токен", "Токен")
_SAME = (
    ("：", ":"),
    ("\N{FULLWIDTH EQUALS SIGN}", "="),
    *((word, "\x02" * len(word)) for word in PASSWORDS),
    *((word, "\x03" * len(word)) for word in SECRETS),
)


def ascii_form(text: str) -> bytes:
    """Return `text` as it is looked at: ASCII, of the same length, a question mark for every other character.

    Positions are the same in both, and both engines see the same single-byte characters. The words for a
    password or a key in languages without Latin letters become signs that a pattern can ask for.
    """
    if not text.isascii():
        for word, same in _SAME:
            if word[0] in text:  # looking for one character is far quicker than for two
                text = text.replace(word, same)
    # A vertical tab is white space to one engine only.
    return text.encode("ascii", "replace").replace(b"\v", b" ")
