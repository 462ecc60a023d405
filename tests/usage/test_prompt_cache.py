"""Prompt caching in use: who gets breakpoints, what the cache brought, and why it went cold."""

from decimal import Decimal
from typing import Any

import pytest

from midfold.errors import ConfigError
from midfold.usage import Cause, PromptCache
from midfold.usage.prompt_cache import digest_request
from midfold.wire.cache_control import apply_cache_control, count_markers

SONNET = "claude-sonnet-4-5"
SYSTEM = "be brief"
TOOLS = [{"name": "read", "input_schema": {}}]
WARM = {"input_tokens": 5, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": 1_000}
COLD = {"input_tokens": 5, "cache_creation_input_tokens": 21_000}
HALF = {"input_tokens": 5, "cache_read_input_tokens": 4_000, "cache_creation_input_tokens": 17_000}


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> PromptCache:
    return PromptCache(SONNET, "anthropic", clock=clock)


def talk(turns: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": f"words {number}"} for number in range(turns)]


def test_claude_on_the_native_api_gets_four_breakpoints(cache: PromptCache) -> None:
    messages, system = cache.mark(talk(9), SYSTEM, TOOLS)
    assert cache.is_on
    assert count_markers(messages, system, TOOLS) == 4


def test_results_carry_no_marker_of_their_own_on_openrouter(clock: Clock) -> None:
    cache = PromptCache(f"anthropic/{SONNET}", "openrouter", clock=clock)
    messages = [*talk(1), {"role": "tool", "tool_call_id": "c", "content": "found"}]
    marked, _ = cache.mark(messages)
    assert [count_markers([message]) for message in marked] == [1, 0]


@pytest.mark.parametrize(("model", "route"), [("gpt-5", "openai"), (SONNET, "bedrock"), ("my-own", "local")])
def test_others_are_sent_as_they_are(clock: Clock, model: str, route: str) -> None:
    cache, messages = PromptCache(model, route, clock=clock), talk(5)
    marked, system = cache.mark(messages, SYSTEM, TOOLS)
    assert not cache.is_on
    assert all(new is old for new, old in zip(marked, messages, strict=True))
    assert system is SYSTEM


def test_a_ttl_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match="cache_ttl"):
        PromptCache(SONNET, "anthropic", ttl="2h")


@pytest.mark.parametrize(
    ("model", "route", "ttl", "line"),
    [
        (SONNET, "anthropic", "5m", "prompt caching on: Claude via the native API, kept for 5m"),
        (SONNET, "openrouter", "1h", "prompt caching on: Claude via OpenRouter, kept for 1h"),
        ("gpt-5", "openai", "5m", "prompt caching off: gpt-5 caches unchanged beginnings by itself"),
        ("my-own", "local", "5m", "prompt caching off: not known for my-own via local"),
    ],
)
def test_the_status_says_on_or_off_route_and_ttl(model: str, route: str, ttl: str, line: str) -> None:
    assert PromptCache(model, route, ttl=ttl).status == line


def test_hit_rate_and_savings_add_up(cache: PromptCache) -> None:
    for report in (COLD, WARM):
        cache.mark(talk(3), SYSTEM)
        cache.observe(report)
    seen = cache.seen
    assert seen.hit_rate == 20_000 / 42_010
    assert seen.saved is not None
    # 22,000 written at 3.75 for 3, and 20,000 read at 0.30
    assert seen.saved * 1_000_000 == 20_000 * Decimal("2.70") - 22_000 * Decimal("0.75")
    assert cache.status.endswith("hit rate 48%")


def ask(cache: PromptCache, report: dict[str, int], messages: Any = None, **request: Any) -> Any:
    folds = request.pop("folds", 0)
    cache.mark(messages or talk(5), request.get("system", SYSTEM), request.get("tools", TOOLS), folds=folds)
    return cache.observe(report)


def test_a_warm_cache_is_no_bust(cache: PromptCache) -> None:
    assert ask(cache, WARM) is None
    assert ask(cache, {**WARM, "cache_read_input_tokens": 20_800}, talk(7)) is None


def test_nothing_can_go_cold_that_was_never_warm(cache: PromptCache) -> None:
    assert ask(cache, {"input_tokens": 21_000}) is None
    assert ask(cache, {"input_tokens": 21_000}, talk(7)) is None


def test_a_fold_is_told_from_a_mere_change(cache: PromptCache) -> None:
    ask(cache, WARM)
    bust = ask(cache, HALF, talk(2), folds=1)
    assert (bust.cause, bust.lost_tokens) == (Cause.FOLD, 17_000)
    assert str(bust) == "fold: 17,000 tokens sent afresh"


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        ({"tools": []}, "tools"),
        ({"system": "be long"}, "system prompt"),
        ({"messages": [*talk(2), {"role": "user", "content": "other"}, *talk(5)[3:]]}, "message 2"),
        ({"messages": talk(3)}, "message 3"),
    ],
    ids=["tools", "system", "message", "shorter"],
)
def test_the_first_piece_that_changed_is_named(cache: PromptCache, request_: Any, what: str) -> None:
    ask(cache, WARM)
    bust = ask(cache, COLD, **request_)
    assert (bust.cause, bust.what) == (Cause.CHANGED, what)


def test_a_pause_longer_than_the_ttl_is_named_with_advice(cache: PromptCache, clock: Clock) -> None:
    ask(cache, WARM)
    clock.now += 660
    bust = ask(cache, COLD, talk(7))
    assert str(bust) == "expired (11 min after the last request, kept for 5m): 21,000 tokens sent afresh"
    assert cache.advice == (
        "the prompt cache expired once between requests; model.cache_ttl: 1h keeps it longer"
    )


def test_an_hour_s_cache_outlives_a_break(clock: Clock) -> None:
    cache = PromptCache(SONNET, "anthropic", ttl="1h", clock=clock)
    ask(cache, WARM)
    clock.now += 660
    assert ask(cache, COLD, talk(7)).cause is Cause.DROPPED
    assert cache.advice is None


def test_after_a_pause_a_change_is_the_cause_only_where_something_was_still_cached(
    cache: PromptCache, clock: Clock
) -> None:
    ask(cache, WARM)
    clock.now += 660
    assert ask(cache, HALF, system="be long").cause is Cause.CHANGED


def test_another_model_has_a_cache_of_its_own(cache: PromptCache) -> None:
    ask(cache, WARM)
    cache.use_model("claude-opus-4-5", "anthropic")
    bust = ask(cache, COLD)
    assert (bust.cause, bust.what) == (Cause.MODEL, f"{SONNET} to claude-opus-4-5")


def test_a_request_that_failed_is_passed_over(cache: PromptCache) -> None:
    ask(cache, WARM)
    cache.mark(talk(7), SYSTEM, TOOLS)
    assert ask(cache, {**WARM, "cache_read_input_tokens": 20_900}, talk(7)) is None


def test_markers_are_no_part_of_what_is_compared() -> None:
    messages, system = apply_cache_control(
        [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], SYSTEM
    )
    bare = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    marked_tools = [{**TOOLS[0], "cache_control": {"type": "ephemeral"}}]
    before, after = digest_request(bare, None, TOOLS), digest_request(messages, None, marked_tools)
    assert before.first_change(after) is None
    assert system != SYSTEM
