"""Lines that say the same again and again, and how little they tell.

A line that differs from others only by its figures tells less, the more of them there are. One that nearly
every result has, such as a banner, an id of the run or an argument that never changes, tells nothing. Of a
series in one result, lines that differ only by numbers in their names, the first and the last stand for all.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from midfold.late_patterns import compile_late
from midfold.summaries.digest.entries import DigestEntry, EntryKind, Unit

_RESULT_KINDS = (EntryKind.ACTION, EntryKind.BROKEN, EntryKind.CHANGED, EntryKind.READ)
_FIGURE = compile_late(r"\b\d[\d.,:]*\b")
"""a number that is no part of a name"""
_ID = compile_late(r"\b(?:\d[\d.,:]*(?:[A-Za-z]{1,2})?|(?=[a-f]*\d)[\da-f]{4,})\b")
"""a figure with its unit, or an id in hexadecimal"""
_DIGIT = compile_late(r"\d")
_NUMBERED = compile_late(r"(?<![\w.,:])(?:[^\W\d]++|[.,:]++)*+\d[\w.,:]*")
"""a word with a number in it"""
_USUAL = 2
_SURPRISE = 0.7
_BANNER_ENTRIES, _BANNER_PART = 12, 0.25
"""a line in as many entries, and in this part of all, is a banner"""
_SERIES = 8
_SERIES_FACTOR = 0.25


def weigh_surprise(entries: Sequence[DigestEntry]) -> None:
    """Lower the weight of lines that say the same in many results, but for figures: they carry nothing."""
    results = [entry for entry in entries if entry.kind in _RESULT_KINDS]
    units = [unit for entry in results for unit in entry.units]
    texts = [_bare(_FIGURE, unit.text) for unit in units]
    counts = Counter(texts)
    for unit, text in zip(units, texts, strict=True):
        if counts[text] > _USUAL:
            unit.weight *= (_USUAL / counts[text]) ** _SURPRISE
    _hide_banners(results)
    for entry in results:
        if len(entry.units) > _SERIES:
            _weigh_series(entry.units)


def _hide_banners(results: Sequence[DigestEntry]) -> None:
    """Take all weight from what nearly every result says, whatever its figures."""
    texts = [[_bare(_ID, unit.text) for unit in entry.units] for entry in results]
    said = Counter(text for each in texts for text in set(each))
    least = max(_BANNER_ENTRIES, _BANNER_PART * len(results))
    banners = frozenset(text for text, entries in said.items() if entries >= least and text.strip())
    if not banners:
        return
    for entry, each in zip(results, texts, strict=True):
        for unit, text in zip(entry.units, each, strict=True):
            if text in banners and not unit.is_conclusion:
                unit.weight = 0.0


def _weigh_series(units: Iterable[Unit]) -> None:
    """Let the first and the last line of each series stand for all of it."""
    series: dict[str, list[Unit]] = {}
    for unit in units:
        if not unit.is_conclusion:
            series.setdefault(_bare(_NUMBERED, unit.text), []).append(unit)
    for alike in series.values():
        if len(alike) > _SERIES:
            for unit in alike[1:-1]:
                unit.weight *= _SERIES_FACTOR


def _bare(numbers: re.Pattern[str], text: str) -> str:
    bare = numbers.sub("", text) if _DIGIT.search(text) else text
    return bare.removeprefix("[] ")
