"""Finds passages of offloaded output that answer a question, with the ranking of every search.

A message keeps the beginning of a long result alone; what stands further on is only in the sink.
"""

from collections.abc import Iterator

from midfold.late_dataclasses import dataclass
from midfold.offload import OutputInfo, OutputSink, read_slice
from midfold.search import Document, Origin, SearchIndex, make_snippet, read_query

_MOST_CHARS = 400_000
"""The newest output that is looked through, so that a search takes no longer than a moment."""
_PASSAGE_CHARS = 1_200


@dataclass(frozen=True, slots=True)
class OutputPassage:
    """A piece of offloaded output, and where it stands."""

    info: OutputInfo
    line: int
    """the number of its first line, from 1"""
    snippet: str
    matches: int
    """different words of the question that it says"""


def find_in_outputs(query: str, sink: OutputSink, most: int) -> list[OutputPassage]:
    """Return the passages that answer a query best, at most one of each output."""
    passages = list(_read_passages(sink))
    index = SearchIndex(Document((text,), "tool", Origin.PERSISTED_OUTPUT) for _, _, text in passages)
    asked = read_query(query)
    found: dict[str, OutputPassage] = {}
    for ranked in index.search(asked, most * 4):
        info, line, text = passages[ranked.number]
        shown = make_snippet([text], asked)
        words = {shown.text[mark.start : mark.stop].casefold() for mark in shown.marks}
        found.setdefault(info.reference, OutputPassage(info, line, shown.text, len(words)))
    return list(found.values())[:most]


def _read_passages(sink: OutputSink) -> Iterator[tuple[OutputInfo, int, str]]:
    left = _MOST_CHARS
    for info in sink.outputs():
        if left <= 0:
            return
        with sink.open(info.reference) as output:
            text = read_slice(output, 0, left).text
        left -= len(text)
        line, start = 1, 0
        while start < len(text):
            end = text.find("\n", start + _PASSAGE_CHARS)
            stop = len(text) if end < 0 else end + 1
            stop = min(stop, start + 4 * _PASSAGE_CHARS)
            yield info, line, text[start:stop]
            line += text.count("\n", start, stop)
            start = stop
