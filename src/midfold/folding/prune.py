"""Phase 1 of a compression: old tool output, long arguments and media are said more briefly, by code alone.

Pruning what is pruned changes nothing: stubs, excerpts and notes are recognised by their form.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from midfold.folding.fold import Edit, Span
from midfold.late_dataclasses import dataclass, field, replace
from midfold.late_patterns import compile_late
from midfold.messages import (
    Location,
    Media,
    Message,
    Pairing,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    pair_calls,
)
from midfold.settings import Style
from midfold.summaries.tool_calls import (
    BUILT_IN,
    StubWriter,
    excerpt,
    is_excerpt,
    is_stub,
    kind_of,
    name_of,
    one_line,
    redact_arguments,
    shorten_strings,
    subject_of,
    write_pointer,
    write_stub,
)

PLACEHOLDER = "[Old tool output cleared to save context space]"
RESULT_CHARS = 200
"""Results up to this length take no more than a stub would."""
EXCERPT_CHARS = 2_000
ARGUMENT_CHARS = 500
_STUB_TOKENS = 30
_FRAME_TOKENS = 5
_SOURCE_CHARS = 100
_MEDIA_GONE = " removed to save context]"
_LONGEST_STUB_CHARS = 600
_SUBJECT_CHARS = 120
_READER = "read_persisted_output"
_REFERENCE = r'reference="(?P<reference>[a-z0-9_]{1,24}-[0-9a-f]{32})"'
_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3}){0,4}"
_SIZE = rf"(?P<size>{_NUMBER} characters \({_NUMBER}\.[0-9] [KM]B\))"
# A path is none of ours to repeat: a tool that prints such a block may write anything there.
_BLOCK = compile_late(
    rf"<persisted-output {_REFERENCE}>\n"
    rf"This result has {_SIZE}, too many for the conversation, so it was (?:offloaded|put aside)\."
    rf"(?: Credentials in it were replaced; {_NUMBER} characters are kept\.)?"
    rf" (?:To get any part of it back, call `{_READER}` with the reference above,"
    # as it was written up to version 0.1
    rf"|Nothing of it is lost: call `{_READER}` with the reference above to get any part of it,)"
    rf" by `offset` and `limit` \(in characters, up to {_NUMBER}\), from the end, by lines,"
    r" or by a `pattern` to search for\.(?: It is also the file [^\n]{1,260})?\n"
    rf"The first {_NUMBER} characters:\n\n"
    r"(?P<preview>.*)\n</persisted-output>\n?",
    re.DOTALL,
)
_NOTE = compile_late(rf"\[persisted-output {_REFERENCE}: {_SIZE}, `{_READER}` reads it\]")


@dataclass(frozen=True, slots=True)
class PruneCounts:
    """The number of shortened parts of each kind.

    `duplicates` are results that point to a later copy, `results` all other results.
    """

    results: int = 0
    duplicates: int = 0
    arguments: int = 0
    media: int = 0

    @classmethod
    def of_edits(cls, edits: Iterable[Edit]) -> "PruneCounts":
        """Count the parts that edits shorten; a duplicate is a result like others here."""
        parts = [part for edit in edits for _, part in edit.parts]
        return cls(
            results=sum(isinstance(part, ToolResult) for part in parts),
            arguments=sum(isinstance(part, ToolCall) for part in parts),
            media=sum(isinstance(part, Text) for part in parts),
        )

    def __add__(self, other: "PruneCounts") -> "PruneCounts":
        return PruneCounts(
            self.results + other.results,
            self.duplicates + other.duplicates,
            self.arguments + other.arguments,
            self.media + other.media,
        )


NOTHING_PRUNED = PruneCounts()


@dataclass(frozen=True, slots=True)
class Pruned:
    """The edits of a pruning, and what they shorten."""

    edits: tuple[Edit, ...] = ()
    counts: PruneCounts = NOTHING_PRUNED


def prune(
    messages: Sequence[Message],
    span: Span,
    *,
    style: Style = Style.STUB,
    pairing: Pairing | None = None,
    writers: Mapping[str, StubWriter] = BUILT_IN,
    redact: Callable[[str], str] = str,
) -> Pruned:
    """Say the messages of `span` more briefly; those after it are only looked at, for copies.

    A message with a call that waits for its result stays as it is, and so do the results of its other calls.
    What is quoted goes through `redact` before it is cut.
    """
    pairing = pair_calls(messages) if pairing is None else pairing
    calls = {result: call for call, result in pairing.answers.items()}
    waiting = frozenset(call.message for call in pairing.open_calls)
    pruner = _Pruner(messages, span, style, writers, redact, calls, waiting)
    newest_first = range(len(messages) - 1, max(span.start, 0) - 1, -1)
    edits = [edit for index in newest_first if (edit := pruner.edit(index)) is not None]
    return Pruned(tuple(reversed(edits)), PruneCounts(**pruner.counts))


def least_tokens(message: Message) -> int:
    """Guess, rather low, what pruning leaves of a message, in tokens."""
    least = _FRAME_TOKENS
    for part in message.parts:
        if isinstance(part, ToolResult):
            least += len(part.text) // 4 if len(part.text) <= RESULT_CHARS else _STUB_TOKENS
        elif isinstance(part, ToolCall):
            least += min(len(part.arguments), ARGUMENT_CHARS) // 4 + _FRAME_TOKENS
        elif isinstance(part, Text):
            least += len(part.text) // 4
    return least


def describe_media(media: Sequence[Media]) -> str:
    """Say in words what media stood here: what kind, how big, and where from if that is short."""
    kinds = {item.kind for item in media}
    what = f"{len(media)} {'items' if len(kinds) > 1 else media[0].kind + 's'}"
    if len(media) == 1:
        what = " ".join(filter(None, (media[0].kind, media[0].mime)))
    data = [item.source for item in media if not _is_reference(item)]
    facts = [f"{max(1, sum(map(len, data)) * 3 // 4 // 1024):,} KB"] if data else []
    facts += [one_line(item.source, _SOURCE_CHARS) for item in media[:1] if _is_reference(item)]
    said = ", ".join([what, *facts])
    return f"[{one_line(said, 2 * _SOURCE_CHARS).translate(_NO_BRACKETS)},{_MEDIA_GONE}"


_NO_BRACKETS = str.maketrans("[]", "()")


def _is_reference(media: Media) -> bool:
    """Whether the source is an address or a provider's file id, not data."""
    return not media.mime or media.source.startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class _OffloadedResult:
    """A result that was offloaded before: how it begins, and a note with the reference that reads it back.

    A result counts as offloaded if all of it is such a block, word for word. A tool can print one; it gets
    no more than a stub with a reference that finds nothing, and with a number.
    """

    preview: str
    note: str


