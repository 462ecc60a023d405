"""Outcomes of failures, read from the conversation itself: whether the same command ran well later."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.matching import flatten, quotes, weigh
from midfold.late_dataclasses import dataclass
from midfold.messages import ToolCall, ToolResult

_COMMAND_KEYS = ("command", "cmd", "script", "code")
# Frames of a command that say nothing about it: the folder, and how much of the output was looked at.
_FOLDER = re.compile(r"^\s*(?:cd\s+[^&;|]{1,300}(?:&&|;)\s*)+")
_OUTPUT = re.compile(r"(?:\s*2>&1|\s*\|\s*(?:head|tail)(?:\s+-?[\w-]{1,10}){0,2})+\s*$")
_LOOK = re.compile(r"^\s*(?:grep|rg|egrep|fgrep|ag|ack|which|diff|git grep)\b")
_NO_MATCH = re.compile(r"\b(?:exit(?:ed)?(?: with)?(?: code| status)?|returncode)\W{1,4}1\b", re.IGNORECASE)
_EXIT_ZERO = re.compile(r"\b(?:exit(?:ed)?(?: with)?(?: code| status)|returncode)\W{1,4}0\b", re.IGNORECASE)
_FAILED = re.compile(
    r"\b(?:errors?|fail(?:ed|ing|ures?|s)?|exception|traceback|fatal|panic|aborted|not found|cannot|denied)\b"
    r"|\b(?:exit(?:ed)?(?: with)?(?: code| status)|returncode)\W{1,4}[1-9]",
    re.IGNORECASE,
)
_NO_ERRORS = re.compile(r"\b(?:0|no|zero) (?:errors?|fail(?:ed|ures?))\b", re.IGNORECASE)
_SCANNED_CHARS = 20_000
_PROGRAM = re.compile(r"(?<![\w/.=-])[a-z][\w.-]{1,30}")
_USUAL_WORDS = frozenset(["cd", "run", "tail", "head", "grep", "true", "echo", "and", "the"])
_FEW = 2
_LONG = 40


@dataclass(frozen=True, slots=True)
class _CommandRun:
    index: int
    """the message of the call"""
    result_index: int
    command: str
    output: str

    @property
    def failed(self) -> bool:
        said = _NO_ERRORS.sub("", self.output[:_SCANNED_CHARS])
        return _FAILED.search(said) is not None


class FailureHistory:
    """The commands of a conversation in order, asked whether a failure was overcome."""

    def __init__(self, conversation: MeasuredConversation) -> None:
        self._conversation = conversation

    def why_overcome(self, references: Sequence[int]) -> str | None:
        """Return how the conversation itself shows that the runs an entry names are no open failures."""
        own = [run for run in self._runs if run.index in references or run.result_index in references]
        if not own:
            return None
        last = own[-1]
        if _LOOK.match(last.command) and _NO_MATCH.search(last.output):
            return "a look without a match is no failure"
        if _EXIT_ZERO.search(last.output) and not last.failed:
            return "it ended with exit status 0"
        later = [run for run in self._runs if run.index > last.index and run.command == last.command]
        if later and not later[-1].failed:
            return f"the same command ran without a failure at [{later[-1].index}]"
        return None

    def why_unsettled(self, references: Sequence[int], settler: int) -> str | None:
        """Return why the run at `settler` cannot have settled the failure that an entry names."""
        own = [run for run in self._runs if run.index in references]
        later = [run for run in self._runs if run.index == settler]
        if not own:
            return None
        if not later:
            return f"[{settler}] runs nothing"
        if not any(_shared_words(own[0].command) & _shared_words(run.command) for run in later):
            return f"[{settler}] runs something else: {later[0].command[:60]}"
        return f"[{settler}] failed as well" if all(run.failed for run in later) else None

    def is_telling(self, evidence: str) -> bool:
        """Whether a string is so long, or stands in so few messages, that it tells which failure is meant."""
        return weigh(evidence) >= _LONG or sum(quotes(text, evidence) for text in self._flat) <= _FEW

    @cached_property
    def _flat(self) -> list[str]:
        return list(map(flatten, self._conversation.source.texts))

    @cached_property
    def _runs(self) -> list[_CommandRun]:
        return sorted(self._read_runs(), key=lambda run: run.index)

    def _read_runs(self) -> Iterator[_CommandRun]:
        messages = self._conversation.messages
        for call_at, result_at in self._conversation.pairing.answers.items():
            call = messages[call_at.message].parts[call_at.part]
            result = messages[result_at.message].parts[result_at.part]
            if isinstance(call, ToolCall) and isinstance(result, ToolResult):
                command = _read_command(call)
                if command:
                    yield _CommandRun(call_at.message, result_at.message, command, result.text)


def _shared_words(command: str) -> frozenset[str]:
    """Return the words of a command that may name its program."""
    return frozenset(_PROGRAM.findall(command)) - _USUAL_WORDS


def _read_command(call: ToolCall) -> str | None:
    arguments = call.parse_arguments()
    if not isinstance(arguments, dict):
        return None
    found = next((arguments[key] for key in _COMMAND_KEYS if isinstance(arguments.get(key), str)), None)
    return None if found is None else flatten(_OUTPUT.sub("", _FOLDER.sub("", str(found))))
