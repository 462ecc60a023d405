"""Events as lines of JSON."""

import io
import json
from decimal import Decimal

import pytest

import midfold
from midfold.agent import events
from midfold.cli.chat.view.json_events import JsonView
from midfold.engines.recovery import Compress
from midfold.folding.pressure import Tier
from midfold.tokens import CanonicalUsage, Cost

RESULT = midfold.compress([{"role": "user", "content": "hello"}], max_tokens=1_000)
EVERY = [
    (events.TextDelta("he\u2028llo\n"), {"event": "text", "text": "he\u2028llo\n"}),
    (events.ReasoningDelta("hm"), {"event": "reasoning", "text": "hm"}),
    (
        events.ToolStarted("c", "read_file", "read_file a", {"path": "a"}),
        {"event": "tool_started", "name": "read_file", "arguments": {"path": "a"}},
    ),
    (
        events.ToolFinished("c", "read_file", "read_file a", "text", is_error=False, seconds=0.5),
        {"event": "tool_finished", "text": "text", "is_error": False, "persisted": None},
    ),
    (
        events.ApprovalRequested("c", "terminal", "terminal ls", "ls -l", {"command": "ls -l"}),
        {"event": "approval_requested", "preview": "ls -l"},
    ),
    (
        events.ModelCalled("m", CanonicalUsage(5, 2), Cost(Decimal("0.5")), 0.1, 5, 100, 50),
        {"event": "model_called", "cost": 0.5, "tokens": 5},
    ),
    (events.Pressure(Tier.LARGE, 80, 100, 50), {"event": "pressure", "tier": "large", "tokens": 80}),
    (
        events.Notice(events.Level.INFO, events.Topic.STORE, "kept"),
        {"event": "notice", "level": "info", "topic": "store", "text": "kept"},
    ),
    (
        events.CompressionStarted(events.Why.COMMAND, 70),
        {"event": "compression_started", "why": "command", "tokens": 70},
    ),
    (
        events.CompressionFinished(events.Why.COMMAND, RESULT, "", ""),
        {"event": "compression_finished", "changed": False, "why": "command", "was_prepared": False},
    ),
    (events.Continued("a", "b", 2), {"event": "continued", "old_id": "a", "new_id": "b", "folds": 2}),
    (events.Recovering(Compress(50), "shorter"), {"event": "recovering", "step": "Compress"}),
    (events.Done("hello", 1), {"event": "done", "text": "hello", "steps": 1}),
    (events.Interrupted("he"), {"event": "interrupted", "text": "he"}),
]


@pytest.mark.parametrize(("event", "fields"), EVERY, ids=[fields["event"] for _, fields in EVERY])
def test_every_event_is_one_line(event, fields):
    out = io.StringIO()
    JsonView(out).show(event)
    line = out.getvalue()
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert json.loads(line) | fields == json.loads(line)


def test_there_is_a_line_for_every_kind_of_event():
    assert {type(event) for event, _ in EVERY} == set(events.Event.__args__)
