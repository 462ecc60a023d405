"""Regular expressions that a model writes: in linear time, or not at all."""

from collections.abc import Callable
from importlib.util import find_spec

Finder = Callable[[str], tuple[int, int] | None]
"""Returns where a text matches first."""
MOST_PATTERN_CHARS = 400


class PatternRefused(ValueError):
    """The pattern cannot be used; the text says why."""


def compile_pattern(pattern: str) -> Finder:
    """Compile a pattern, ignoring case; raises `PatternRefused`.

    The standard library's engine can be held up for ever by a short pattern, so only re2 is used.
    """
    if len(pattern) > MOST_PATTERN_CHARS:
        raise PatternRefused(f"a pattern has at most {MOST_PATTERN_CHARS} characters")
    if find_spec("re2") is None:
        raise PatternRefused("regular expressions need google-re2, which is not installed; search for words")
    import re2  # wheels exist for most platforms, not for all

    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise PatternRefused(f"not a regular expression: {words}") from None

    def find(text: str) -> tuple[int, int] | None:
        found = compiled.search(text)
        return (found.start(), found.end()) if found else None

    return find
