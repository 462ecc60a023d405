"""Finds faults in an answer: it is no notes at all, repeats what it was shown, or stops in the middle.

A good summary quotes names, errors and the user's words. What it does not do is go on word for word for long,
so only long runs of words count, and only when most of the answer is made of them. Many good notes end
without a full stop, so that it takes more to be unfinished: an open block, a word that only begins, a way of
ending lines that the last one breaks, the last headings missing when the room is used up.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, islice

from midfold.late_patterns import compile_late
from midfold.settings import Template
from midfold.summaries.answers.notes import content_lines, find_titles, is_fence_open
from midfold.summaries.sections import HEADINGS
from midfold.texts import read_text

_DATA = compile_late(r"(?:```\w*\s{0,20})?(?:\{\s{0,20}[\"'}]|\[\s{0,20}[{\"\[\]])")
_CALL_KEY = compile_late(
    r"[\"'](?:tool|function)\w{0,20}[\"']\s{0,8}:|[\"'](?:arguments|parameters|args)[\"']\s{0,8}:"
)
_CALL_KEY_CHARS = 2_000
# How models that were not asked to write calls do it, each at the start of a line.
_CALL = compile_late(
    r"^[ \t]{0,8}(?:```\w*\n\s{0,8})?(?:"
    r"<[|\uff5c/]?(?:\w{1,12}:)?(?:tool|function|invoke|python_tag)[\w\u2581:=.-]{0,60}(?=[\s>|\uff5c])"
    r"|\[(?:TOOL|FUNCTION)[A-Z_]{0,12}\]"
    r"|Action:[ \t]*\S[^\n]{0,200}\n+[ \t]*Action Input:"
    r"|(?:assistant|commentary)? ?to=functions\.\w"
    r")",
    re.MULTILINE,
)
_NEXT_HEADING = compile_late(r"^## ", re.MULTILINE)
_SENTENCE = compile_late(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_FIRST_SENTENCES = 3
_REFUSAL_CHARS = 1_500

_ERROR_CHARS = 400
_ERROR = compile_late(
    r"\b(?:[45]\d\d\b.{0,40}(?:error|gateway|timeout|unavailable|requests|request)|error\b.{0,20}\b[45]\d\d\b"
    r"|(?:gateway|request|read|connection) (?:timeout|timed out)|timed out after|too many requests|rate limit"
    r"|internal server error|bad gateway|service unavailable|maximum context length|context window"
    r"|(?:prompt|input) is too long|connection (?:error|reset|refused|aborted))",
    re.IGNORECASE,
)

# A word, or one character where words are not parted.
_TERM = compile_late(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+"
)
_FENCED = compile_late(r"<<<MIDFOLD (\S+)>>>\n.*?\n<<<END MIDFOLD \1>>>", re.DOTALL)
_TURN_LABEL = compile_late(
    r"^\[\d+\] (?:(?:USER|ASSISTANT|SYSTEM|TOOL): |CALL \S+ |RESULT (?:of \S+ )?\([\d,]+ chars)", re.MULTILINE
)
_GRAM_WORDS = 8
_RUN_CHARS = 350
"""The shortest run that is more than a quotation."""
_REPEATED_PART = 0.6
_INSTRUCTION_PART = 0.2
"""Nothing in our instructions is worth quoting, so that less of them is enough."""
_MOST_LABELS = 3
_LONG_LINE_CHARS = 10
_FEWEST_LONG_LINES = 12

_CLOSED = tuple(".!?…。！？।؟)]}>\"'”’»」』）】*_`|~%")
_OPEN = compile_late(r"[,:，：、(\[{“«「（&]$|\s[-–—]$|\b(?i:and|or|the|und|oder|der|dem|et|les|los|och)$")
_LAST_WORD = compile_late(r"[^\W_][\w./-]{1,80}$")
_LAST_HEADINGS = 2
_FOLLOWS = 1 / 3
"""Of the headings that were asked for, how many there must be before missing ones mean anything."""
_AT_CAP, _PAST_CAP = 0.97, 1.05
"""Of the budget: where a model that is stopped at it stops, as far as two ways to count agree."""
_FEWEST_LINES = 6
_CLOSED_PART = 0.9
_FIVE_WORDS = compile_late(r"(?:\S{1,60}\s{1,4}){4}")
_UNPARTED = compile_late(r"[\u3040-\u30ff\u3400-\u9fff]{8}")
_BARE_BULLET = compile_late(r"\s{0,12}(?:[-*+•–—]|\d{1,3}[.)])")
_HEADING_LINE = compile_late(r"#{1,6}(?:[ \t]+|$)")


def is_data(said: str) -> bool:
    """Whether an answer is JSON, whole or broken."""
    return _DATA.match(said) is not None


def is_call(said: str) -> bool:
    """Whether an answer calls a tool instead of taking notes, or does hardly anything else."""
    if is_data(said):
        return _CALL_KEY.search(said, 0, _CALL_KEY_CHARS) is not None
    call = _find_call(said)
    return call is not None and call <= len(said) - call


def without_call(said: str) -> str:
    """Leave out a tool call that comes after the notes."""
    call = _find_call(said)
    return said if call is None else said[:call].rstrip()


def is_refusal(said: str, *, has_headings: bool) -> bool:
    """Whether an answer declines; notes about a refusal do not begin with one."""
    if has_headings:
        lines = content_lines(said)
        refusing = sum(_declines(line) for line in lines)
        return refusing * 2 >= len(lines) > 0
    sentences = [sentence for sentence in _SENTENCE.split(said[:_REFUSAL_CHARS]) if sentence.strip()]
    return len(said) <= _REFUSAL_CHARS and any(map(_declines, sentences[:_FIRST_SENTENCES]))


def _find_call(said: str) -> int | None:
    """Find where an answer turns into a call; a call that notes follow is quoted in them."""
    call = _CALL.search(said)
    if call is None or _NEXT_HEADING.search(said, call.end()):
        return None
    return call.start()


def _declines(sentence: str) -> bool:
    return sentence.strip(" *_>-").lower().replace("’", "'").startswith(_refusals())


@cache
def _refusals() -> tuple[str, ...]:
    return tuple(read_text("midfold.summaries.answers", "refusals.txt").splitlines())


def is_error(said: str) -> bool:
    """Recognise what a server or a client says in place of an answer: a line or two about a failure."""
    return len(said) <= _ERROR_CHARS and _ERROR.search(said) is not None


def repeats_turns(said: str, turns: str) -> bool:
    """Whether an answer is for the most part the turns themselves."""
    if len(_TURN_LABEL.findall(said)) > _MOST_LABELS:
        return True
    return _part_repeated(said, turns, _RUN_CHARS) >= _REPEATED_PART


def repeats_instructions(said: str, prompt: str) -> bool:
    """Whether an answer gives back what the prompt says around the turns and the earlier notes."""
    return _part_repeated(said, _FENCED.sub("\n", prompt), 0) >= _INSTRUCTION_PART


def repeats_itself(lines: Sequence[str]) -> bool:
    """Whether most lines of notes are copies of others."""
    long = [line for line in lines if len(line) >= _LONG_LINE_CHARS]
    copies = sum(times - 1 for times in Counter(long).values())
    return len(long) >= _FEWEST_LONG_LINES and copies >= len(long) * _REPEATED_PART


def _part_repeated(said: str, source: str, run_chars: int) -> float:
    """Return which part of a text stands in the source, too, in runs of at least `run_chars`."""
    words = _split_words(said)
    grams = list(_grams(words))
    # The grams of the answer are few; those of the source only pass by.
    shared = set(grams).intersection(_grams(_split_words(source)))
    ends = [0, *accumulate(len(word) + 1 for word in words)]
    repeated = start = 0
    for position, gram in enumerate([*grams, ()]):
        if gram in shared:
            continue
        # The run was of the grams from `start` up to here, each a word behind the one before it.
        length = ends[position + _GRAM_WORDS - 1] - ends[start] if position > start else 0
        repeated += length if length >= run_chars else 0
        start = position + 1
    return repeated / ends[-1] if words else 0.0


def _split_words(text: str) -> list[str]:
    return _TERM.findall(text.lower())


def _grams(words: Sequence[str]) -> "zip[tuple[str, ...]]":
    return zip(*(islice(words, start, None) for start in range(_GRAM_WORDS)), strict=False)


def is_unfinished(notes: str, template: Template, *, tokens: int, budget_tokens: int, turns: str) -> bool:
    """Whether notes were cut off, as far as they show it themselves."""
    last = notes.rstrip().rsplit("\n", 1)[-1].rstrip()
    if is_fence_open(notes) or _BARE_BULLET.fullmatch(last) or _is_bare_heading(last, template):
        return True
    if last.replace("```", "").count("`") % 2:
        return True
    if last.endswith(_CLOSED):
        return False
    if _OPEN.search(last) or last.count("(") > last.count(")") or _breaks_style(notes):
        return True
    is_full = _AT_CAP <= tokens / max(budget_tokens, 1) <= _PAST_CAP
    return _lacks_last_headings(notes, template) and (is_full or _is_half_word(last, turns))


def _is_bare_heading(line: str, template: Template) -> bool:
    """Whether a heading stands at the end and has nothing under it; for the very last one that is no loss."""
    mark = _HEADING_LINE.match(line)
    return mark is not None and line[mark.end() :] != HEADINGS[template][-1]


def _breaks_style(notes: str) -> bool:
    """Whether all lines but the last are closed, as sentences are, and the last is a sentence."""
    *lines, last = content_lines(notes) or [""]
    closed = sum(line.endswith(_CLOSED) for line in lines)
    return len(lines) >= _FEWEST_LINES and closed >= len(lines) * _CLOSED_PART and _is_sentence(last)


def _is_sentence(line: str) -> bool:
    """Whether a line is more than a name or a value: words, or text in a script that does not part them."""
    if _FIVE_WORDS.match(line):
        return line.rsplit(None, 1)[-1].isalpha()
    return _UNPARTED.search(line) is not None and line[-1:].isalpha()


def _lacks_last_headings(notes: str, template: Template) -> bool:
    wanted = HEADINGS[template]
    found = set(find_titles(notes))
    follows = sum(name in found for name in wanted) >= len(wanted) * _FOLLOWS
    return follows and found.isdisjoint(wanted[-_LAST_HEADINGS:])


def _is_half_word(line: str, turns: str) -> bool:
    """Whether a line ends in what is no word of the turns and only begins one."""
    word = _LAST_WORD.search(line)
    if word is None:
        return False
    whole = re.search(rf"(?<!\w){re.escape(word[0])}(?!\w)", turns)
    return whole is None and re.search(rf"(?<!\w){re.escape(word[0])}\w", turns) is not None
