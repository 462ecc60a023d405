"""A probe: one exact string of a conversation, why it may be asked for, and where it stood.

Probes are read from a file, or derived from a transcript by rules of their own: one pass collects candidates,
what the user asked and forbade, what was called with what, and what came back. Of each kind an even sample is
kept, the same one every time.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from re import Match
from zlib import crc32

from midfold.errors import UnreadableTranscript
from midfold.evaluation.signals import (
    CallFacts,
    find_errors,
    find_identifiers,
    find_numbers,
    find_rules,
    find_status,
    read_call,
    shell_blocks,
    written_in_patch,
)
from midfold.evaluation.texts import SEPARATOR, escaped_forms, holds, read_texts
from midfold.files import read_bytes
from midfold.late_dataclasses import dataclass
from midfold.messages import Location, Message, Text, ToolCall, ToolResult, pair_calls
from midfold.redact import find_secrets
from midfold.transcripts import decode_json


class ProbeKind(StrEnum):
    """The subject of a probe."""

    FIRST_REQUEST = "first_request"
    FINAL_REQUEST = "final_request"
    CONSTRAINT = "constraint"
    FILE_EDITED = "file_edited"
    FILE_READ = "file_read"
    COMMAND = "command"
    COMMAND_STATUS = "command_status"
    ERROR = "error"
    TOOL_ARGUMENT = "tool_argument"
    RESULT_FIELD = "result_field"
    IDENTIFIER = "identifier"
    NUMBER = "number"


class Zone(StrEnum):
    """Where the string stands; head and tail stay as they are in most methods, so only the middle differs."""

    HEAD = "head"
    MIDDLE = "middle"
    TAIL = "tail"


WEIGHTS = {
    ProbeKind.FIRST_REQUEST: 5,
    ProbeKind.FINAL_REQUEST: 5,
    ProbeKind.CONSTRAINT: 5,
    ProbeKind.FILE_EDITED: 3,
    ProbeKind.COMMAND: 3,
    ProbeKind.ERROR: 3,
    ProbeKind.COMMAND_STATUS: 2,
    ProbeKind.RESULT_FIELD: 2,
    ProbeKind.IDENTIFIER: 2,
    ProbeKind.FILE_READ: 1,
    ProbeKind.TOOL_ARGUMENT: 1,
    ProbeKind.NUMBER: 1,
}
"""The cost of forgetting one: the task and a rule most, a figure that can be looked up least."""
MUST_KEEP = frozenset(
    {ProbeKind.FIRST_REQUEST, ProbeKind.FINAL_REQUEST, ProbeKind.CONSTRAINT, ProbeKind.FILE_EDITED}
)
TASK = frozenset({ProbeKind.FIRST_REQUEST, ProbeKind.FINAL_REQUEST})


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, and the exact string that answers it. `evidence` are indices of messages that hold it."""

    kind: ProbeKind
    question: str
    answer: str
    evidence: tuple[int, ...]
    zone: Zone
    must_keep: bool
    weight: int


def make_probe(kind: ProbeKind, question: str, answer: str, evidence: tuple[int, ...], zone: Zone) -> Probe:
    """Make a probe with the weight and the duty of its kind."""
    return Probe(kind, question, answer, evidence, zone, kind in MUST_KEEP, WEIGHTS[kind])


