"""Reads a message into segments, once: the reading stays with the message.

By shape: elements with their names, labelled blocks, marks, headers of files, dumps. What is left over is the
person's. Every pass is linear in the text.
"""

from collections.abc import Iterator, Sequence

from midfold.late_dataclasses import dataclass
from midfold.messages import Message, Text
from midfold.provenance.authors import Author
from midfold.provenance.dumps import find_dumps, find_talk
from midfold.provenance.elements import Element, find_elements, is_emphasis, is_instructions, read_name
from midfold.provenance.forms import (
    COMMAND,
    EDITOR,
    MARK,
    Opening,
    ReportReach,
    ends_report,
    find_question,
    find_request,
    find_tail,
    read_opening,
    read_report_label,
)
from midfold.provenance.project_files import find_header
from midfold.provenance.segments import Segment, join_segments
from midfold.provenance.summaries import find_fenced, is_summary

_MOST_HEADERS = 200
_INTRODUCTION_CHARS = 200
_LEAST_LABEL_CHARS = len("hook:")


def read_segments(message: Message) -> tuple[Segment, ...]:
    """Return the segments of `message.text`, in order; what a model says is its own but for summaries."""
    facts = message.facts
    if facts.segments is None:
        facts.segments = tuple(_read_parts(message))
    return facts.segments  # type: ignore[return-value]


def split_text(text: str) -> tuple[Segment, ...]:
    """Read one text of a user-role message into segments."""
    segments: list[Segment] = []
    start = 0
    while (fenced := find_fenced(text, start)) is not None:
        segments += _split_unfenced(text, start, fenced[0])
        segments.append(Segment(*fenced, Author.SUMMARY, "fenced"))
        start = fenced[1]
    segments += _split_unfenced(text, start, len(text))
    return join_segments(_give_away_blanks(text, segments))


def _give_away_blanks(text: str, segments: Sequence[Segment]) -> Iterator[Segment]:
    """Let blanks between two authors belong to the one before them."""
    last: Segment | None = None
    for each in segments:
        if last is not None and text[each.start : each.stop].isspace():
            last = Segment(last.start, each.stop, last.author, last.source, last.is_quoted)
            continue
        if last is not None:
            yield last
        last = each
    if last is not None:
        yield last


def _read_parts(message: Message) -> Iterator[Segment]:
    offset = 0
    for part in message.parts:
        if not isinstance(part, Text):
            continue
        found = split_text(part.text) if message.role == "user" else _split_reply(message.role, part.text)
        for each in found:
            yield _move(each, offset)
        offset += len(part.text) + 1


def _split_reply(role: str, text: str) -> tuple[Segment, ...]:
    """Read what a model or the client said: all its own, unless it is a summary."""
    own = Author.MODEL if role == "assistant" else Author.HOST
    fenced = find_fenced(text)
    if fenced is not None:
        start, stop = fenced
        return join_segments(
            [
                Segment(0, start, own),
                Segment(start, stop, Author.SUMMARY, "fenced"),
                Segment(stop, len(text), own),
            ]
        )
    if not text.strip():
        return ()
    return (Segment(0, len(text), Author.SUMMARY if is_summary(text, by_model=own is Author.MODEL) else own),)


def _split_unfenced(text: str, start: int, stop: int) -> list[Segment]:
    piece = text[start:stop]
    if not piece.strip():
        return []
    elements = list(find_elements(piece))
    if not elements:
        return [_move(each, start) for each in _split_bare(piece, is_first=True)]
    return [_move(each, start) for each in _split_elements(piece, elements)]


def _split_elements(text: str, elements: list[Element]) -> list[Segment]:
    readings = {element.name: read_name(element.name) for element in elements}
    asks = any(reading and reading.author is Author.PERSON for reading in readings.values())
    speaks_for_agent = any(reading and reading.author is Author.AGENT for reading in readings.values())
    segments: list[Segment] = []
    position = 0
    source = ""
    for element in elements:
        between = text[position : element.start]
        lead, source = _split_lead(between, position, is_first=position == 0)
        segments += lead
        segments += _read_element(text, element, source, asks=asks or _has_person(segments))
        position = element.stop
    rest = [_move(each, position) for each in _split_bare(text[position:], is_first=False)]
    segments += rest
    if speaks_for_agent:
        # What a client writes around another agent's words explains them.
        return [_by_host(each) if each.author is Author.PERSON else each for each in segments]
    return segments


