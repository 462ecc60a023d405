"""Regular expressions that are compiled when they are first used.

Compiling takes a third of a millisecond a pattern, and most programs meet few of the hundreds there are: a
text in one language, calls of some tools, no secrets. After its first use a late pattern costs what any does.
"""

import re
from typing import AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
_FACTS = ("flags", "groups", "groupindex")


def compile_late(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what `re.compile` would, but compile nothing yet; a mistake in the pattern shows later, too."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))


class _CompiledPattern:
    """A late pattern after its first use: the methods of the compiled one, found as fast as its own."""

    __slots__ = ("_given_flags", "pattern", *_METHODS, *_FACTS)

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._given_flags = flags

    def __reduce__(self) -> tuple[object, ...]:
        return _LatePattern, (self.pattern, self._given_flags)


class _LatePattern(_CompiledPattern):
    """A late pattern before its first use. Two threads may both compile it, to the same effect."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name not in (*_METHODS, *_FACTS):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._given_flags)
        for each in (*_METHODS, *_FACTS):
            setattr(self, each, getattr(compiled, each))
        # A class with `__getattr__` makes every look at an attribute slower: it has served.
        object.__setattr__(self, "__class__", _CompiledPattern)
        return getattr(compiled, name)
