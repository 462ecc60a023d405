"""What stays of what an agent did, and how things stand."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

import midfold
from midfold.agent import Spending, Status
from midfold.agent.events import (
    CompressionFinished,
    Continued,
    Done,
    Interrupted,
    Level,
    Notice,
    Pressure,
    TextDelta,
    ToolFinished,
    Topic,
    Why,
)
from midfold.cli.chat.view.lines import event_lines, farewell, start_line, status_line
from midfold.folding.pressure import Tier
from midfold.testing import transcript
from midfold.tokens import CanonicalUsage, Cost
from midfold.usage import Bust, Cause

STATUS = Status(
    session_id="3f2a90c1" + "0" * 24,
    conversation_id="3f2a90c1" + "0" * 24,
    model="anthropic/claude-sonnet-4-5",
    base_url="https://api.anthropic.com/v1",
    api="anthropic",
    messages=12,
    tokens=50_000,
    window_tokens=200_000,
    window_source="table",
    threshold_tokens=100_000,
    tier=Tier.CALM,
    compressions=0,
    folds=0,
    preparation="idle",
    waits="",
    caching="on (claude-sonnet-4-5, anthropic, 5m)",
    enabled=True,
    workspace=Path("/home/user/app"),
)
USED = CanonicalUsage(10_000, 2_000, 90_000)
SPENDING = Spending(USED, USED, Cost(Decimal("0.0421")), 3, 0, Cost(Decimal(0)), 2, ())


def said(event):
    return [line.plain for line in event_lines(event)]


def test_a_tool_is_one_line():
    event = ToolFinished("c", "read_file", "read_file src/app.py", "x" * 3_400, is_error=False, seconds=0.24)
    assert said(event) == ["→ read_file src/app.py  0.2 s, 3.4 KB"]


def test_a_tool_that_failed_says_why_in_red():
    event = ToolFinished("c", "terminal", "terminal make", "Error: no rule\nmore", is_error=True, seconds=1)
    [line] = event_lines(event)
    assert line.plain == "→ terminal make  1.0 s, 19 bytes  Error: no rule"
    assert {span.style for span in line.spans} == {"red", "dim"}


def test_a_tool_whose_result_was_put_aside_says_so():
    event = ToolFinished("c", "search", "search x", "y" * 900, is_error=False, seconds=2, persisted="out/1")
    assert said(event) == ["→ search x  2.0 s, offloaded, 900 bytes"]


@pytest.mark.parametrize(
    ("tier", "words"),
    [
        (Tier.NOTED, []),
        (Tier.LARGE, ["warning: the context is growing large: 76% of the window, 76 of 100 tokens"]),
        (
            Tier.COMPRESS,
            ["warning: the context is at 76% of the window, 76 of 100 tokens: it is compressed now"],
        ),
        (
            Tier.EMERGENCY,
            ["warning: the window is nearly full: 76%, 76 of 100 tokens; fewer of the newest messages stay"],
        ),
    ],
)
def test_pressure_is_told_by_tier(tier, words):
    assert said(Pressure(tier, 76, 100, 50)) == words


@pytest.mark.parametrize("tier", [Tier.COMPRESS, Tier.EMERGENCY])
def test_with_compression_off_the_way_to_make_room_is_told_and_no_promise_made(tier):
    assert said(Pressure(tier, 90, 100, 50, is_automatic=False)) == [
        "warning: the context is at 90% of the window, 90 of 100 tokens; /compress makes room"
    ]


def finished(**changes):
    result = midfold.compress(transcript("openai_chat", turns=30, result_chars=900), max_tokens=3_000)
    words = midfold.summarize_manual_compression(
        result.originals, result.messages, result.tokens_before, result.tokens_after
    )
    event = CompressionFinished(
        Why.THRESHOLD, result, str(words["headline"]), str(words["token_line"]), was_prepared=False
    )
    return replace(event, **changes), words


def test_a_fold_is_told_in_the_words_of_every_command():
    event, words = finished()
    headline, tokens, *_ = said(event)
    assert headline == f"{words['headline']}  (the context reached the threshold)"
    assert tokens == f"{words['token_line']}, counted"


def test_a_fold_that_was_prepared_says_that_nobody_waited():
    event, _ = finished(was_prepared=True)
    assert "prepared beforehand: no waiting" in said(event)[0]


def test_the_next_session_is_named_with_the_number_of_folds():
    assert said(Continued("a" * 32, "b" * 32, 1)) == ["continues in session bbbbbbbb, folded once"]
    assert said(Continued("a" * 32, "b" * 32, 3)) == ["continues in session bbbbbbbb, folded 3 times"]


def test_warnings_are_marked_and_remarks_are_not():
    assert said(Notice(Level.WARNING, Topic.STORE, "no room")) == ["warning: no room"]
    assert said(Notice(Level.INFO, Topic.APPROACH, "near")) == ["near"]


def test_words_and_ends_leave_no_line():
    assert said(TextDelta("hello")) == said(Done("hello", 1)) == []
    assert said(Interrupted("hel")) == ["interrupted"]


@pytest.mark.parametrize("text", ["\x1b[2Jevil", "\x9b31mevil", "a\rb", "\u202eevil", "x" * 5_000])
def test_no_line_steers_the_terminal_or_fills_it(text):
    for event in (
        ToolFinished("c", text, text, text, is_error=True, seconds=0),
        Notice(Level.WARNING, Topic.STORE, text),
    ):
        for line in said(event):
            assert line.isprintable()
            assert len(line) < 400


def test_start_line_says_model_window_caching_and_session():
    assert start_line(STATUS).plain == (
        "anthropic/claude-sonnet-4-5  window 200,000 (known) · "
        "caching on (claude-sonnet-4-5, anthropic, 5m) · session 3f2a90c1"
    )


def test_status_line_says_pressure_cost_and_cache():
    assert status_line(STATUS, SPENDING).plain == (
        "anthropic/claude-sonnet-4-5 ███░░░|░░░░░ 25% · $0.0421 · cache on, 90% read"
    )


def test_status_line_says_that_the_cache_went_cold_and_why():
    cold = replace(STATUS, is_cache_cold=True, cache_busts=(Bust(Cause.FOLD, 9_000, ""),))
    assert status_line(cold, SPENDING).plain.endswith("· cache cold (fold), 90% read")


@pytest.mark.parametrize(
    ("tier", "colour"), [(Tier.CALM, "green"), (Tier.LARGE, "yellow"), (Tier.EMERGENCY, "red")]
)
def test_bar_has_the_colour_of_its_tier(tier, colour):
    line = status_line(replace(STATUS, tier=tier), SPENDING)
    assert colour in {str(span.style) for span in line.spans}


def test_status_line_tells_of_folds_and_of_the_next_one():
    line = status_line(replace(STATUS, folds=2, preparation="ready"), SPENDING).plain
    assert line.endswith("· 2 folds · the next fold is ready")


def test_a_full_window_stays_inside_the_bar():
    full = replace(STATUS, tokens=300_000, threshold_tokens=200_000)
    assert "████████████ 100%" in status_line(full, SPENDING).plain


def test_leaving_says_what_it_came_to_and_how_to_go_on():
    assert [line.plain for line in farewell(STATUS, SPENDING)] == [
        "session 3f2a90c1: 102,000 tokens, $0.0421, 2 folds",
        "continue: midfold chat --resume 3f2a90c1",
    ]
