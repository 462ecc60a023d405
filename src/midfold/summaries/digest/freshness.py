"""How much of a sentence is new: a model on its way repeats what it was asked, what it calls, what it said.

A sentence that adds no word of its own to the request, to the calls around it and to what was said before
says nothing that the notes do not have. Which words are worth nothing is counted, in any language. But one
that relates several names, such as a function to what it returns, is a finding though all words are known.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice

from midfold.provenance import Author
from midfold.summaries.ledger.sentences import names_in, relates
from midfold.summaries.ledger.values import Action, Ledger, Statement
from midfold.summaries.phrases import matter_words

_FIRST_WIDE = "\u2e80"
_WIDE_PART = 1 / 3
"""of a word: what a pair of letters counts where words are not parted"""
_ENOUGH = 3.0
"""So many new words make a sentence worth all it weighs."""
_NOTHING = 1.0
"""A single new word is how a model says that it goes on."""
_SAID_BEFORE = 3
"""the statements before one that still are in mind"""
_USUAL_PART, _USUAL_LEAST = 0.06, 4
"""A word in more of the statements is how this model talks."""
_SUBJECT_CHARS = 400
_FINDING = 0.8


class Freshness:
    """What is known when a model speaks; asked about statements in their order."""

    def __init__(self, ledger: Ledger) -> None:
        """Find out how this model talks."""
        self._told = [
            matter_words(each.text) if _is_on_the_way(each) else frozenset() for each in ledger.statements
        ]
        self._usual = _find_usual(self._told)
        self._calls = _Calls(ledger.actions)
        self._asked: frozenset[str] = frozenset()
        self._request = ""
        self._before: deque[frozenset[str]] = deque(maxlen=_SAID_BEFORE)

    def weigh(self, ordinal: int, statement: Statement, sentences: Iterable[str]) -> list[float]:
        """Say how much of each sentence is new; of a person's words and the last ones of a turn, all is."""
        if statement.author is Author.PERSON:
            self._asked, self._request = matter_words(statement.text), statement.text
        if not _is_on_the_way(statement):
            return [1.0 for _ in sentences]
        known = self._usual.union(self._asked, self._calls.around(statement.index), *self._before)
        self._before.append(self._told[ordinal])
        called = self._calls.said(statement.index)
        return [self._weigh(each, known, called) for each in sentences]

    def _weigh(self, sentence: str, known: Set[str], called: str) -> float:
        new = _weigh(matter_words(sentence) - known)
        if new >= _FINDING:
            return new
        names = names_in(sentence)
        is_finding = relates(sentence) and any(
            name not in self._request and name not in called for name in names
        )
        return _FINDING if is_finding else new


def _is_on_the_way(statement: Statement) -> bool:
    return statement.author is Author.MODEL and not statement.is_told


def _weigh(new: Iterable[str]) -> float:
    words = sum(_WIDE_PART if word[0] >= _FIRST_WIDE else 1.0 for word in new)
    return min(1.0, words / _ENOUGH) if words > _NOTHING else 0.0


def _find_usual(told: Sequence[frozenset[str]]) -> frozenset[str]:
    counts = Counter(word for words in told for word in words)
    most = max(_USUAL_LEAST, len(told) * _USUAL_PART)
    return frozenset(word for word, count in counts.items() if count > most)


class _Calls:
    """The words of the calls that a message makes, and of the one before, which it has just seen answered."""

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = actions
        self._next = 0

    def around(self, index: int) -> frozenset[str]:
        """Return the words around message `index`; to be asked in the order of messages."""
        while self._next < len(self._actions) and self._actions[self._next].index < index:
            self._next += 1
        return frozenset(word for action in self._near(index) for word in _words_of(action))

    def said(self, index: int) -> str:
        """Return what these calls are about, as it is written."""
        return "\n".join([_given_to(action) for action in self._near(index)])

    def _near(self, index: int) -> Iterator[Action]:
        for action in islice(self._actions, max(0, self._next - 1), None):
            if action.index > index:
                return
            yield action


def _given_to(action: Action) -> str:
    run = action.run
    return " ".join((run.subject[:_SUBJECT_CHARS], *run.details, *run.reads, *run.changes))


def _words_of(action: Action) -> frozenset[str]:
    return matter_words(_given_to(action))
