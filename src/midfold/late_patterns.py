"""Regular expressions that are compiled when they are first used.

Compiling takes a third of a millisecond a pattern, and most programs meet few of the hundreds there are: a
text in one language, calls of some tools, no secrets. After its first use a late pattern costs what any does.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import AnyStr, cast

_METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
_FACTS = ("flags", "groups", "groupindex")
_PIECES = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
"""of a pattern: an escape, a set, or a character"""
_STARTS = (r"\b", "^")


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


class AnyPattern:
    """A pattern of many alternatives, of which it matters only whether one is there.

    The engine tries each alternative at each character. Those that begin at a word, or at the start, are
    tried there alone if that is said once for all of them, which takes down to an eighth of the time.
    """

    def __init__(self, pattern: str) -> None:
        """Split `pattern` when it is first looked for; it refers to no group of its own."""
        self.pattern = pattern

    def is_in(self, text: str) -> bool:
        """Whether `text` has a match anywhere."""
        return any(search(text) for search in self._searches)

    @cached_property
    def _searches(self) -> tuple[Callable[[str], re.Match[str] | None], ...]:
        grouped: dict[str, list[str]] = {}
        for each in _split_alternatives(self.pattern):
            start = next(filter(each.startswith, _STARTS), "")
            grouped.setdefault(start, []).append(each.removeprefix(start))
        return tuple(
            re.compile(f"{start}(?:{'|'.join(alternatives)})").search
            for start, alternatives in grouped.items()
        )


def _split_alternatives(pattern: str) -> list[str]:
    """Cut a pattern at each `|` that stands in no group."""
    alternatives, depth = [""], 0
    for piece in _PIECES.findall(pattern):
        depth += (piece == "(") - (piece == ")")
        if piece == "|" and not depth:
            alternatives.append("")
        else:
            alternatives[-1] += piece
    return alternatives