def _split_lead(text: str, offset: int, *, is_first: bool) -> tuple[list[Segment], str]:
    """Read what stands before an element; its last line may name the file in it, or announce it."""
    body = text.rstrip()
    last = body[body.rfind("\n") + 1 :]
    path = find_header(last)
    if path is not None or (
        last.endswith((":", "：")) and 0 < len(last) <= _INTRODUCTION_CHARS and body == last.lstrip()
    ):
        at = len(body) - len(last)
        before = [_move(each, offset) for each in _split_bare(text[:at], is_first=is_first)]
        return [*before, Segment(offset + at, offset + len(text), Author.HOST)], path or ""
    return [_move(each, offset) for each in _split_bare(text, is_first=is_first)], ""


def _read_element(text: str, element: Element, source: str, *, asks: bool) -> Iterator[Segment]:
    reading = read_name(element.name)
    author = reading.author if reading else Author.HOST
    if source:
        author = Author.PROJECT
    elif (is_emphasis(element.name) and asks) or (
        author is Author.PROJECT and is_instructions(element.name) and asks and element.name.islower()
    ):
        author = Author.PERSON
    yield Segment(element.start, element.inner_start, Author.HOST, element.name)
    inner = text[element.inner_start : element.inner_stop]
    if author is Author.PERSON:
        found: tuple[Segment, ...] = tuple(
            _move(each, element.inner_start)
            for each in _split_prose(inner, is_quoted=bool(reading and reading.is_quoted))
        )
        yield from found
    elif author is Author.HOST:
        yield from (_move(each, element.inner_start) for each in _split_host(inner, element.name))
    else:
        yield Segment(element.inner_start, element.inner_stop, author, source or element.name)
    yield Segment(element.inner_stop, element.stop, Author.HOST, element.name)


def _split_host(inner: str, name: str) -> Iterator[Segment]:
    """Read what a client wraps: files of the project under their headers, results of other agents."""
    position, author, source = 0, Author.HOST, name
    for start, line in _headers(inner):
        path = find_header(line)
        if path is None and author is not Author.PROJECT:
            continue
        if path is not None:
            yield Segment(position, start, author, source)
            position, author, source = start, Author.PROJECT, path
    nested = (
        None
        if author is Author.PROJECT
        else next(
            (each for each in find_elements(inner) if each.name.lower() in ("result", "report", "response")),
            None,
        )
    )
    if nested is not None:
        yield Segment(position, nested.inner_start, author, source)
        yield Segment(nested.inner_start, nested.inner_stop, Author.AGENT, name)
        position = nested.inner_stop
    yield Segment(position, len(inner), author, source)


