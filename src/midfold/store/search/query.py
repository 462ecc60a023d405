"""A small query language, and the tree that each store compiles for its index.

    login error            both words
    "connection reset"     the words next to each other
    compress*              words that begin so
    fold OR prune          either
    error -timeout         the one without the other; also: error NOT timeout
    (fold OR prune) cache  groups

The three operators are written in capitals. Everything else is words to look for, and so is an operator, a
bracket or a quotation mark that does not fit: no text is an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from midfold.store.search.words import WORD, segment, split_identifier

MAX_QUERY_CHARS = 1_000
MAX_QUERY_WORDS = 32

_MAX_DEPTH = 8
_LEXEME = re.compile(r'(?P<minus>-(?=["(\w]))?(?:"(?P<phrase>[^"]*)"|(?P<open>\()|(?P<word>[^\s"]+))|"')
# Nobody means every word that begins with one letter, and to gather them takes the database long.
_PREFIX = re.compile(r"(?:[^\W_]{2,}|[^\W_A-Za-z0-9])\*$")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand next to each other in what is looked for."""

    words: tuple[str, ...]
    is_prefix: bool
    """whether the last word may go on"""


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of a text next to each other; of a prefix, the last word may go on."""

    text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of the parts."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Without:
    """The one, and not the other."""

    wanted: "Node"
    unwanted: "Node"


Node: TypeAlias = Phrase | AllOf | AnyOf | Without


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search query."""

    tree: Node | None
    """`None` where the text had no words"""
    terms: tuple[Term, ...]
    """what a hit may show, for marking it"""
    is_cut: bool
    """whether the text was longer than what is looked for"""


def read_query(text: str) -> Query:
    """Read any text as a query; it never fails.

    Of a longer text the first 1,000 characters and the first 32 words count, where each character of a script
    without spaces is a word.
    """
    kept = text[:MAX_QUERY_CHARS]
    if text[MAX_QUERY_CHARS - 1 : MAX_QUERY_CHARS + 1].isalnum() and len(text) > MAX_QUERY_CHARS:
        kept += "*"  # what was cut in a word still finds it
    parser = _Parser(list(_lex(kept)))
    found = parser.read_group()
    is_cut = parser.is_cut or len(text) > MAX_QUERY_CHARS
    return Query(found.node, found.terms, is_cut) if found else Query(None, (), is_cut)


class _Kind(Enum):
    WORD = "word"
    PHRASE = "phrase"
    MINUS = "minus"
    OPEN = "open"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class _Lexeme:
    kind: _Kind
    text: str

    def is_operator(self, name: str) -> bool:
        return self.kind is _Kind.WORD and self.text == name


_CLOSE = _Lexeme(_Kind.CLOSE, ")")


def _lex(text: str) -> Iterator[_Lexeme]:
    depth = 0
    for found in _LEXEME.finditer(text):
        if found["minus"]:
            yield _Lexeme(_Kind.MINUS, "-")
        if found["phrase"] is not None:
            yield _Lexeme(_Kind.PHRASE, found["phrase"])
        elif found["open"]:
            if depth < _MAX_DEPTH:
                depth += 1
                yield _Lexeme(_Kind.OPEN, "(")
        elif word := found["word"]:
            # In `(find f(x))` the first bracket behind x belongs to the word, the second to the group.
            bare = word.rstrip(")")
            closing = min(depth, len(word) - len(bare), max(0, word.count(")") - word.count("(")))
            yield _Lexeme(_Kind.WORD, word[: len(word) - closing])
            yield from [_CLOSE] * closing
            depth -= closing


@dataclass(frozen=True, slots=True)
class _Found:
    """A part of the tree, and the terms that a hit may show."""

    node: Node
    terms: tuple[Term, ...]


@dataclass(slots=True)
class _Group:
    """Operands next to each other, up to an OR or the end."""

    wanted: list[_Found] = field(default_factory=list)
    unwanted: list[_Found] = field(default_factory=list)
    literal: list[_Found] = field(default_factory=list)
    """the unwanted with the word that says so, in case there is nothing that they are missing from"""

    def close(self) -> _Found | None:
        wanted = self.wanted or self.literal
        if not wanted:
            return None
        found = _join(wanted, AllOf)
        if not self.wanted or not self.unwanted:
            return found
        return _Found(Without(found.node, _join(self.unwanted, AnyOf).node), found.terms)


def _join(found: list[_Found], kind: type[AllOf] | type[AnyOf]) -> _Found:
    found = list(dict.fromkeys(found))
    if len(found) == 1:
        return found[0]
    terms = tuple(term for each in found for term in each.terms)
    return _Found(kind(tuple(each.node for each in found)), terms)


class _Parser:
    """Reads lexemes from left to right, and counts the words."""

    def __init__(self, lexemes: list[_Lexeme]) -> None:
        self._lexemes = lexemes
        self._position = 0
        self._words_left = MAX_QUERY_WORDS
        self.is_cut = False

    def read_group(self) -> _Found | None:
        """Read up to the bracket that closes the group, or to the end."""
        groups = [_Group()]
        has_left = False
        while (lexeme := self._next()) and lexeme.kind is not _Kind.CLOSE:
            is_between = has_left and self._has_operand()
            if is_between and lexeme.is_operator("OR"):
                groups.append(_Group())
                has_left = False
            elif not (is_between and lexeme.is_operator("AND")):
                self._read_operand(lexeme, groups[-1])
                has_left = True
        found = [each for group in groups if (each := group.close())]
        return _join(found, AnyOf) if found else None

    def _read_operand(self, lexeme: _Lexeme, group: _Group) -> None:
        is_not = lexeme.is_operator("NOT")
        if (is_not or lexeme.kind is _Kind.MINUS) and self._has_operand():
            operand = self._next()
            found = self._read_one(operand) if operand else None
            if found:
                group.unwanted.append(found)
                name = self._read_one(lexeme) if is_not and not group.wanted else None
                group.literal += [name, found] if name else [found]
        elif found := self._read_one(lexeme):
            group.wanted.append(found)

    def _read_one(self, lexeme: _Lexeme) -> _Found | None:
        if lexeme.kind is _Kind.OPEN:
            return self.read_group()
        if lexeme.kind is _Kind.MINUS:
            following = self._next()
            return self._read_one(following) if following else None
        text, is_prefix = lexeme.text, False
        if lexeme.kind is _Kind.WORD and _PREFIX.search(text):
            text, is_prefix = text[:-1], True
        forms = [segment(text).strip()]
        if text.isalnum() and (parts := split_identifier(text)):
            forms.append(parts)
        words = len(WORD.findall(forms[0]))
        if not words:
            return None
        if words > self._words_left:
            self.is_cut = True
            forms, is_prefix = [_cut(forms[0], self._words_left)], False
        self._words_left -= min(words, self._words_left)
        return _join([_phrase(each, is_prefix) for each in forms], AnyOf) if forms[0] else None

    def _next(self) -> _Lexeme | None:
        if self._position == len(self._lexemes):
            return None
        self._position += 1
        return self._lexemes[self._position - 1]

    def _has_operand(self) -> bool:
        """Whether what comes next can be looked for."""
        following = self._lexemes[self._position : self._position + 1]
        return bool(following) and following[0].kind is not _Kind.CLOSE


def _cut(text: str, words: int) -> str:
    """Return a text up to the end of its n-th word."""
    ends = [found.end() for found in WORD.finditer(text)][:words]
    return text[: ends[-1]] if ends else ""


def _phrase(text: str, is_prefix: bool) -> _Found:
    return _Found(Phrase(text, is_prefix), (Term(tuple(WORD.findall(text)), is_prefix),))
