"""A message in pieces, each with its author."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from midfold.provenance.authors import Author


class Segment(NamedTuple):
    """A piece of a message's text, `text[start:stop]`, and who wrote it.

    A tuple, since hostile texts have a hundred thousand of them, and a dataclass takes three times as long.
    """

    start: int
    stop: int
    author: Author
    source: str = ""
    """the file that a project's words come from, or the name of what wraps the piece"""
    is_quoted: bool = False
    """a person shows it without saying it: a log, a listing, somebody's report"""

    def cut(self, text: str) -> str:
        """Return the piece of `text` that this segment is."""
        return text[self.start : self.stop].strip()


def join_segments(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Join neighbours that are alike, and leave out empty ones."""
    joined: list[Segment] = []
    for each in segments:
        if each.stop <= each.start:
            continue
        last = joined[-1] if joined else None
        if last is not None and _is_alike(last, each):
            joined[-1] = Segment(last.start, each.stop, last.author, last.source, last.is_quoted)
        else:
            joined.append(each)
    return tuple(joined)


def main_author(segments: Sequence[Segment]) -> Author | None:
    """Return who wrote a message: a person who says or only shows something; else the first."""
    if not segments:
        return None
    if all(each.is_quoted for each in segments):
        return Author.PERSON
    speaks = any(each.author is Author.PERSON and not each.is_quoted for each in segments)
    return Author.PERSON if speaks else segments[0].author


def _is_alike(one: Segment, other: Segment) -> bool:
    return (
        one.stop == other.start
        and one.author is other.author
        and one.source == other.source
        and one.is_quoted == other.is_quoted
    )