def _headers(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that could name a file of rules, and where each begins."""
    start = count = 0
    while start < len(text) and count < _MOST_HEADERS:
        stop = text.find("\n", start)
        stop = len(text) if stop < 0 else stop
        line = text[start:stop]
        if line.rstrip().endswith(":") or line.lstrip()[:1] in ("#", "-", "=", "["):
            count += 1
            yield start, line
        start = stop + 1


def _split_bare(text: str, *, is_first: bool) -> list[Segment]:
    """Read text outside of elements: a form that fills it, or a person's words and what they show."""
    if not text.strip():
        return [Segment(0, len(text), Author.HOST)] if text else []
    if is_summary(text.lstrip()):
        return [Segment(0, len(text), Author.SUMMARY)]
    asked = find_question(text)
    if asked is not None:
        start, stop = asked
        before = Segment(0, start, Author.TOOL)
        words = [_move(each, start) for each in _split_prose(text[start:stop], is_quoted=False)]
        return [before, *words, Segment(stop, len(text), Author.HOST)]
    form = read_opening(text)
    if form is not None and (is_first or form.author is not Author.TOOL):
        return _split_form(text, form.author, form.source)
    tail = find_tail(text, 0, len(text))
    segments = list(_split_prose(text[:tail], is_quoted=False))
    return [*segments, Segment(tail, len(text), Author.HOST)]


def _split_form(text: str, author: Author, source: str) -> list[Segment]:
    """A person may go on behind the paragraph of a mark or an editor's state; other forms fill all."""
    stop = len(text)
    if source == EDITOR:
        stop = find_request(text) or stop
    elif source in (MARK, COMMAND):
        at = text.find("\n```\n\n", 4) + 4 if source == COMMAND else text.find("\n")
        stop = at if at > 4 or (source == MARK and at > 0) else stop
    segments = [Segment(0, stop, author, source)]
    if stop < len(text):
        segments += [_move(each, stop) for each in _split_bare(text[stop:], is_first=True)]
    return segments


def _split_prose(text: str, *, is_quoted: bool) -> Iterator[Segment]:
    """Part a person's words from what they paste."""
    talk = find_talk(text)
    if talk is None:
        yield from _split_shown(text, is_quoted=is_quoted)
        return
    start, stop = talk
    yield from _split_shown(text[:start], is_quoted=is_quoted)
    yield Segment(start, stop, Author.TOOL, is_quoted=True)
    yield from (_move(each, stop) for each in _split_shown(text[stop:], is_quoted=is_quoted))


def _split_shown(text: str, *, is_quoted: bool) -> Iterator[Segment]:
    """Part a person's words from dumps, quotes and reports."""
    position = 0
    reports = _Reports(text, is_quoted)
    for start, stop in find_dumps(text, 0, len(text)):
        yield from reports.split(position, start)
        yield Segment(start, stop, Author.TOOL, is_quoted=True)
        position = stop
    yield from reports.split(position, len(text))


@dataclass(slots=True)
class _Reports:
    """Marks what follows a line that announces somebody's report.

    A report goes on to the next label of the author's own; an error or an output to the end of its paragraph.
    Quoted lines are marked, too, and paragraphs that begin as a client's or a tool's do.
    """

    text: str
    is_quoted: bool
    """all of it is a report"""
    open_report: ReportReach | None = None
    has_begun: bool = False
    """something of a short report was seen"""

    def split(self, start: int, stop: int) -> Iterator[Segment]:
        text, begun = self.text, start
        if self.open_report is ReportReach.SHORT and start:
            self.has_begun = True
        while start < stop:
            end = text.find("\n", start, stop)
            end = stop if end < 0 else end
            if end == start and self.open_report is None:
                start += 1
                continue
            line = text[start:end]
            was_open = self.open_report is not None
            pasted = None if was_open else _read_pasted_label(text, start, line)
            if line.lstrip()[:1] == ">" or pasted is not None:
                end = _end_of_quote(text, end, stop)
                if begun < start:
                    yield self._segment(begun, start)
                yield Segment(start, end, Author.TOOL, is_quoted=True)
                begun = end
                if pasted is not None and pasted.source != MARK:
                    self.open_report, self.has_begun = ReportReach.LONG, True
            elif was_open:
                if self._is_over(line):
                    yield self._segment(begun, start)
                    begun, self.open_report = start, None
            else:
                found = read_report_label(line)
                if found is not None:
                    yield self._segment(begun, end)
                    begun, self.open_report, self.has_begun = end, found, False
            start = end + 1
        if begun < stop:
            yield self._segment(begun, stop)

    def _is_over(self, line: str) -> bool:
        if ends_report(line):
            return True
        if self.open_report is ReportReach.LONG:
            return False
        if line.strip():
            is_heading = line.startswith("#")
            self.has_begun = True
            return is_heading
        return self.has_begun

    def _segment(self, start: int, stop: int) -> Segment:
        return Segment(start, stop, Author.PERSON, is_quoted=self.is_quoted or self.open_report is not None)


def _end_of_quote(text: str, end: int, stop: int) -> int:
    """Return where the lines end that are quoted right behind one that ends at `end`."""
    while text.startswith("\n>", end) and end < stop - 1:
        end = text.find("\n", end + 1, stop)
        if end < 0:
            return stop
    return end


def _read_pasted_label(text: str, start: int, line: str) -> Opening | None:
    """Recognise a paragraph behind a person's words that begins as a client's or a tool's does."""
    is_label = ":" in line[:80] or line[:1] == "["
    if start == 0 or not is_label or len(line) < _LEAST_LABEL_CHARS or not text.endswith("\n\n", 0, start):
        return None
    form = read_opening(line)
    return form if form is not None and form.author in (Author.HOST, Author.TOOL, Author.AGENT) else None


def _has_person(segments: list[Segment]) -> bool:
    return any(each.author is Author.PERSON and not each.is_quoted for each in segments)


def _by_host(segment: Segment) -> Segment:
    return Segment(segment.start, segment.stop, Author.HOST, segment.source)


def _move(segment: Segment, offset: int) -> Segment:
    if not offset:
        return segment
    start, stop, author, source, is_quoted = segment
    return Segment(start + offset, stop + offset, author, source, is_quoted)