def read_probes(path: Path) -> list[Probe]:
    """Read the probes of one conversation: an object with `probes`, or the list itself.

    Raises `UnreadableTranscript` when the file holds none or one of them lacks a field.
    """
    try:
        found = decode_json(read_bytes(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableTranscript(str(path), f"no probes can be read from it: {error}") from error
    listed = found.get("probes") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise UnreadableTranscript(str(path), "it holds no list of probes")
    return [_read_probe(item, number, path) for number, item in enumerate(listed)]


def _read_probe(item: object, number: int, path: Path) -> Probe:
    if not isinstance(item, dict) or not isinstance(item.get("answer"), str) or not item["answer"]:
        raise UnreadableTranscript(str(path), f"probe {number} has no answer")
    try:
        kind = ProbeKind(item["kind"])
        return Probe(
            kind=kind,
            question=str(item.get("question", "")),
            answer=item["answer"],
            evidence=tuple(int(index) for index in item["evidence_message_index"]),
            zone=Zone(item["zone"]),
            must_keep=bool(item.get("must_keep", kind in MUST_KEEP)),
            weight=WEIGHTS[kind],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableTranscript(str(path), f"probe {number} cannot be used: {error}") from error


MOST_PER_KIND = 12
"""Enough to see each kind, few enough that a transcript of commands is not all about commands."""
SEED = 7
_HEAD_MESSAGES = 3
_TAIL_MESSAGES = 20
_SCANNED_CHARS = 30_000  # of one text, half from each end: what a reader of it would come across
_LEAST_ANSWER_CHARS = 4
_REQUEST_CHARS = 1_200
_CLUE_CHARS = 60


@dataclass(frozen=True, slots=True)
class _Candidate:
    kind: ProbeKind
    index: int
    answer: str
    question: str


def derive_probes(messages: Sequence[Message]) -> list[Probe]:
    """Derive typed probes from a conversation, at most `MOST_PER_KIND` of each kind.

    A string that also occurs in the head or the tail is a probe of that zone, not of the middle.
    """
    zones = _Zones(messages)
    by_kind: dict[ProbeKind, dict[str, _Candidate]] = {}
    for candidate in _collect(messages):
        if len(candidate.answer) >= _LEAST_ANSWER_CHARS:
            by_kind.setdefault(candidate.kind, {}).setdefault(candidate.answer, candidate)
    probes: list[Probe] = []
    changed = by_kind.get(ProbeKind.FILE_EDITED, {})
    for kind in ProbeKind:
        found = [
            candidate
            for answer, candidate in by_kind.get(kind, {}).items()
            if not (kind is ProbeKind.FILE_READ and answer in changed) and not find_secrets(answer)
        ]
        probes += [
            make_probe(kind, taken.question, taken.answer, (taken.index,), zones.zone_of(taken.answer))
            for taken in _sample(found)
        ]
    return probes


class _Zones:
    """Finds the zone of a string."""

    def __init__(self, messages: Sequence[Message]) -> None:
        tail = min(_TAIL_MESSAGES, len(messages) // 4)
        self._head = _join(messages[:_HEAD_MESSAGES])
        self._tail = _join(messages[len(messages) - tail :])

    def zone_of(self, answer: str) -> Zone:
        forms = escaped_forms(answer)
        if holds(self._head, forms):
            return Zone.HEAD
        return Zone.TAIL if holds(self._tail, forms) else Zone.MIDDLE


def _join(messages: Sequence[Message]) -> str:
    return SEPARATOR.join([text for message in messages for text in read_texts(message)])


def _sample(found: Sequence[_Candidate]) -> list[_Candidate]:
    """Take one from each of equal stretches, at an index that only the seed decides."""
    count = min(len(found), MOST_PER_KIND)
    bounds = [len(found) * number // count for number in range(count + 1)] if count else [0]
    return [
        found[start + crc32(f"{SEED}:{start}".encode()) % (stop - start)] for start, stop in pairwise(bounds)
    ]


def _collect(messages: Sequence[Message]) -> Iterator[_Candidate]:
    calls = {result: call for call, result in pair_calls(messages).answers.items()}
    yield from _requests(messages)
    for index, message in enumerate(messages):
        words = _scanned(SEPARATOR.join(_words(message)))
        if message.role == "user":
            yield from _rules(index, words)
        elif message.role == "assistant":
            yield from _figures(index, words)
            for command in shell_blocks(words):
                yield _command(index, command)
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolResult):
                call = calls.get(Location(index, position))
                yield from _outcomes(index, part, _read(messages, call))
        for part in message.calls:
            yield from _actions(index, read_call(part))


def _read(messages: Sequence[Message], call: Location | None) -> CallFacts:
    part = messages[call.message].parts[call.part] if call else None
    return read_call(part) if isinstance(part, ToolCall) else CallFacts("a tool")


def _words(message: Message) -> list[str]:
    """Return the texts of a message one by one: no answer may span two of them."""
    return [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]


def _scanned(text: str) -> str:
    if len(text) <= _SCANNED_CHARS:
        return text
    half = _SCANNED_CHARS // 2
    return f"{text[:half]}{SEPARATOR}{text[-half:]}"


def _requests(messages: Sequence[Message]) -> Iterator[_Candidate]:
    """Yield the first and the last request; of a long one the beginning."""
    asked = [
        (index, texts[-1].strip())  # clients put reminders of their own first
        for index, message in enumerate(messages)
        if message.role == "user" and (texts := _words(message)) and not any(message.results)
    ]
    if asked:
        for kind, (index, words) in (
            (ProbeKind.FIRST_REQUEST, asked[0]),
            (ProbeKind.FINAL_REQUEST, asked[-1]),
        ):
            which = "first" if kind is ProbeKind.FIRST_REQUEST else "newest"
            yield _Candidate(
                kind, index, words[:_REQUEST_CHARS].strip(), f"What does the {which} request say?"
            )


def _rules(index: int, words: str) -> Iterator[_Candidate]:
    for rule in find_rules(words):
        question = f'Which rule did the user set that begins "{rule[:16]}"?'
        yield _Candidate(ProbeKind.CONSTRAINT, index, rule, question)


def _actions(index: int, call: CallFacts) -> Iterator[_Candidate]:
    if call.command:
        yield _command(index, call.command)
        for path in written_in_patch(call.command):
            yield _file(ProbeKind.FILE_EDITED, index, path)
    for path in call.changed:
        yield _file(ProbeKind.FILE_EDITED, index, path)
    for path in call.read:
        yield _file(ProbeKind.FILE_READ, index, path)
    for key, value in call.others:
        question = f'Which value of "{key}" was {call.tool} given in message {index}?'
        yield _Candidate(ProbeKind.TOOL_ARGUMENT, index, value, question)


def _command(index: int, command: str) -> _Candidate:
    question = f'Which command near message {index} begins "{command.split(maxsplit=1)[0]}"?'
    return _Candidate(ProbeKind.COMMAND, index, command, question)


def _file(kind: ProbeKind, index: int, path: str) -> _Candidate:
    what = "changed" if kind is ProbeKind.FILE_EDITED else "read"
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    return _Candidate(kind, index, path, f'Where is the file "{name}" that was {what}?')


def _outcomes(index: int, result: ToolResult, call: CallFacts) -> Iterator[_Candidate]:
    text = _scanned(result.text)
    asked = call.command or call.tool
    status = find_status(text)
    if status and call.command:
        yield _Candidate(ProbeKind.COMMAND_STATUS, index, status, f"How did `{asked[:_CLUE_CHARS]}` end?")
    # Files that are read are full of lines about errors which nobody met.
    if not call.read:
        for line in find_errors(text):
            question = f"Which error did `{asked[:_CLUE_CHARS]}` report (message {index})?"
            yield _Candidate(ProbeKind.ERROR, index, line, question)
    yield from _fields(index, result.text, call)
    yield from _figures(index, text)


def _fields(index: int, text: str, call: CallFacts) -> Iterator[_Candidate]:
    """Yield the scalar fields of a result that is a JSON object or a list of them."""
    if text[:1] not in ("{", "["):
        return
    try:
        waiting = [("", decode_json(text))]
    except (ValueError, RecursionError):
        return
    while waiting:
        key, value = waiting.pop()
        match value:
            case dict():
                waiting += [(str(name), inner) for name, inner in reversed(value.items())]
            case list():
                waiting += [(key, inner) for inner in reversed(value)]
            case str() if value in text and _LEAST_ANSWER_CHARS <= len(value) <= _CLUE_CHARS:
                question = f'Which "{key}" did {call.tool} return in message {index}?'
                yield _Candidate(ProbeKind.RESULT_FIELD, index, value, question)


def _figures(index: int, text: str) -> Iterator[_Candidate]:
    for name, match in find_identifiers(text):
        yield _Candidate(
            ProbeKind.IDENTIFIER, index, match[0], f'Which {name} fills "{_quote_line(text, match)}"?'
        )
    for match in find_numbers(text):
        yield _Candidate(
            ProbeKind.NUMBER, index, match[0], f'Which figure fills "{_quote_line(text, match)}"?'
        )


def _quote_line(text: str, match: Match[str]) -> str:
    """Quote the line around a match, with a blank instead of the match."""
    before = text[max(0, match.start() - _CLUE_CHARS) : match.start()].rpartition("\n")[2]
    after = text[match.end() : match.end() + _CLUE_CHARS].partition("\n")[0]
    return f"{before}____{after}"
