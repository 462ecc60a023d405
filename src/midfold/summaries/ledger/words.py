"""The content of a text: lines and sentences, the weight of each, and the rules that a user sets in it.

A weight of one is a full line. Of a tool's output, the two ends weigh most.

Rules are kept word for word: losing them is what makes agents break rules after a fold. Only the user's own
sentences count: nothing that is fenced as code or quoted, and never the text of a tool.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache

from midfold.summaries.ledger.text_commands import looks_like_output
from midfold.summaries.tool_calls.output import read_outcome
from midfold.texts import read_text

LEAST_LINES = 8
"""The lines of every output that are looked at, however many outputs there are."""
_LINE_CHARS = 240
_LONGEST_LINE_CHARS = 12 * _LINE_CHARS
_SHORTEST_CHARS = 4
_READ_CHARS_PER_LINE = 400
_END_LINES = 3
_END_FACTOR = 1.6
_NAMING_FACTOR = 1.5
_FULL_LINE_WORDS = 4
_FULL_SENTENCE_WORDS = 12
_WORD = re.compile(r"[^\W\d_]{3,}|[\u3040-\u9fff\uac00-\ud7af]{2}")
_PLAIN_WORD = re.compile(r"[A-Za-z]{3,}")
"""the same where all is ASCII, in half the time"""
_NAME = re.compile(r"(?<![\w./@#-])[\w.@#-]{0,80}(?:[/_.-]|\d|[a-z][A-Z])[\w./@#-]{0,200}\w")
_NAMING_SIGN = re.compile(r"[0-9_/]")
_FIELD_BREAK = re.compile(r",\s{0,4}(?=[\"{\[])|(?<=[\[{}\]])\s{0,4}(?=\")")
_BREAKS = (". ", ", ", "; ", "。", " ")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SENTENCE_CHARS = 320
_SHORTEST_SENTENCE_CHARS = 4
_WHOLE_REQUEST_CHARS = 1_500
_REQUEST_START_CHARS = 700
_MOST_REQUEST_LINES = 200
# Words with which people and models say what they settled on, and why.
_DECISION_WORDS = """
    decided decide decision chose choose opted instead because cause reason issue problem bug fix therefore
    conclusion concluded confirmed root entschieden deshalb weil stattdessen grund décidé parce lieu raison
    porque lugar decidido razón porém motivo решил потому вместо причина
"""
_DECISIONS = frozenset(_DECISION_WORDS.split())
_DECISION_PARTS = (
    *("决定", "因为", "所以", "而不是", "改用", "原因", "問題", "理由"),
    *("ため", "ではなく", "結論", "때문", "대신"),
)


@dataclass(frozen=True, slots=True)
class WeightedLines:
    """Lines of a text, and how much each weighs: about one. In columns, for there are very many."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]

    def __iter__(self) -> Iterator[tuple[str, float]]:
        return zip(self.texts, self.weights, strict=True)


@dataclass(frozen=True, slots=True)
class WeightedSentences:
    """Sentences, how much each weighs, and whether it says what was settled. In columns: there are many."""

    texts: tuple[str, ...]
    weights: tuple[float, ...]
    decides: tuple[bool, ...]

    def __iter__(self) -> Iterator[tuple[str, float, bool]]:
        return zip(self.texts, self.weights, self.decides, strict=True)


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one text, without secrets; with its parts where these were worked out ahead."""

    text: str
    known_sentences: WeightedSentences | None = field(default=None, compare=False, repr=False)
    known_lines: WeightedLines | None = field(default=None, compare=False, repr=False)

    @property
    def sentences(self) -> WeightedSentences:
        """The sentences that say something, each once."""
        return self.known_sentences or _split_sentences(self.text)

    @property
    def opening_chars(self) -> int:
        """The characters of a request that are quoted in one piece: a short one whole."""
        if len(self.text) <= _WHOLE_REQUEST_CHARS:
            return len(self.text)
        return max(self.text.rfind("\n", 0, _REQUEST_START_CHARS), _REQUEST_START_CHARS // 2)

    @property
    def lines(self) -> WeightedLines:
        """The first lines after the opening of a request, as far as they say something."""
        return self.known_lines or _split_lines(self.text[self.opening_chars :])


@dataclass(frozen=True, slots=True)
class UserRequest:
    """The words of a user in one message, without secrets, and the sentences of it that set a rule."""

    words: Words
    rules: tuple[str, ...]

    def precompute(self) -> "UserRequest":
        """Return the request with its lines."""
        return UserRequest(replace(self.words, known_lines=self.words.lines), self.rules)


def read_words(text: str, redact: Callable[[str], str]) -> Words:
    """Read the words of a model."""
    return Words(redact(text).strip())


def read_request(text: str, redact: Callable[[str], str]) -> UserRequest:
    """Read the words of a user; the text of a tool is never pinned, even where it comes as the user's."""
    words = read_words(text, redact)
    return UserRequest(words, () if looks_like_output(words.text) else tuple(find_rules(words.text)))


