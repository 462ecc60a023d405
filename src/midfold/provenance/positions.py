"""Whose words a message holds, by where it stands: the body of a command follows the call for it.

In text protocols the answers to a model's commands are tool output; which these are, the caller says.
"""

import re
from collections.abc import Container, Sequence

from midfold.late_patterns import compile_late
from midfold.messages import Media, Message, ToolCall, ToolResult
from midfold.provenance.authors import Author
from midfold.provenance.reading import read_segments
from midfold.provenance.segments import Segment, join_segments, main_author

_COMMAND_TOOL = compile_late(
    r"(?:^|[_.:-])(?:skill|slash_?command|command_?body|workflow)s?$|SlashCommand|Skill$", re.IGNORECASE
)
_ARGUMENTS = compile_late(
    r"\n[ \t]*(?:ARGUMENTS|Arguments|User input|Input|\$ARGUMENTS)[ \t]*:[ \t]*([^\n][\s\S]{0,4000})\Z"
)
_HEADING = compile_late(r"^#{1,3} \S", re.MULTILINE)
_LOOK_BACK = 12
COMMAND_BODY = "command"
"""the source of what a command or a skill says"""
_NOBODY: frozenset[int] = frozenset()


def segments_at(
    messages: Sequence[Message], index: int, observations: Container[int] = _NOBODY
) -> tuple[Segment, ...]:
    """Return the segments of the message at `index`; `observations` are tool output in a text protocol."""
    message = messages[index]
    if message.role == "user" and message.text.strip():
        if index in observations:
            return (Segment(0, len(message.text), Author.TOOL),)
        if is_command_body(messages, index):
            return read_body(message.text, _arguments_given(messages[index - 1]))
    segments = read_segments(message)
    is_summary = message.role == "assistant" and [each[2:4] for each in segments] == [(Author.SUMMARY, "")]
    if is_summary and _is_at_work(messages, index):
        return (segments[0]._replace(author=Author.MODEL),)
    return segments


def _is_at_work(messages: Sequence[Message], index: int) -> bool:
    """Whether a model speaks between its calls and results: what it sums up is its own work."""
    before = messages[index - 1] if index > 0 else None
    return any(messages[index].calls) or (before is not None and any(before.results))


def is_command_body(messages: Sequence[Message], index: int) -> bool:
    """Whether a message is the text of a command or skill that was called just before it."""
    before = messages[index - 1] if index > 0 else None
    if before is None:
        return False
    if before.role == "user" and not any(True for _ in before.results):
        return _is_command_call(before) and _is_document(messages[index].text)
    if not any(True for _ in before.results):
        return False
    called = _call_answered(messages, index)
    return called is not None and _COMMAND_TOOL.search(called.name) is not None


def read_body(text: str, given: str = "") -> tuple[Segment, ...]:
    """Read a command's text: the project's, but for the arguments that a person gave to it."""
    at = text.find(given) if given else -1
    if at < 0:
        return (Segment(0, len(text), Author.PROJECT, COMMAND_BODY),)
    return join_segments(
        [
            Segment(0, at, Author.PROJECT, COMMAND_BODY),
            Segment(at, at + len(given), Author.PERSON, is_quoted=True),
            Segment(at + len(given), len(text), Author.PROJECT, COMMAND_BODY),
        ]
    )


def person_words(message: Message, segments: Sequence[Segment], *, with_quotes: bool = True) -> str:
    """Return what a person says in a message, and by default what the person shows with it."""
    text = message.text
    said = [each for each in segments if each.author is Author.PERSON and not each.is_quoted]
    shown = [each for each in segments if each.author is Author.PERSON or each.is_quoted]
    return _join_pieces(text, shown if with_quotes else said)


def asks(messages: Sequence[Message], index: int, observations: Container[int] = _NOBODY) -> bool:
    """Whether a person says or shows something in the message at `index`."""
    message = messages[index]
    if message.role != "user":
        return False
    if not message.text.strip():
        return any(isinstance(part, Media) for part in message.parts)
    if index in observations:
        return False
    return main_author(segments_at(messages, index)) is Author.PERSON


def newest_asked(messages: Sequence[Message], observations: Container[int] = _NOBODY) -> int | None:
    """Return the index of the newest message in which a person asks."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].role == "user" and asks(messages, index, observations):
            return index
    return None


def _join_pieces(text: str, segments: Sequence[Segment]) -> str:
    """Join pieces; those that touched keep what stood between them."""
    pieces: list[str] = []
    stop = -1
    for each in segments:
        piece = text[each.start : each.stop]
        if each.start == stop and pieces:
            pieces[-1] += piece
        elif piece.strip():
            pieces.append(piece)
        stop = each.stop
    return "\n\n".join(piece.strip() for piece in pieces if piece.strip())


def _arguments_given(message: Message) -> str:
    """Return what a person gave to the command that a message calls."""
    return person_words(message, read_segments(message)) if message.role == "user" else ""


def _is_command_call(message: Message) -> bool:
    return "<command-name>" in message.text or message.text.lstrip()[:1] == "/"


def _is_document(text: str) -> bool:
    return len(_HEADING.findall(text[:20_000])) >= 2 or _ARGUMENTS.search(text) is not None


def _call_answered(messages: Sequence[Message], index: int) -> ToolCall | None:
    """Return the call that the result before `index` answers."""
    result = next(
        (part for part in reversed(messages[index - 1].parts) if isinstance(part, ToolResult)), None
    )
    if result is None:
        return None
    for at in range(index - 1, max(index - _LOOK_BACK, -1), -1):
        for call in messages[at].calls:
            if call.id == result.call_id:
                return call
    return None
