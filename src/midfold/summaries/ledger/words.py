"""What somebody said, taken apart: a model's words into sentences, a user's into the rules they set."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from midfold.summaries.ledger.protocol import looks_like_output
from midfold.summaries.ledger.telling import Lines, tell_prose, weigh_lines
from midfold.summaries.rules import find_rules

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_SENTENCE_CHARS = 320
_SHORTEST_SENTENCE_CHARS = 4
_WHOLE_REQUEST_CHARS = 1_500
_REQUEST_START_CHARS = 700
_MOST_REQUEST_LINES = 200
# Words with which people and models say what they settled on, and why.
_DECISIONS = frozenset(
    {
        *(
            "decided",
            "decide",
            "decision",
            "chose",
            "choose",
            "opted",
            "instead",
            "because",
            "cause",
            "reason",
        ),
        *("issue", "problem", "bug", "fix", "therefore", "conclusion", "concluded", "confirmed", "root"),
        *("entschieden", "deshalb", "weil", "stattdessen", "grund", "décidé", "parce", "lieu", "raison"),
        *("porque", "lugar", "decidido", "razón", "porém", "motivo", "решил", "потому", "вместо", "причина"),
    }
)
_DECISION_PARTS = (
    *("决定", "因为", "所以", "而不是", "改用", "原因", "問題", "理由"),
    *("ため", "ではなく", "結論", "때문", "대신"),
)


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences, how much each tells, and whether it says what was settled. In columns: there are many."""

    texts: tuple[str, ...]
    tells: tuple[float, ...]
    decides: tuple[bool, ...]

    def __iter__(self) -> Iterator[tuple[str, float, bool]]:
        return zip(self.texts, self.tells, self.decides, strict=True)


@dataclass(frozen=True, slots=True)
class Words:
    """What was said in one text, without secrets; with its parts where these were worked out ahead."""

    text: str
    ahead_sentences: Sentences | None = field(default=None, compare=False, repr=False)
    ahead_lines: Lines | None = field(default=None, compare=False, repr=False)

    @property
    def sentences(self) -> Sentences:
        """The sentences that say something, each once."""
        return self.ahead_sentences or _split_sentences(self.text)

    @property
    def opening_chars(self) -> int:
        """How much of a request is quoted in one piece: a short one whole."""
        if len(self.text) <= _WHOLE_REQUEST_CHARS:
            return len(self.text)
        return max(self.text.rfind("\n", 0, _REQUEST_START_CHARS), _REQUEST_START_CHARS // 2)

    @property
    def lines(self) -> Lines:
        """The first lines after the opening of a request, as far as they say something."""
        return self.ahead_lines or _split_lines(self.text[self.opening_chars :])


@dataclass(frozen=True, slots=True)
class Request:
    """What a user said in one message, without secrets, and the sentences of it that set a rule."""

    words: Words
    rules: tuple[str, ...]

    def read_ahead(self) -> "Request":
        """Return the request with its lines."""
        return Request(replace(self.words, ahead_lines=self.words.lines), self.rules)


def read_words(text: str, redact: Callable[[str], str]) -> Words:
    """Read the words of a model."""
    return Words(redact(text).strip())


def read_request(text: str, redact: Callable[[str], str]) -> Request:
    """Read the words of a user; the text of a tool is never pinned, even where it comes as the user's."""
    words = read_words(text, redact)
    return Request(words, () if looks_like_output(words.text) else tuple(find_rules(words.text)))


def decides(sentence: str) -> bool:
    """Whether a sentence says what was decided, or why."""
    return not _DECISIONS.isdisjoint(sentence.lower().split()) or (
        not sentence.isascii() and any(part in sentence for part in _DECISION_PARTS)
    )


def _split_sentences(text: str) -> Sentences:
    pieces = [piece.strip()[:_SENTENCE_CHARS] for piece in _SENTENCE_END.split(text)]
    texts = tuple([piece for piece in dict.fromkeys(pieces) if len(piece) >= _SHORTEST_SENTENCE_CHARS])
    return Sentences(texts, tuple(map(tell_prose, texts)), tuple(map(decides, texts)))


def _split_lines(text: str) -> Lines:
    lines = [line.strip() for line in text.split("\n", _MOST_REQUEST_LINES)[:_MOST_REQUEST_LINES]]
    return weigh_lines(line for line in lines if line)
