"""A small query language, and the trees that each store compiles for its index.

    why did login fail     any of the words, the best first; newest first: all of them
    "connection reset"     these words as they are, next to each other
    login AND error        both words
    compress*              words that begin so
    fold OR prune          either
    error -timeout         the one without the other; also: error NOT timeout
    (fold OR prune) cache  groups

The operators are written in capitals. Everything else is words to look for, and so is an operator, a bracket
or a quotation mark that does not fit: no text is an error.
"""

from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

from midfold.late_dataclasses import dataclass, field, replace
from midfold.late_patterns import compile_late
from midfold.search.pairs import weigh_pair
from midfold.search.related import find_related
from midfold.search.stop_words import is_stop_word
from midfold.search.terms import STEMS, is_unspaced, word_terms
from midfold.search.words import WORD, fold, plain, segment, split_identifier

MAX_QUERY_CHARS = 1_000
MAX_QUERY_WORDS = 32

LEAST_ASKED = 3
STOP_WEIGHT = 0.1
"""The weight of a word that is in every question."""

_MAX_DEPTH = 8
_LEXEME = compile_late(r'(?P<minus>-(?=["(\w]))?(?:"(?P<phrase>[^"]*)"|(?P<open>\()|(?P<word>[^\s"]+))|"')
# Nobody means every word that begins with one letter, and to gather them takes the database long.
_PREFIX = compile_late(r"(?:[^\W_]{2,}|[^\W_A-Za-z0-9])\*$")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand next to each other in what is looked for."""

    words: tuple[str, ...]
    is_prefix: bool = False
    """whether the last word may go on"""
    stem: str = ""
    """of a single word that may have another form"""
    weight: float = 1.0
    """how much it says that a text has them"""


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of a text next to each other; of a prefix, the last word may go on."""

    text: str
    is_prefix: bool = False
    is_exact: bool = False
    """whether other forms of the words do not count"""

    @property
    def words(self) -> tuple[str, ...]:
        """The words, where each character of a script without spaces is one."""
        return tuple(WORD.findall(fold(segment(self.text))))

    @property
    def has_order(self) -> bool:
        """Whether a text may have all terms of it, and not the phrase."""
        return self.is_exact or self.is_prefix or len(self.words) > (2 if is_unspaced(self.text) else 1)


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
class Key:
    """A term of the index that is looked for, and how much it counts beside its rarity."""

    term: str
    is_prefix: bool = False
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed search query."""

    text: str
    tree: Node | None
    """what a message has where every word counts; `None` where the text had no words"""
    loose: Node | None
    """what it has at least, for a ranking: words that were not required are only wished for"""
    terms: tuple[Term, ...]
    """what a hit may show, for marking it"""
    keys: tuple[Key, ...]
    """what is looked for, in the order it was asked for"""
    related: tuple[tuple[str, ...], ...]
    """groups of terms that mean what a word of the query may mean; the best of a group counts"""
    is_cut: bool
    """whether the text was longer than what is looked for"""
    is_plain: bool = True
    """whether no operator was written: words, or a question"""
    asks: bool = False
    """whether it says enough for an answer in other words; one or two words are looked for as they are"""


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
    if not found:
        return Query(text, None, None, (), (), (), is_cut)
    keys = _read_keys(found.node)
    is_plain = not parser.has_operators
    asks = is_plain and parser.asked >= LEAST_ASKED
    related = find_related(kept, [key.term for key in keys]) if asks else ()
    return Query(text, found.node, found.loose, found.terms, keys, related, is_cut, is_plain, asks)


def _read_keys(node: Node) -> tuple[Key, ...]:
    """Return what is looked for, each term once, the words that only ask for little."""
    found: dict[tuple[str, bool], Key] = {}
    for phrase in _wanted(node):
        terms = word_terms(phrase.text)
        for number, term in enumerate(terms):
            is_last = number == len(terms) - 1
            is_prefix = (phrase.is_prefix and is_last) or (len(term) == 1 and is_unspaced(term))
            if phrase.is_prefix and is_last:
                term = WORD.findall(fold(plain(phrase.text)))[-1]
            weight = STOP_WEIGHT if is_stop_word(term) else weigh_pair(term)
            found.setdefault((term, is_prefix), Key(term, is_prefix, weight))
    return tuple(found.values())


def _wanted(node: Node) -> Iterator[Phrase]:
    match node:
        case Phrase():
            yield node
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _wanted(part)
        case Without(wanted, _):
            yield from _wanted(wanted)


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
    """A part of the trees, and the terms that a hit may show."""

    node: Node
    loose: Node
    terms: tuple[Term, ...]
    is_required: bool = False


@dataclass(slots=True)
class _Group:
    """Operands next to each other, up to an OR or the end."""

    wanted: list[_Found] = field(default_factory=list)
    unwanted: list[_Found] = field(default_factory=list)
    literal: list[_Found] = field(default_factory=list)
    """the unwanted with the word that says so, in case there is nothing that they are missing from"""

    is_next_required: bool = False

    def require_next(self) -> None:
        """Note an AND: what stands on both sides of it has to be there."""
        self.is_next_required = True
        if self.wanted:
            self.wanted[-1] = replace(self.wanted[-1], is_required=True)

    def want(self, found: _Found) -> None:
        self.wanted.append(replace(found, is_required=True) if self.is_next_required else found)
        self.is_next_required = False

    def close(self) -> _Found | None:
        wanted = self.wanted or self.literal
        if not wanted:
            return None
        found = _join(wanted, AllOf)
        required = [each for each in wanted if each.is_required]
        loose = _join(required, AllOf).loose if required else _join(wanted, AnyOf).loose
        if not self.wanted or not self.unwanted:
            return _Found(found.node, loose, found.terms, bool(required))
        unwanted = _join(self.unwanted, AnyOf).node
        return _Found(Without(found.node, unwanted), Without(loose, unwanted), found.terms, is_required=True)


def _join(found: list[_Found], kind: type[AllOf] | type[AnyOf]) -> _Found:
    found = list({each.node: each for each in found}.values())
    if len(found) == 1:
        return found[0]
    terms = tuple(dict.fromkeys(term for each in found for term in each.terms))
    return _Found(
        kind(tuple(each.node for each in found)),
        kind(tuple(each.loose for each in found)),
        terms,
        any(each.is_required for each in found),
    )


class _Parser:
    """Reads lexemes from left to right, and counts the words."""

    def __init__(self, lexemes: list[_Lexeme]) -> None:
        self._lexemes = lexemes
        self._position = 0
        self._words_left = MAX_QUERY_WORDS
        self.is_cut = False
        self.has_operators = False
        self.asked = 0

    def read_group(self) -> _Found | None:
        """Read up to the bracket that closes the group, or to the end."""
        groups = [_Group()]
        has_left = False
        while (lexeme := self._next()) and lexeme.kind is not _Kind.CLOSE:
            is_between = has_left and self._has_operand()
            if is_between and lexeme.is_operator("OR"):
                groups.append(_Group())
                has_left = False
                self.has_operators = True
            elif is_between and lexeme.is_operator("AND"):
                self.has_operators = True
                groups[-1].require_next()
            else:
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
                self.has_operators = True
                group.unwanted.append(found)
                name = self._read_one(lexeme) if is_not and not group.wanted else None
                group.literal += [name, found] if name else [found]
        elif found := self._read_one(lexeme):
            group.want(found)

    def _read_one(self, lexeme: _Lexeme) -> _Found | None:
        if lexeme.kind is _Kind.OPEN:
            found = self.read_group()
            return replace(found, is_required=True) if found else None
        if lexeme.kind is _Kind.MINUS:
            following = self._next()
            return self._read_one(following) if following else None
        text, is_prefix = lexeme.text, False
        if lexeme.kind is _Kind.WORD and _PREFIX.search(text):
            text, is_prefix = text[:-1], True
        self.has_operators = self.has_operators or is_prefix or lexeme.kind is _Kind.PHRASE
        forms = [plain(text).strip()]
        if text.isalnum() and lexeme.kind is _Kind.WORD and (parts := split_identifier(text)):
            forms.append(parts)
        words = len(WORD.findall(segment(forms[0])))
        if not words:
            return None
        if words > self._words_left:
            self.is_cut = True
            forms, is_prefix = [_cut(forms[0], self._words_left)], False
        self._words_left -= min(words, self._words_left)
        # Words of scripts without spaces have two characters, as a rule.
        self.asked += (words + 1) // 2 if is_unspaced(forms[0]) else 1
        if not forms[0]:
            return None
        is_exact = lexeme.kind is _Kind.PHRASE
        found = _join([_phrase(each, is_prefix, is_exact) for each in forms], AnyOf)
        return replace(found, is_required=is_exact)

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
    left = words
    for found in WORD.finditer(text):
        count = len(WORD.findall(segment(found[0])))
        if count >= left:
            return text[: found.start() + left] if count > left else text[: found.end()]
        left -= count
    return text


def _phrase(text: str, is_prefix: bool, is_exact: bool) -> _Found:
    phrase = Phrase(text, is_prefix, is_exact)
    return _Found(phrase, phrase, tuple(_terms(phrase)))


def _terms(phrase: Phrase) -> Iterator[Term]:
    """Yield what a hit may show: a word in any form, a phrase, and each pair of a run without spaces."""
    words = phrase.words
    if phrase.is_exact or phrase.is_prefix:
        yield Term(words, phrase.is_prefix)
        return
    if len(words) == 1 and not is_unspaced(words[0]):
        yield Term(words, stem=STEMS[words[0]], weight=STOP_WEIGHT if is_stop_word(STEMS[words[0]]) else 1.0)
        return
    yield Term(words)
    pairs = [term for term in word_terms(phrase.text) if is_unspaced(term)]
    if len(pairs) > 1:
        for pair in pairs:
            yield Term(tuple(pair), weight=STOP_WEIGHT if is_stop_word(pair) else 0.5)
