"""Finds notes that are in another language than the one the user writes; only clear cases count.

Letters show the script. Languages in Latin letters are known by their small words, and only those words
count that one language of the list alone has.
"""

import re
from collections import Counter
from functools import cache

from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.summaries.sections import split_sections
from midfold.texts import read_text

_LETTERS = {
    "Latin": compile_late(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]"),
    "Greek": compile_late(r"[\u0370-\u03ff]"),
    "Cyrillic": compile_late(r"[\u0400-\u04ff]"),
    "Hebrew": compile_late(r"[\u0590-\u05ff]"),
    "Arabic": compile_late(r"[\u0600-\u06ff]"),
    "Devanagari": compile_late(r"[\u0900-\u097f]"),
    "Thai": compile_late(r"[\u0e00-\u0e7f]"),
    "Korean": compile_late(r"[\uac00-\ud7a3]"),
    "Japanese": compile_late(r"[\u3040-\u30ff]"),
    "Chinese": compile_late(r"[\u3400-\u9fff]"),
}
_WEIGHTS = {"Korean": 2.0, "Japanese": 2.0, "Chinese": 3.0}
"""Letters of an alphabet that it takes to say what one of these says."""
_KANA_PART = 0.08
"""Of kana and Chinese characters, from which on a text is Japanese."""
# What is written alike in every language: code, addresses, paths, names with a joint or a digit, options.
_NEUTRAL = compile_late(
    r"```.{0,20000}?(?:```|\Z)|`[^`\n]{1,300}`|https?://[^\s\u3000-\u9fff]{1,500}"
    r"|[A-Za-z0-9_.@~/\\-]{0,100}(?<=[A-Za-z0-9])[/\\_.=:@#][A-Za-z0-9][A-Za-z0-9_./\\:=@#-]{0,200}"
    r"|(?<![\w/])[~.]{0,2}/[A-Za-z0-9_./-]{1,200}|(?<![\w-])--?[A-Za-z][\w-]{0,40}"
    r"|\b[A-Za-z]{0,40}\d\w{0,40}\b|\b[A-Z]{2,30}\b|\b[a-z]{1,40}[A-Z]\w{0,40}\b",
    re.DOTALL,
)
_WORD = compile_late(r"[^\W\d_]+")
_QUOTING_SECTIONS = frozenset(
    {"Active Task", "Constraints & Preferences", "Pending User Asks", "Task Context"}
)
"""Where notes repeat the user word for word, whatever language the rest is in."""
_READ_CHARS = 40_000
_FEWEST_LETTERS = 120
_CLEAR = 0.6
_TRACE = 0.1
_FEWEST_WORDS = 6
_CLEARLY_MORE = 4


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The language of the notes, and the one that the user writes."""

    found: str
    expected: str


def find_mismatch(notes: str, user_words: str) -> Mismatch | None:
    """Compare the language of notes with the user's; `None` unless they clearly differ."""
    said = _prose(
        "\n".join(text for name, text in split_sections(notes).items() if name not in _QUOTING_SECTIONS)
    )
    asked = _prose(user_words)
    return _compare_scripts(said, asked) or _compare_words(said, asked)


def _prose(text: str) -> str:
    return _NEUTRAL.sub(" ", text[:_READ_CHARS])


def _compare_scripts(said: str, asked: str) -> Mismatch | None:
    here, there = _scripts(said), _scripts(asked)
    if here.total() < _FEWEST_LETTERS or there.total() < _FEWEST_LETTERS / 2:
        return None
    (found, most), (expected, wanted) = here.most_common(1)[0], there.most_common(1)[0]
    if found == expected or most < _CLEAR * here.total() or wanted < _CLEAR * there.total():
        return None
    # Names and commands are in Latin letters whatever the language; other letters are there to be read.
    trace = there[found] / there.total() if expected == "Latin" else here[expected] / here.total()
    if trace >= _TRACE or (found == "Latin" and _language(said) is None):
        return None
    return Mismatch(_name(found, said), _name(expected, asked))


def _scripts(text: str) -> Counter[str]:
    """Weigh the letters of a text by script; Chinese characters beside kana are Japanese."""
    weights = Counter(
        {
            name: round(len(letters.findall(text)) * _WEIGHTS.get(name, 1))
            for name, letters in _LETTERS.items()
        }
    )
    if weights["Japanese"] > _KANA_PART * (weights["Japanese"] + weights["Chinese"]):
        weights["Japanese"] += weights["Chinese"]
        weights["Chinese"] = 0
    return weights


def _name(script: str, text: str) -> str:
    if script == "Latin":
        return _language(text) or "a language in Latin letters"
    return script if script in _WEIGHTS else f"a language in {script} letters"


def _language(text: str) -> str | None:
    """Name the language in Latin letters whose small words a text has; none that it has a few of."""
    found = _languages(text).most_common(1)
    return found[0][0] if found and found[0][1] >= _FEWEST_WORDS else None


def _compare_words(said: str, asked: str) -> Mismatch | None:
    here, there = _languages(said), _languages(asked)
    if not here or not there:
        return None
    (found, most), (expected, wanted) = here.most_common(1)[0], there.most_common(1)[0]
    if found == expected or min(most, wanted) < _FEWEST_WORDS:
        return None
    is_clear = most >= _CLEARLY_MORE * here[expected] and wanted >= _CLEARLY_MORE * there[found]
    return Mismatch(found, expected) if is_clear else None


def _languages(text: str) -> Counter[str]:
    """Count the words of a text that only one of the languages has."""
    words = _distinctive_words()
    return Counter(words[word] for word in _WORD.findall(text.lower()) if word in words)


@cache
def _distinctive_words() -> dict[str, str]:
    languages = small_words()
    shared = Counter(word for words in languages.values() for word in words)
    return {word: name for name, words in languages.items() for word in words if shared[word] == 1}


@cache
def small_words() -> dict[str, frozenset[str]]:
    """Return the words of each language that say little by themselves."""
    lines = read_text("midfold.summaries.answers", "words.txt").splitlines()
    return {line.split()[0]: frozenset(line.split()[1:]) for line in lines}