def decides(sentence: str) -> bool:
    """Whether a sentence says what was decided, or why."""
    return not _DECISIONS.isdisjoint(sentence.lower().split()) or (
        not sentence.isascii() and any(part in sentence for part in _DECISION_PARTS)
    )


def weigh_output(output: str, most: int, said: Container[str] = ()) -> WeightedLines:
    """Return up to `most` lines of both ends; a line that was `said` before weighs nothing."""
    is_json = output.startswith(("{", "["))
    text = read_outcome(output).text if is_json else output
    reach = most * _READ_CHARS_PER_LINE
    if len(text) > 2 * reach:
        text = f"{text[:reach]}\n{text[-reach:]}"
    lines = list(_fields(text) if text.startswith(("{", "[")) else _lines(text, most))
    if len(lines) > most:
        lines = [*lines[: most // 2], *lines[-(most - most // 2) :]]
    inner = range(_END_LINES, len(lines) - _END_LINES)
    weights = [
        0.0 if line in said else weigh_line(line) * (1.0 if number in inner else _END_FACTOR)
        for number, line in enumerate(lines)
    ]
    return WeightedLines(tuple(lines), tuple(weights))


def weigh_lines(lines: Iterable[str]) -> WeightedLines:
    """Weigh each line."""
    texts = tuple(lines)
    return WeightedLines(texts, tuple(map(weigh_line, texts)))


def weigh_line(line: str) -> float:
    """Say how much a line says for its size: full weight takes a few words, names and figures count more."""
    words = _count_words(line)
    return min(words, _FULL_LINE_WORDS) / _FULL_LINE_WORDS * _naming(line)


def weigh_sentence(sentence: str) -> float:
    """Weigh a sentence: twice what a line does when it is long enough to say something."""
    words = _count_words(sentence)
    return min(words, _FULL_SENTENCE_WORDS) * 2 / _FULL_SENTENCE_WORDS * _naming(sentence)


def find_names(text: str) -> list[str]:
    """List the names of files and other things in a text: words with a digit, a slash, a joint."""
    return _NAME.findall(text)


def _split_sentences(text: str) -> WeightedSentences:
    pieces = [piece.strip()[:_SENTENCE_CHARS] for piece in _SENTENCE_END.split(text)]
    texts = tuple([piece for piece in dict.fromkeys(pieces) if len(piece) >= _SHORTEST_SENTENCE_CHARS])
    return WeightedSentences(texts, tuple(map(weigh_sentence, texts)), tuple(map(decides, texts)))


def _split_lines(text: str) -> WeightedLines:
    lines = [line.strip() for line in text.split("\n", _MOST_REQUEST_LINES)[:_MOST_REQUEST_LINES]]
    return weigh_lines(line for line in lines if line)


def _count_words(text: str) -> int:
    return len((_PLAIN_WORD if text.isascii() else _WORD).findall(text))


def _naming(text: str) -> float:
    return _NAMING_FACTOR if _NAMING_SIGN.search(text) else 1.0


def _lines(text: str, most: int) -> Iterator[str]:
    lines = text.split("\n")
    if len(lines) > 2 * most:
        lines = [*lines[:most], *lines[-most:]]
    for line in lines:
        bare = line.strip()
        if len(bare) > _LINE_CHARS:
            yield from _pieces(bare)
        elif len(bare) >= _SHORTEST_CHARS:
            yield bare


def _fields(text: str) -> Iterator[str]:
    """Yield the fields of JSON as they are written."""
    for piece in _FIELD_BREAK.split(text):
        bare = piece.strip().strip("{}[]").strip()
        if len(bare) > _LINE_CHARS:
            yield from _pieces(bare)
        elif len(bare) >= _SHORTEST_CHARS:
            yield bare


def _pieces(line: str) -> Iterator[str]:
    """Cut a long line where a sentence or a list item ends."""
    start = 0
    while len(line) - start > _LINE_CHARS and start < _LONGEST_LINE_CHARS:
        low, high = start + _LINE_CHARS // 3, start + _LINE_CHARS
        stop = next((at + 1 for mark in _BREAKS if (at := line.rfind(mark, low, high)) >= 0), high)
        yield line[start:stop].strip()
        start = stop
    if start < _LONGEST_LINE_CHARS:
        yield line[start:].strip()


LONGEST_RULE_CHARS = 300
_QUESTION_MARKS = ("?", "？", "؟")
_SHORTEST_RULE_CHARS = 6
_RULE_READ_CHARS = 12_000
"""Of a longer message the two ends are read: what lies between is most often pasted."""

_FENCES = re.compile(r"```|~~~|</?(?:pre|code)>")
_QUOTES = re.compile(r"`[^`\n]{1,300}`|\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|«[^»\n]{1,300}»|「[^」\n]{1,300}」")
_QUOTED_LINE = re.compile(r"^\s{0,8}(?:>|\|)")
# A full stop ends a sentence before a space; the stops of Chinese and Japanese need none.
_RULE_END = re.compile(r"(?<=[.!?…])[\"')\]]{0,2}\s+|(?<=[。！？])|\n+")
_RULE_BULLET = re.compile(r"^\s{0,12}(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")

# Ways to forbid that take a verb: French around it, Spanish, Italian and Russian before it.
_FORMS = re.compile(
    r"\b(?:ne\s|n['’])\w+\spas\b"
    r"|\bno\s(?:us|hag|toqu|cambi|modifiqu|borr|quier|incluy|agregu|añad|elimin|romp|olvid|escrib|cre)\w{1,4}\b"
    r"|\bnon\s(?:devi|usare|fare|toccare|cambiare|modificare)\b"
    r"|\bне\s(?:меня|трога|использу|удаля|дела|добавля|забуд|пиш)\w+"
)
# What does not work, or is not known, is reported and not ruled.
_REPORTS = re.compile(
    r"\b(?:i|we|they|it|this|that|he|she)\s(?:don't|do not|doesn't|does not|only|should (?:be )?work)\b"
    r"|\bmust have (?:been|had)\b|\b(?:never|always) \w+ed\b|\bdoes not (?:exist|work|match)\b"
    r"|\bthere (?:are|is) always\b"
)
_RULE_WORD = re.compile(r"\w+(?:['’]\w+)?")


def find_rules(text: str) -> list[str]:
    """Return the sentences of a user's message that set a rule, in their order, each once."""
    if len(text) > _RULE_READ_CHARS:
        text = f"{text[: _RULE_READ_CHARS // 2]}\n{text[-_RULE_READ_CHARS // 2 :]}"
    # What stands between two fences is code.
    sentences = sentences_of("\n".join(_FENCES.split(text)[::2]))
    return list(dict.fromkeys(sentence for sentence in sentences if is_rule(sentence)))


def is_rule(sentence: str) -> bool:
    """Whether a sentence of the user sets a rule."""
    if not _SHORTEST_RULE_CHARS <= len(sentence) <= LONGEST_RULE_CHARS:
        return False
    said = _QUOTES.sub(" ", sentence).lower().replace("’", "'").rstrip()
    if said.endswith(_QUESTION_MARKS):
        return False
    said = _REPORTS.sub(" ", said)
    return (
        not _words().isdisjoint(_RULE_WORD.findall(said))
        or any(map(said.__contains__, _phrases()))
        or _FORMS.search(said) is not None
        or said.startswith("no ")
        or (not said.isascii() and any(map(said.__contains__, _parts())))
    )


def sentences_of(text: str) -> Iterator[str]:
    """Yield the sentences of a text without bullets; quoted lines are left out."""
    for line in text.split("\n"):
        if not line.strip() or _QUOTED_LINE.match(line):
            continue
        bare = _RULE_BULLET.sub("", line).strip()
        yield from (sentence.strip() for sentence in _RULE_END.split(bare) if sentence.strip())


@cache
def _words() -> frozenset[str]:
    """Return the words that forbid, oblige, limit or prefer; a language a line or two."""
    return frozenset(read_text(__package__, "rule_words.txt").split())


@cache
def _phrases() -> tuple[str, ...]:
    """Return what takes several words to say."""
    return tuple(read_text(__package__, "rule_phrases.txt").strip().replace("\n", ", ").split(", "))


@cache
def _parts() -> tuple[str, ...]:
    """Return what is found inside words, for scripts that do not part them."""
    return tuple(read_text(__package__, "rule_parts.txt").split())
