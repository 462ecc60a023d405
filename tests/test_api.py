"""`midfold.compress`, as a script calls it."""

import asyncio
import json

import pytest

import midfold
from midfold.errors import ConfigError
from midfold.testing import transcript
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, parse
from midfold.wire.validate import validate


def long(dialect="openai_chat", **options):
    return transcript(dialect, turns=40, result_chars=1_500, last="Run the tests.", **options)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("strategy", ["staged", "fold", "prune"])
def test_every_dialect_and_strategy_gives_a_legal_list_under_the_ceiling(dialect, strategy):
    messages = long(dialect)
    result = midfold.compress(messages, max_tokens=9_000, strategy=strategy)
    assert validate(result.messages, dialect=dialect) == []
    assert result.tokens_after == sum(map(TokenCounter(), parse(result.messages, dialect)))
    if strategy != "prune":
        assert result.tokens_after <= 9_000


@pytest.mark.parametrize("style", ["stub", "excerpt", "placeholder"])
@pytest.mark.parametrize("template", ["handoff", "progress", "brief"])
def test_styles_and_templates_change_the_words_and_not_the_promises(style, template):
    result = midfold.compress(long(), max_tokens=5_000, style=style, template=template)
    assert result.tokens_after <= 5_000
    assert "## Active Task\nRun the tests." in result.summary


def test_system_and_tools_take_room():
    tools = [{"name": "read_file", "description": "word " * 500}]
    result = midfold.compress(long(), max_tokens=6_000, system="word " * 1_000, tools=tools)
    alone = midfold.compress(long(), max_tokens=6_000)
    assert result.tokens_after <= 6_000
    assert (
        sum(map(TokenCounter(), parse(result.messages)))
        < sum(map(TokenCounter(), parse(alone.messages))) - 1_400
    )


def test_async_callers_await_their_summariser():
    async def summarize(request):
        await asyncio.sleep(0)
        return f"## Goal\nSeen {len(request.prompt)} characters."

    result = asyncio.run(
        midfold.acompress(long(), context_length=12_000, strategy="fold", summarizer=summarize)
    )
    assert "## Goal\nSeen" in result.summary


def test_a_window_folds_as_the_command_would():
    result = midfold.compress(long(), context_length=12_000)
    assert result.reason == "folded"
    assert result.summarizer == "digest"


def test_restoring_gives_the_very_same_objects():
    messages = long()
    result = midfold.compress(messages, max_tokens=4_000)
    assert all(new is old for new, old in zip(result.restore(), messages, strict=True))


def test_the_result_survives_json_and_compresses_to_itself():
    once = midfold.compress(long(), max_tokens=4_000)
    again = midfold.compress(json.loads(json.dumps(once.messages)), max_tokens=4_000)
    assert not again.changed


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_tokens": 5, "context_length": 5},
        {"max_tokens": 0},
        {"context_length": -1},
        {"max_tokens": 5_000, "strategy": "shrink"},
        {"max_tokens": 5_000, "style": "haiku"},
        {"max_tokens": 5_000, "template": "memo"},
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(options):
    with pytest.raises(ConfigError, match="expected"):
        midfold.compress(long(), **options)


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(ConfigError, match="max_token is"):
        midfold.compress(long(), max_token=5)
    with pytest.raises(ConfigError, match="max_tokens"):
        midfold.compress(long(), max_tokens="many")


def test_no_messages_are_no_messages():
    assert midfold.compress([], max_tokens=5).messages == []
