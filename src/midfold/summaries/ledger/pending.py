"""What a person asked for and nobody took up: its words came back in nothing that the model said or did.

One of two wishes in a message is forgotten more often than a whole message. That the words of a wish are not
found says something only where those of others are: then model and person speak one language.
"""

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import AnyPattern, compile_late
from midfold.provenance import Author
from midfold.summaries.ledger.rules import is_rule, sentences_of, takes_back
from midfold.summaries.ledger.values import Action, Statement
from midfold.summaries.phrases import other_letters
from midfold.texts import read_text

_WORD = compile_late(r"[^\W_\u2e80-\uffff]{4,}|\d{2,}")
_WIDE = compile_late(r"(?=([\u4e00-\u9fff\u30a1-\u30ff]{2}))|(?<![\uac00-\ud7af])([\uac00-\ud7af]{2})")
_HAS_WIDE = compile_late(r"[\u30a1-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_FIRST_WIDE, _LAST_WIDE = "\u2e80", "\uffff"
_APPROVAL = compile_late(r"\bgo ahead\b|\bproceed\b|\bnur zu\b|\badelante\b|\bvas-y\b")
"""a yes to what the model offered"""
_PLAIN = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
"""ASCII in small letters, and blanks between words"""
_STEM_CHARS, _LEAST_LETTERS = 5, 4
_QUESTION_ENDS = ("?", "？", "؟")
_LEAST_WORDS, _LEAST_QUESTION_WORDS = 3, 5
"""A short question may be answered in other words."""
_TAKEN_UP, _LEFT = 0.5, 0.2
"""the part of a wish's words that came back: of one that was taken up for sure, and of one that was not"""
_LONGEST_WISH = 300
_TEXT_CHARS = 20_000
_SHOWN_CHARS = 2_000
"""Of what a call was given at length, and of what it printed."""

PendingWishes: TypeAlias = Mapping[int, tuple[str, ...]]
"""by message, what a person asked for and nobody took up"""


@dataclass(frozen=True, slots=True)
class Wish:
    """A sentence of a person who asks for something, and the part of its words that came back."""

    index: int
    text: str
    words: int
    taken_up: float
    asks: bool
    """else it is a sentence beside a wish, which shows that the model read the message"""


def find_pending(statements: Sequence[Statement], actions: Sequence[Action]) -> PendingWishes:
    """Return by message the wishes that nobody took up before a turn ended; the newest message waits.

    A single wish that the model answered at once was answered, in whatever words.
    """
    people = [each for each in statements if each.author is Author.PERSON]
    last_final = max((each.index for each in statements if each.is_final), default=-1)
    wishes = list(_weigh_wishes(people[:-1], statements, actions))
    groups = _group_messages(people, statements, actions)
    taken_up = {groups[wish.index] for wish in wishes if wish.taken_up >= _TAKEN_UP}
    pending: dict[int, tuple[str, ...]] = {}
    for wish in (each for each in wishes if each.asks):
        least = _LEAST_QUESTION_WORDS if _is_question(wish.text) else _LEAST_WORDS
        is_left = wish.taken_up <= _LEFT and wish.words >= least and wish.index < last_final
        if is_left and groups[wish.index] in taken_up and not _is_settled(wish, people):
            pending[wish.index] = (*pending.get(wish.index, ()), wish.text)
    return pending


def _group_messages(
    people: Sequence[Statement], statements: Sequence[Statement], actions: Sequence[Action]
) -> dict[int, int]:
    """Join the messages of people that stand before the model together; it answers them at once."""
    spoke = {each.index for each in statements if each.author is Author.MODEL}
    turns = sorted(spoke.union(action.index for action in actions))
    return {each.index: bisect_right(turns, each.index) for each in people}


def is_taken_up(text: str, statements: Sequence[Statement], actions: Sequence[Action]) -> bool:
    """Whether something that was said or done speaks of an earlier wish."""
    wanted, found = _stems(_cues().sub(" ", text.lower())), set[str]()
    for piece in (*(each.text for each in statements), *map(_text_of, actions)):
        found |= wanted & _stems(piece[:_TEXT_CHARS])
    return len(found) > len(wanted) * _LEFT


def _weigh_wishes(
    people: Sequence[Statement], statements: Sequence[Statement], actions: Sequence[Action]
) -> Iterator[Wish]:
    """Yield the wishes, the newest first; what was said and done after each is gathered on the way back."""
    wishes = [(each, list(_find_wishes(each.text))) for each in people if not each.is_reply]
    wishes = [(each, found) for each, found in wishes if any(asks for _, asks in found)]
    if not wishes:
        return
    first = wishes[0][0].index
    done = [(each.index, each.text) for each in statements if each.author is Author.MODEL]
    done += [(action.index, _text_of(action)) for action in actions]
    waiting = deque(sorted((each for each in done if each[0] > first), reverse=True))
    seen: set[str] = set()
    for statement, found in reversed(wishes):
        while waiting and waiting[0][0] > statement.index:
            seen |= _stems(waiting.popleft()[1][:_TEXT_CHARS])
        for text, asks in found:
            words = _stems(_cues().sub(" ", text.lower()))
            if words:
                yield Wish(statement.index, text, len(words), len(words & seen) / len(words), asks)


def _find_wishes(text: str) -> Iterator[tuple[str, bool]]:
    """Yield sentences, and whether each asks for something; what a paste repeats is judged once."""
    known: dict[str, bool] = {}
    for sentence in sentences_of(text[:_TEXT_CHARS]):
        if sentence not in known:
            known[sentence] = len(sentence) <= _LONGEST_WISH and _is_wish(sentence)
        yield sentence, known[sentence]


def _is_wish(sentence: str) -> bool:
    """Whether a sentence asks; that it is no rule takes longest to see, and few get that far."""
    said = sentence.lower()
    asks = _is_question(sentence) or _asks().is_in(said)
    return asks and _APPROVAL.search(said) is None and not is_rule(sentence)


def _is_question(sentence: str) -> bool:
    return sentence.rstrip("*_)\"' ").endswith(_QUESTION_ENDS)


def _is_settled(wish: Wish, people: Sequence[Statement]) -> bool:
    """Whether its author came back to a wish, be it to withdraw it."""
    words = _stems(_cues().sub(" ", wish.text.lower()))
    later = [each for each in people if each.index > wish.index]
    if later and takes_back(later[0].text):
        return True
    return any(len(words & _stems(each.text[:_TEXT_CHARS])) >= len(words) * _TAKEN_UP for each in later)


def _text_of(action: Action) -> str:
    run = action.run
    given, shown = " ".join(run.content)[:_SHOWN_CHARS], run.output[:_SHOWN_CHARS]
    return " ".join((run.tool, run.subject, *run.details, *run.changes, *run.reads, given, shown))


def _stems(text: str) -> set[str]:
    """Return the beginnings of words; of scripts that do not part them, pairs."""
    text = text if text.isascii() else _without_signs(text)
    if text.isascii():
        # ASCII is translated in a quarter of the time that a pattern takes.
        return {
            word[:_STEM_CHARS]
            for word in set(text.translate(_PLAIN).split())
            if len(word) >= _LEAST_LETTERS or (len(word) > 1 and word.isdigit())
        }
    found = {word[:_STEM_CHARS] for word in _WORD.findall(text.lower())}
    if _HAS_WIDE.search(text):
        found.update(one or other for one, other in _WIDE.findall(text))
    return found


def _without_signs(text: str) -> str:
    """Put blanks in the place of dashes, ticks and the like, which are often all that is not ASCII."""
    for letter in other_letters(text):
        if not (letter.isalnum() or _FIRST_WIDE <= letter <= _LAST_WIDE):
            text = text.replace(letter, " ")
    return text


@cache
def _asks() -> AnyPattern:
    return AnyPattern(_cues().pattern)


@cache
def _cues() -> re.Pattern[str]:
    """Return how wishes are worded: a language a line or two."""
    return compile_late("|".join(read_text(__package__, "ask_cues.txt").split("\n")))
