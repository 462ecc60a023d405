"""The message that stands for what was folded: its frame, its fence, and which messages it stands for.

`[12]` names message 12 of the whole conversation. A fold shortens the list, and the next one would number its
messages differently; so a summary says which messages it stands for, and the next fold counts on from there.
"""

from collections.abc import Iterable, Iterator, Sequence

from midfold.folding.fold import Span, join_spans
from midfold.late_dataclasses import dataclass
from midfold.late_patterns import compile_late
from midfold.messages import Message, Text
from midfold.summaries import (
    CORRECTIONS_HEADING,
    FOLDED_HEADING,
    join_sections,
    prompts,
    quote_headings,
    split_sections,
)
from midfold.summaries.digest import NOTES_HEADING, note_heading

TASK_HEADING = "Active Task"
_RANGE = compile_late(r"(\+?)(\d{1,9})(?:–(\d{1,9}))?")
_MOST_RANGES = 1_000


@dataclass(frozen=True, slots=True)
class FoldedNumbers:
    """The messages that a summary stands for, by the numbers of the whole conversation."""

    spans: tuple[Span, ...] = ()
    added: tuple[int, ...] = ()
    """messages that were put in behind these, such as a result for a call that never got one"""

    def join(self, numbers: Iterable[int], added: Iterable[int]) -> "FoldedNumbers":
        """Add messages that are folded now."""
        spans = join_spans([*self.spans, *_runs(sorted(numbers))])
        return FoldedNumbers(spans, tuple(sorted({*self.added, *added})))

    def render(self) -> str:
        """Write it down for the next fold, and for readers."""
        ranges = [
            str(span.start) if len(span) == 1 else f"{span.start}–{span.stop - 1}" for span in self.spans
        ]
        additions = [f"+{number}" for number in self.added]
        return f"{', '.join([*ranges, *additions])} ([n] names message n)"


def make_summary_message(body: str, key: bytes, *, like: Message | None = None) -> Message:
    """Make the message that stands for the folded ones; only the owner of the key can make its fence.

    It begins as `like` does, the summary whose place it takes.
    """
    is_brief = like is not None and prompts.is_brief(like.text)
    return _seal(body, key, prompts.BRIEF_PREFIX if is_brief else prompts.PREFIX)


def _seal(body: str, key: bytes, prefix: str) -> Message:
    return Message("user", (Text(prompts.seal_summary(body, key, prefix=prefix)),))


def frame_summary(body: str, task: str, folded: FoldedNumbers) -> str:
    """Put what code says around a summary's words: the active task first, what is folded last."""
    sections = split_sections(body)
    for heading in (TASK_HEADING, FOLDED_HEADING):
        sections.pop(heading, None)
    # Words without a heading would read as part of the task.
    notes = {NOTES_HEADING: sections.pop("")} if "" in sections else {}
    return join_sections(
        {TASK_HEADING: quote_headings(task), **notes, **sections, FOLDED_HEADING: folded.render()}
    )


@dataclass(frozen=True, slots=True)
class SummaryFrame:
    """The text that code writes around the words of one summary."""

    task: str
    folded: FoldedNumbers
    """all messages that the summary stands for, those of earlier folds with them"""
    key: bytes
    prefix: str = prompts.PREFIX

    def wrap(self, body: str) -> Message:
        """Make the message that says these words."""
        return _seal(frame_summary(body, self.task, self.folded), self.key, self.prefix)


def find_summary(messages: Sequence[Message], lead: int, head: int, key: bytes = b"") -> int | None:
    """Find an earlier summary: a user message right after the head that starts with a known prefix.

    One that `key` sealed is found before any other.
    """
    found = None
    for index in range(lead, min(lead + max(head, 1) + 1, len(messages))):
        if messages[index].role != "user" or prompts.find_body(messages[index].text) is None:
            continue
        if prompts.is_sealed(messages[index].text, key):
            return index
        found = index if found is None else found
    return found


def is_ours(text: str, key: bytes, *, has_folded: bool) -> bool:
    """Whether we wrote a summary: its seal says so.

    Older versions signed nothing. Theirs is believed where it stands in the place of the summary in a
    conversation that is known to have been folded.
    """
    return prompts.is_sealed(text, key) or (has_folded and prompts.has_fence(text))


def read_summary(text: str, *, is_trusted: bool) -> str | None:
    """Return the words of an earlier summary; where it is not ours, code has not written what it rules,
    nor its user's corrections."""
    body = prompts.find_body(text)
    if body is None or is_trusted:
        return body
    sections = split_sections(body)
    for heading in (FOLDED_HEADING, TASK_HEADING, CORRECTIONS_HEADING):
        sections.pop(heading, None)
    return join_sections({note_heading(name): said for name, said in sections.items()})


def number_messages(count: int, summary: int | None, folded: FoldedNumbers) -> list[int]:
    """Number `count` messages, one of which may be a summary that stands for those of `folded`."""
    if summary is None:
        return list(range(count))
    gone = list(folded.spans)
    added = set(folded.added)
    numbers: list[int] = []
    following = 0
    while len(numbers) < count - 1:
        while gone and following >= gone[0].start:
            following = max(following, gone.pop(0).stop)
        numbers.append(following)
        if following in added and len(numbers) < count - 1:
            numbers.append(following)
        following += 1
    return [*numbers[:summary], numbers[summary - 1] if summary else 0, *numbers[summary:]]


def read_folded_numbers(body: str) -> FoldedNumbers:
    """Read the numbers of the messages that a summary stands for; none where it does not name them."""
    said = split_sections(body).get(FOLDED_HEADING, "").partition("(")[0]
    ranges = _RANGE.findall(said)[:_MOST_RANGES]
    spans = [Span(int(first), int(last or first) + 1) for plus, first, last in ranges if not plus]
    added = sorted({int(first) for plus, first, _ in ranges if plus})
    return FoldedNumbers(join_spans(span for span in spans if len(span)), tuple(added))


def _runs(numbers: Sequence[int]) -> Iterator[Span]:
    """Yield the spans that numbers in order make up."""
    start = 0
    for stop in range(1, len(numbers) + 1):
        if stop == len(numbers) or numbers[stop] > numbers[stop - 1] + 1:
            yield Span(numbers[start], numbers[stop - 1] + 1)
            start = stop