@dataclass(slots=True)
class _Pruner:
    """One walk from the newest message to the oldest: a later copy is met before the earlier ones."""

    messages: Sequence[Message]
    span: Span
    style: Style
    writers: Mapping[str, StubWriter]
    redact: Callable[[str], str]
    calls: Mapping[Location, Location]
    """result → its call"""
    waiting: frozenset[int]
    """messages with a call that waits for its result"""
    whole: dict[str, Location] = field(default_factory=dict)
    """texts of results that stay in full → where the newest is"""
    counts: Counter[str] = field(default_factory=Counter)

    def edit(self, index: int) -> Edit | None:
        """Shorten what can be shortened of one message."""
        shortened = [
            (position, shorter)
            for position, part in enumerate(self.messages[index].parts)
            if not isinstance(part, Text)
            and (shorter := self._shorten(Location(index, position), part)) is not part
        ]
        return Edit.at(index, self.messages[index], shortened) if shortened else None

    def _shorten(self, here: Location, part: Part) -> Part:
        if isinstance(part, ToolResult):
            return self._shorten_result(here, part)
        if isinstance(part, ToolCall):
            shorter = self._shorten_call(here, part)
            self.counts["arguments"] += shorter is not part
            return shorter
        if isinstance(part, Media) and here.message in self.span:
            self.counts["media"] += 1
            return Text(self.redact(describe_media([part])))
        return part

    def _shorten_call(self, here: Location, call: ToolCall) -> ToolCall:
        """Shorten long arguments; a message with signed thinking stays what the provider signed."""
        if len(call.arguments) <= ARGUMENT_CHARS or not self._is_open_to_edits(here):
            return call
        parts = self.messages[here.message].parts
        if any(isinstance(part, Reasoning) and part.signature for part in parts):
            return call
        if shorten_strings(call.arguments) is call.arguments:
            return call
        arguments = shorten_strings(redact_arguments(call.arguments, self.redact))
        return replace(call, arguments=redact_arguments(arguments, self.redact))

    def _shorten_result(self, here: Location, result: ToolResult) -> ToolResult:
        asked_at = self.calls.get(here)
        is_free = asked_at is None or asked_at.message not in self.waiting
        if not (is_free and self._is_open_to_edits(here)):
            self._keep(here, result.text)
            return result
        note = _find_note(result.text)
        bare = _with_text(result, result.text.removesuffix(note)[:-1]) if note else result
        said = self._say(here, asked_at, bare)
        if said is bare.text and not result.media:
            return result
        if result.media:
            note = describe_media(result.media)
            self.counts["media"] += len(result.media)
        return _with_text(result, self.redact(_join_note(said, note)))

    def _say(self, here: Location, asked_at: Location | None, result: ToolResult) -> str:
        """Choose the words that stand for a result: a pointer to a later copy, fewer words, or its own."""
        text = result.text
        call = self._call(asked_at)
        if len(text) <= RESULT_CHARS or _is_ours(call, result):
            return text
        if text in self.whole:
            pointer = self.redact(write_pointer(call, result, self._call(self.calls.get(self.whole[text]))))
            if len(pointer) < len(text):
                self.counts["duplicates"] += 1
                return pointer
        said = self._write_brief(asked_at, result)
        if len(said) < len(text):
            self.counts["results"] += 1
            return said
        self._keep(here, text)
        return text

    def _write_brief(self, asked_at: Location | None, result: ToolResult) -> str:
        """Say a result in the chosen style; what comes out may turn out longer."""
        match self.style:
            case Style.STUB:
                return self._stub(asked_at, result)
            case Style.EXCERPT:
                return excerpt(self.redact(result.text)) if len(result.text) > EXCERPT_CHARS else result.text
            case Style.PLACEHOLDER:
                offloaded = _find_offloaded(result.text, self.redact)
                return f"{PLACEHOLDER} {offloaded.note}" if offloaded else PLACEHOLDER
            case _:
                assert_never(self.style)

    def _stub(self, asked_at: Location | None, result: ToolResult) -> str:
        offloaded = _find_offloaded(result.text, self.redact)
        shown = result if offloaded else _with_text(result, self.redact(result.text))
        call = self._call(asked_at)
        stub = self._write_stub(call, shown, offloaded)
        if len(stub) < len(shown.text) or call is None or asked_at is None:
            return stub
        # Shortened arguments can make a shorter stub: what does not fit now must not fit the next time.
        return self._write_stub(self._shorten_call(asked_at, call), shown, offloaded)

    def _write_stub(
        self, call: ToolCall | None, result: ToolResult, offloaded: _OffloadedResult | None
    ) -> str:
        if offloaded:
            return _write_offloaded_stub(call, result, offloaded, self.redact)
        return self.redact(write_stub(call, result, self.writers))

    def _keep(self, here: Location, text: str) -> None:
        if len(text) > RESULT_CHARS:
            self.whole.setdefault(text, here)

    def _call(self, at: Location | None) -> ToolCall | None:
        part = None if at is None else self.messages[at.message].parts[at.part]
        return part if isinstance(part, ToolCall) else None

    def _is_open_to_edits(self, here: Location) -> bool:
        return here.message in self.span and here.message not in self.waiting


