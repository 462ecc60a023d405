"""The only place that knows google-re2: patterns that cannot be made slow by the text they look at.

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


class Match(Protocol):
    """What is needed of a match."""

    def start(self) -> int: ...


class Pattern(Protocol):
    """What is needed of a compiled pattern; it looks at bytes."""

    def search(self, data: bytes, pos: int = 0, endpos: int = sys.maxsize, /) -> Match | None: ...


Engine = Callable[[bytes], Pattern]
"""Compiles a pattern."""


def bounded(pattern: bytes) -> Pattern:
    """Compile with the standard library."""
    return re.compile(pattern)


def re2_or_bounded() -> Engine:
    """Return the engine of re2 where that is installed, else the standard library's."""
    return _re2_engine() if find_spec("re2") else bounded


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
