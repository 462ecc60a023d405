"""The events of a run, as values: a program that shows an agent to people needs nothing else.

A run yields them in order. The last one is `Done` or `Interrupted`, unless it raises.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from enum import StrEnum
from typing import TypeAlias

from midfold.agent.tools.registry import Risk
from midfold.engines import RecoveryStep
from midfold.folding import Compression, Tier
from midfold.late_dataclasses import dataclass, field
from midfold.tokens import CanonicalUsage, Cost


class Level(StrEnum):
    """The severity of a notice."""

    INFO = "info"
    WARNING = "warning"


class Topic(StrEnum):
    """The subject of a notice."""

    APPROACH = "approach"
    FOLDED_OFTEN = "folded_often"
    PAUSED = "paused"
    SUMMARY = "summary"
    REDACTED = "redacted"
    RECOVERY = "recovery"
    REPLY = "reply"
    OUTPUT = "output"
    STORE = "store"
    CACHE = "cache"
    MEMORY = "memory"
    STEPS = "steps"
    ENGINE = "engine"
    RECALL = "recall"
    TOOLS = "tools"


class Why(StrEnum):
    """The reason for a compression."""

    PREFLIGHT = "preflight"
    """the request that is about to be sent reaches the threshold"""
    THRESHOLD = "threshold"
    """the provider's own count reached it"""
    OVERFLOW = "overflow"
    """the provider refused the request, or it would not fit"""
    MODEL = "model"
    """another model with a smaller window takes over"""
    COMMAND = "command"
    """a person asked"""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More words of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool begins its work. `title` is one short printable line."""

    call_id: str
    name: str
    title: str
    arguments: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool gave back `text`, which is what the model gets; `persisted` refers to the whole of it, where it
    was too long for the conversation."""

    call_id: str
    name: str
    title: str
    text: str = field(repr=False)
    is_error: bool
    seconds: float
    persisted: str | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """An answer to the question whether a tool may run; the model reads `reason`."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalRequested:
    """A tool asks before it runs. `preview` is all that it would do: the whole command, or a diff.

    Answer before the next event is asked for; what is not answered is denied.
    """

    call_id: str
    name: str
    title: str
    preview: str
    arguments: Mapping[str, object] = field(repr=False)
    risk: Risk = Risk.COMMAND
    verdict: "Future[Approval]" = field(default_factory=Future, repr=False, compare=False)

    def answer(self, allowed: bool, reason: str = "") -> None:
        """Let the tool run, or not; from any thread. The first answer counts, and so does an interrupt."""
        with suppress(InvalidStateError):
            self.verdict.set_result(Approval(allowed, reason))


@dataclass(frozen=True, slots=True)
class ModelCalled:
    """A call was answered: what it used and cost, and how full the window is. `usage` is nothing where the
    provider reported none; then `tokens` is our own estimate."""

    model: str
    usage: CanonicalUsage
    cost: Cost
    seconds: float
    tokens: int
    window_tokens: int
    threshold_tokens: int


@dataclass(frozen=True, slots=True)
class Pressure:
    """The window filled up to another tier. `is_automatic`: it is compressed without being asked."""

    tier: Tier
    tokens: int
    window_tokens: int
    threshold_tokens: int
    is_automatic: bool = True


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the user."""

    level: Level
    topic: Topic
    text: str


@dataclass(frozen=True, slots=True)
class CompressionStarted:
    """A compression begins on a request of `tokens`."""

    why: Why
    tokens: int


@dataclass(frozen=True, slots=True)
class CompressionFinished:
    """A compression is over, whether it changed anything or not; the two lines are for people.

    `was_prepared` says that the fold was made beside the conversation and only had to be applied.
    """

    why: Why
    compression: Compression[object] = field(repr=False)
    headline: str
    token_line: str
    was_prepared: bool = False


@dataclass(frozen=True, slots=True)
class Continued:
    """The session went on in another one; `folds` is how often the conversation was folded so far."""

    old_id: str
    new_id: str
    folds: int


@dataclass(frozen=True, slots=True)
class Recovering:
    """The provider refused the request, and something is done about it before it is sent again."""

    step: RecoveryStep
    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """The model is done; `text` is its last answer, `steps` how often it was called."""

    text: str
    steps: int


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The run was stopped; `text` is what had come of the answer."""

    text: str


Event: TypeAlias = (
    TextDelta
    | ReasoningDelta
    | ToolStarted
    | ToolFinished
    | ApprovalRequested
    | ModelCalled
    | Pressure
    | Notice
    | CompressionStarted
    | CompressionFinished
    | Continued
    | Recovering
    | Done
    | Interrupted
)
Emit: TypeAlias = Callable[[Event], None]


def ignore(_event: Event) -> None:
    """Drop an event."""
