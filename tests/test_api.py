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
    counted_as = TokenCounter(DIALECTS[dialect].counted_as)
    assert result.tokens_after == sum(map(counted_as, parse(result.messages, dialect)))
    if strategy != "prune":
        assert result.tokens_after <= 9_000


@pytest.mark.parametrize("max_tokens", [9_000, 25_000])
def test_the_strategy_fold_folds_also_where_pruning_would_do(max_tokens):
    result = midfold.compress(long(), max_tokens=max_tokens, strategy="fold")
    assert (result.reason, result.tokens_after <= max_tokens) == ("folded", True)
    assert result.summary


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("summarizer", "openai/gpt-5-mini"),
        ("model", 3),
        ("focus", ["tariffs"]),
        ("summary_model", 3),
        ("pin", "never repaint it"),
        ("pin", [3]),
        ("tools", "read_file"),
        ("tools", {"name": "read_file"}),
        ("system", 3),
    ],
)
def test_an_option_of_another_type_is_named(option, value):
    with pytest.raises(ConfigError, match=f"^{option} is "):
        midfold.compress(long(), max_tokens=9_000, **{option: value})


@pytest.mark.parametrize("name", ["nope", "opnai/gpt-5"])
def test_a_summary_model_that_nobody_knows_is_named_as_such(name):
    with pytest.raises(ConfigError, match=f"^summary_model is '{name}'"):
        midfold.compress(long(), max_tokens=9_000, summary_model=name)


def test_the_note_speaks_of_memory_files_only_where_there_are_some():
    def note(system):
        messages = [{"role": "system", "content": system}, *long()]
        return midfold.compress(messages, max_tokens=9_000).messages[0]["content"].removeprefix(system)

    assert "[Note:" in note("You help.")
    assert "MEMORY.md" not in note("You help.")
    assert "MEMORY.md" in note("You help.\n\n# MEMORY.md\n- Ports are odd.")


def test_a_system_prompt_gets_one_note_however_often_it_is_folded():
    messages = [{"role": "system", "content": "You help."}, *long()]
    once = midfold.compress(messages, max_tokens=9_000).messages
    twice = midfold.compress([*once, *long()], max_tokens=9_000).messages
    remembering = [{**once[0], "content": f"# MEMORY.md\n{once[0]['content']}"}, *once[1:], *long()]
    again = midfold.compress(remembering, max_tokens=9_000).messages
    assert [str(found[0]["content"]).count("[Note:") for found in (once, twice, again)] == [1, 1, 1]


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
    assert "## Goal (noted)\nSeen" in result.summary


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


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_a_ceiling_is_counted_as_the_dialect_or_the_model_counts(dialect):
    """An Anthropic list goes to Claude, whose tokens are shorter: a ceiling in other tokens is none."""
    messages = transcript(dialect, turns=60, result_chars=3_000, last="Run the tests.")
    own = TokenCounter("claude-sonnet-4-5" if dialect == "anthropic" else None)
    result = midfold.compress(messages, max_tokens=20_000)
    assert 19_000 < result.tokens_after <= 20_000
    assert sum(map(own, parse(result.messages, dialect))) == result.tokens_after
    for model in ("claude-sonnet-4-5", "openai/gpt-5-mini", "deepseek-chat"):
        counted = midfold.compress(messages, max_tokens=20_000, model=model)
        assert sum(map(TokenCounter(model), parse(counted.messages, dialect))) <= 20_000


def test_an_engine_without_a_model_counts_as_its_dialect_does():
    messages = transcript("anthropic", turns=10)
    counted = sum(map(TokenCounter("claude"), parse(messages)))
    engine = midfold.ContextCompressor(200_000)
    assert engine.estimate(messages) == counted
    assert midfold.ContextCompressor(200_000, model="gpt-5").estimate(messages) < counted


def test_a_conversation_that_turns_out_to_be_for_claude_is_counted_anew():
    messages = transcript("anthropic", turns=10)
    plain = [{"role": "user", "content": "Look at the meters."}, {"role": "assistant", "content": "I will."}]
    engine = midfold.ContextCompressor(200_000)
    engine.estimate(plain)
    engine.update_from_response({"prompt_tokens": 20, "completion_tokens": 1})
    assert engine.estimate([*plain, *messages]) == sum(
        map(TokenCounter("claude"), parse([*plain, *messages]))
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "expected a list of messages, found"),
        ("Hello", "expected a list of messages, found"),
        ({"model": "gpt-5", "messages": []}, "compress_request takes it"),
        (7, "expected a list of messages, found"),
    ],
)
def test_what_is_no_list_of_messages_is_said_in_one_line(given, words):
    with pytest.raises(midfold.UnknownDialect) as refused:
        midfold.compress(given, max_tokens=5_000)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_async_summariser_is_for_acompress():
    async def summarize(request):
        return "never"

    class Summarizer:
        async def __call__(self, request):
            return "never"

    for each in (summarize, Summarizer()):
        with pytest.raises(ConfigError, match="acompress awaits"):
            midfold.compress(long(), max_tokens=5_000, summarizer=each)


BODY_FIELDS = {
    "openai_chat": {"model": "gpt-5", "temperature": 0.2},
    "anthropic": {"model": "claude-sonnet-4-5", "max_tokens": 1_000, "system": "Be brief."},
    "openai_responses": {"model": "gpt-5", "instructions": "Be brief."},
}


@pytest.mark.parametrize("dialect", sorted(BODY_FIELDS))
def test_a_whole_request_comes_back_with_fewer_messages(dialect):
    key = DIALECTS[dialect].message_fields[0]
    body = {**BODY_FIELDS[dialect], key: long(dialect), "stream": True}
    before = json.dumps(body)
    shorter = midfold.compress_request(body, max_tokens=6_000)
    assert json.dumps(body) == before
    assert list(shorter) == list(body)
    assert {name: value for name, value in shorter.items() if name != key} == {
        name: value for name, value in body.items() if name != key
    }
    assert len(shorter[key]) < len(body[key])
    counted = sum(map(TokenCounter(body["model"]), parse(shorter[key], dialect)))
    assert counted <= 6_000
    assert midfold.compress_request(shorter, max_tokens=6_000) == shorter


def test_what_is_no_request_body_is_said_in_one_line():
    for odd in (None, [], long(), "text", {}, {"model": "gpt-5"}):
        with pytest.raises(midfold.DialectError) as refused:
            midfold.compress_request(odd, max_tokens=6_000)
        assert "\n" not in str(refused.value)


def test_a_misspelled_option_names_the_one_that_is_meant():
    with pytest.raises(ConfigError, match="expected the option max_tokens"):
        midfold.compress([{"role": "user", "content": "hi"}], max_token=900)  # type: ignore[call-arg]
