"""A probe: one exact string of a conversation, why it may be asked for, and where it stood."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from midfold.errors import UnreadableTranscript
from midfold.transcripts import decode_json


class Kind(StrEnum):
    """What a probe asks about."""

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
    """Where the string stands; head and tail stay as they are in most methods, so only the middle tells."""

    HEAD = "head"
    MIDDLE = "middle"
    TAIL = "tail"


WEIGHTS = {
    Kind.FIRST_REQUEST: 5,
    Kind.FINAL_REQUEST: 5,
    Kind.CONSTRAINT: 5,
    Kind.FILE_EDITED: 3,
    Kind.COMMAND: 3,
    Kind.ERROR: 3,
    Kind.COMMAND_STATUS: 2,
    Kind.RESULT_FIELD: 2,
    Kind.IDENTIFIER: 2,
    Kind.FILE_READ: 1,
    Kind.TOOL_ARGUMENT: 1,
    Kind.NUMBER: 1,
}
"""What forgetting one costs: the task and a rule most, a figure that can be looked up least."""
MUST_KEEP = frozenset({Kind.FIRST_REQUEST, Kind.FINAL_REQUEST, Kind.CONSTRAINT, Kind.FILE_EDITED})
TASK = frozenset({Kind.FIRST_REQUEST, Kind.FINAL_REQUEST})


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, and the exact string that answers it. `evidence` are indices of messages that hold it."""

    kind: Kind
    question: str
    answer: str
    evidence: tuple[int, ...]
    zone: Zone
    must_keep: bool
    weight: int


def make_probe(kind: Kind, question: str, answer: str, evidence: tuple[int, ...], zone: Zone) -> Probe:
    """Make a probe with the weight and the duty of its kind."""
    return Probe(kind, question, answer, evidence, zone, kind in MUST_KEEP, WEIGHTS[kind])


def read_probes(path: Path) -> list[Probe]:
    """Read the probes of one conversation: an object with `probes`, or the list itself.

    Raises `UnreadableTranscript` when the file holds none or one of them lacks a field.
    """
    try:
        found = decode_json(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableTranscript(str(path), f"no probes can be read from it: {error}") from error
    listed = found.get("probes") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise UnreadableTranscript(str(path), "it holds no list of probes")
    return [_read_probe(item, place, path) for place, item in enumerate(listed)]


def _read_probe(item: object, place: int, path: Path) -> Probe:
    if not isinstance(item, dict) or not isinstance(item.get("answer"), str) or not item["answer"]:
        raise UnreadableTranscript(str(path), f"probe {place} has no answer")
    try:
        kind = Kind(item["kind"])
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
        raise UnreadableTranscript(str(path), f"probe {place} cannot be used: {error}") from error
