"""Patterns that cannot be made slow by the text they look at, and the form in which they look at it.

Nothing else knows google-re2.

Every pattern given to an engine keeps to the syntax both libraries share, so that both find the same: no
lookaround, no possessive repeats, repeat counts up to 1,000. A repeat in front of something else is bounded
or begins a run of characters, so that the standard library's backtracking stays linear where re2 is missing.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Protocol


class PatternMatch(Protocol):
    """What is needed of a match."""

    def start(self) -> int: ...


class Pattern(Protocol):
    """What is needed of a compiled pattern; it looks at bytes."""

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
