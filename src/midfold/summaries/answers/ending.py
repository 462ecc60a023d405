"""Tells whether notes stop in the middle.

Many good notes end without a full stop, so that it takes more than that: an open block, a word that only
begins, a way of ending lines that the last one breaks, the last headings missing when the room is used up.
"""

import re

from midfold.summaries.answers.cleaning import content_lines, find_titles, is_fence_open
from midfold.summaries.prompts import HEADINGS
from midfold.summaries.sections import Template

_CLOSED = tuple(".!?…。！？।؟)]}>\"'”’»」』）】*_`|~%")
_OPEN = re.compile(r"[,:，：、(\[{“«「（&]$|\s[-–—]$|\b(?i:and|or|the|und|oder|der|dem|et|les|los|och)$")
_LAST_WORD = re.compile(r"[^\W_][\w./-]{1,80}$")
_LAST_HEADINGS = 2
_FOLLOWS = 1 / 3
"""Of the headings that were asked for, how many there must be before missing ones tell anything."""
_AT_CAP, _PAST_CAP = 0.97, 1.05
"""Of the budget: where a model that is stopped at it stops, as far as two ways to count agree."""
_FEWEST_LINES = 6
_MOST_LINES = 0.9
_WORDS = re.compile(r"(?:\S{1,60}\s{1,4}){4}")
_UNPARTED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{8}")
_BARE_BULLET = re.compile(r"\s{0,12}(?:[-*+•–—]|\d{1,3}[.)])")
_HEADING_LINE = re.compile(r"#{1,6}(?:[ \t]+|$)")


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
    return len(lines) >= _FEWEST_LINES and closed >= len(lines) * _MOST_LINES and _is_sentence(last)


def _is_sentence(line: str) -> bool:
    """Whether a line is more than a name or a value: words, or text in a script that does not part them."""
    if _WORDS.match(line):
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