def _is_ours(call: ToolCall | None, result: ToolResult) -> bool:
    """Recognise what an earlier pruning left of a result."""
    text = result.text
    return (
        is_stub(call, result) or _is_offloaded_stub(text) or (len(text) <= EXCERPT_CHARS and is_excerpt(text))
    )


def _with_text(result: ToolResult, text: str) -> ToolResult:
    """Say a result in other words, its media left out."""
    return ToolResult(result.call_id, text, result.is_error, (), result.name)


def _join_note(text: str, note: str) -> str:
    between = "\n" if "\n" in text else " " if text else ""
    return f"{text}{between}{note}" if note else text


def _find_note(text: str) -> str:
    """Return the note on media at the end of a result, which does not count as its text."""
    start = text.rfind("[") if text.endswith(_MEDIA_GONE) else -1
    stands_alone = start == 0 or (start > 0 and text[start - 1] in " \n")
    return text[start:] if stands_alone else ""


def _find_offloaded(text: str, redact: Callable[[str], str]) -> _OffloadedResult | None:
    """Read the block that stands for a result; one with a credential for its reference is none of ours."""
    block = _BLOCK.fullmatch(text)
    if block is None:
        return None
    note = f'[persisted-output reference="{block["reference"]}": {block["size"]}, `{_READER}` reads it]'
    return _OffloadedResult(block["preview"], note) if redact(note) == note else None


def _write_offloaded_stub(
    call: ToolCall | None, result: ToolResult, offloaded: _OffloadedResult, redact: Callable[[str], str]
) -> str:
    """Say in one line what was offloaded, and where it is."""
    shown = ToolResult(result.call_id, redact(offloaded.preview), result.is_error, (), result.name)
    call = call or ToolCall(result.call_id, name_of(None, result), "")
    writers = dict.fromkeys((call.name, kind_of(call)), _say_offloaded)
    return f"{redact(write_stub(call, shown, writers))} {offloaded.note}"


def _is_offloaded_stub(text: str) -> bool:
    """Recognise a line with such a note at its end."""
    if len(text) > _LONGEST_STUB_CHARS or "\n" in text or not text.startswith("["):
        return False
    start = text.rfind("[persisted-output ")
    return start > 0 and _NOTE.fullmatch(text, start) is not None


def _say_offloaded(call: ToolCall, _: ToolResult) -> str:
    kind = kind_of(call)
    subject = one_line(subject_of(call, kind), _SUBJECT_CHARS) if kind else ""
    return f"{subject} -> output offloaded".lstrip()
