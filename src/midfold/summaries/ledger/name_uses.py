"""Names in a text, told by their shape alone, and what is known of the uses of each.

A name is a word with a slash, a dot, an underscore, a digit or a capital inside.
"""

from enum import StrEnum

from midfold.late_dataclasses import dataclass, field
from midfold.late_patterns import compile_late

_WORD_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~./@+-")
_BLANKS = {code: " " for code in range(128) if chr(code) not in _WORD_SIGNS}
_ENDS, _STARTS = "./@+-~", "@+-~."
_SHORTEST_NAME, _LONGEST_NAME = 4, 100
"""longer runs are data, not names"""
_CAMEL = compile_late(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_NUMBER = compile_late(r"[\d./+-]+")
_LEAST_DIGITS = 5
"""a shorter figure says nothing without its sentence"""
_MEASURED = compile_late(
    r"[+-]?\d+[.]\d+|[+-]?[\d.]+(?:ns|us|ms|s|[KMGTkmgt]i?[Bb]?|px|pt?|r?em|vh|vw|fr|deg)"
)
"""a figure with decimals or a unit names nothing"""
_SHAPED = compile_late("[/._0-9]")
_PAIR = compile_late(r"[A-Za-z]+/[a-z]+")
_JOINED_SENTENCES = compile_late(
    r"[a-z]+\.(?:A|An|And|As|At|But|By|For|From|He|I|If|In|It|Its|Let|Lets|Like|My|No|Not|Now|Of|On|Or|She|So|That"
    r"|The|Then|There|These|They|This|To|We|What|When|With|You|Your)"
)
"""a full stop without the blank behind it"""
_ENDING = compile_late(r"\.[A-Za-z]\w{0,4}$")


class NameShape(StrEnum):
    """The look of a name."""

    PATH = "path"
    FILE = "file"
    DOTTED = "dotted"
    SNAKE = "snake"
    CAMEL = "camel"
    ID = "id"
    NUMBER = "number"


class NamePlace(StrEnum):
    """The kind of thing that a name belongs to."""

    CHANGED = "changed"
    READ = "read"
    SHELL = "shell"
    SEARCH = "search"
    WEB = "web"
    TOOL = "tool"
    SAID = "said"


@dataclass(slots=True, eq=False)
class NameTopic:
    """A file, a program or a tool, with the messages in which it was used."""

    label: str
    place: NamePlace
    indices: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class NameUse:
    """A name, and how it was used so far; counts are of messages."""

    name: str
    shape: NameShape
    first: int
    last: int
    topic: NameTopic
    tie: int = 0
    said: int = 0
    """by the agent, in its words"""
    given: int = 0
    """by the agent, to a tool"""
    last_own: int = -1
    """the last use by the agent"""
    asked: int = 0
    """by a person"""
    printed: int = 0
    """by a tool"""
    company: int = 1_000
    """the names that a tool printed beside it, where these were the fewest"""


def list_words(text: str) -> list[str]:
    """List the words of a text that could be names, and shorter ones that cannot."""
    # ASCII is translated in a quarter of the time that a pattern takes; any other letter parts words.
    plain = text if text.isascii() else text.encode("ascii", "replace").decode("ascii")
    return plain.translate(_BLANKS).split()


def find_words(text: str) -> set[str]:
    """Return the words of a text that could be names."""
    words = set(list_words(text))
    return {word.rstrip(_ENDS).lstrip(_STARTS) for word in words if len(word) >= _SHORTEST_NAME}


def read_name(word: str) -> tuple[str, NameShape] | None:
    """Return the name in a word, and its shape; `None` for a word that is no name."""
    if word.isalpha() and (word.islower() or word.istitle()):
        return None
    name = word.rstrip(_ENDS).lstrip(_STARTS)
    shape = _find_shape(name) if _SHORTEST_NAME <= len(name) <= _LONGEST_NAME else None
    return (name, shape) if shape else None


def _find_shape(name: str) -> NameShape | None:
    bare = name.strip("/_")
    if not _SHAPED.search(bare):
        return NameShape.CAMEL if _CAMEL.search(bare) else None
    if _MEASURED.fullmatch(bare):
        return None
    if _NUMBER.fullmatch(bare):
        return NameShape.NUMBER if sum(map(str.isdigit, bare)) >= _LEAST_DIGITS else None
    if "/" in bare:
        # "import/export" is prose.
        return None if _PAIR.fullmatch(name) else NameShape.PATH
    if "." in bare:
        if _JOINED_SENTENCES.fullmatch(bare):
            return None
        return NameShape.FILE if _ENDING.search(bare) else NameShape.DOTTED
    if "_" in bare:
        return NameShape.SNAKE
    return NameShape.CAMEL if _CAMEL.search(bare) else NameShape.ID
