"""An agent as JSON, one event a line, for programs. Names and fields are stable; more may be added."""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TextIO

from rich.text import Text

from midfold.agent import (
    ApprovalRequested,
    CompressionFinished,
    CompressionStarted,
    Continued,
    Done,
    Event,
    Interrupted,
    ModelCalled,
    Notice,
    Pressure,
    ReasoningDelta,
    Recovering,
    Spending,
    Status,
    TextDelta,
    ToolFinished,
    ToolStarted,
)
from midfold.tokens import Cost

Fields = dict[str, object]


class JsonView:
    """Writes every event as a line."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out

    @contextmanager
    def working(self, _label: str) -> Iterator[None]:
        yield

    @contextmanager
    def paused(self) -> Iterator[None]:
        yield

    def show(self, event: Event) -> None:
        """Write an event."""
        name, fields = describe_event(event)
        self.write(name, fields)

    def write(self, name: str, fields: Fields) -> None:
        """Write a line, at once; escapes keep it one, and keep it printable."""
        self._out.write(json.dumps({"event": name, **fields}) + "\n")
        self._out.flush()

    def say(self, *lines: Text) -> None:
        """Write remarks of our own."""
        for line in lines:
            self.write("remark", {"text": line.plain})

    def set_status(self, status: Status, spending: Spending) -> None:
        """Leave it: the events say as much."""

    def note_stopping(self) -> None:
        """Leave it: an event says so."""


def describe_start(status: Status) -> Fields:
    """Return the facts at the start of a run."""
    return {
        "session_id": status.session_id,
        "model": status.model,
        "window_tokens": status.window_tokens,
        "threshold_tokens": status.threshold_tokens,
        "caching": status.caching,
    }


def describe_end(status: Status, spending: Spending) -> Fields:
    """Return the facts at the end of a run."""
    return {
        "session_id": status.session_id,
        "usage": asdict(spending.chain),
        "dollars": _dollars(spending.cost),
        "folds": spending.folds,
    }


def describe_event(event: Event) -> tuple[str, Fields]:
    """Return the name of an event and its fields."""
    return _NAMES[type(event)], _describe(event)


_NAMES: Mapping[type[Event], str] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    ToolStarted: "tool_started",
    ToolFinished: "tool_finished",
    ApprovalRequested: "approval_requested",
    ModelCalled: "model_called",
    Pressure: "pressure",
    Notice: "notice",
    CompressionStarted: "compression_started",
    CompressionFinished: "compression_finished",
    Continued: "continued",
    Recovering: "recovering",
    Done: "done",
    Interrupted: "interrupted",
}


def _describe(event: Event) -> Fields:
    match event:
        case ToolStarted(call_id, name, title, arguments):
            return {"call_id": call_id, "name": name, "title": title, "arguments": dict(arguments)}
        case ApprovalRequested(call_id, name, title, preview):
            return {
                "call_id": call_id,
                "name": name,
                "title": title,
                "risk": str(event.risk),
                "preview": preview,
            }
        case ModelCalled():
            return {**asdict(event), "cost": _dollars(event.cost)}
        case CompressionFinished():
            return _describe_compression(event)
        case Recovering(step, text):
            return {"step": type(step).__name__, "text": text}
        case Pressure(tier):
            return {**asdict(event), "tier": tier.name.lower()}
        case _:
            return asdict(event)


def _describe_compression(event: CompressionFinished) -> Fields:
    result = event.compression
    return {
        "why": event.why,
        "changed": result.changed,
        "reason": result.reason,
        "messages_before": len(result.before),
        "messages_after": len(result.messages),
        "tokens_before": result.tokens_before,
        "tokens_after": result.tokens_after,
        "saved_tokens": result.saved_tokens,
        "summarizer": result.summarizer,
        "summary_tokens": result.summary_tokens,
        "warning": result.warning,
        "was_prepared": event.was_prepared,
    }


def _dollars(cost: Cost) -> float | None:
    return float(cost.dollars) if cost.dollars is not None and cost.is_complete else None
