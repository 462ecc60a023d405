"""The prompt cache of an agent: marked as `PromptCache` marks, however long it is; told when it goes cold."""

import pytest

from midfold.agent import Notice, Topic
from midfold.agent.prompt_cache import ConversationCache
from midfold.errors import ProviderError
from midfold.providers.summarizers import ModelRef
from midfold.testing import conversation
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.usage import Cause, PromptCache
from midfold.usage.prompt_cache import digest_request
from midfold.wire import convert
from support.pace import cpu_seconds

MODEL = "claude-sonnet-4-5"
SYSTEM = "You look after the meters."
ROUTES = (("anthropic", "anthropic"), ("openai_chat", "openrouter"))


def spelled(dialect, seed, turns):
    return convert(conversation(dialect, seed=seed, turns=turns), dialect).messages


@pytest.mark.parametrize(("dialect", "route"), ROUTES)
@pytest.mark.parametrize("seed", range(6))
def test_breakpoints_and_digests_are_those_of_the_whole_request(dialect, route, seed):
    items = spelled(dialect, seed, 12)
    growing = ConversationCache(MODEL, route, ttl="5m")
    for stop in range(1, len(items) + 1):
        whole = PromptCache(MODEL, route).mark(items[:stop], SYSTEM)
        assert growing.mark(items[:stop], SYSTEM) == whole
    assert growing._sent.prefix == digest_request(items, SYSTEM)


@pytest.mark.parametrize(("dialect", "route"), ROUTES)
@pytest.mark.parametrize("first", ["system", "developer"])
def test_a_system_prompt_among_the_messages_has_its_breakpoint_however_long_the_conversation(
    dialect, route, first
):
    items = [{"role": first, "content": SYSTEM}, *spelled(dialect, 1, 12)]
    growing = ConversationCache(MODEL, route, ttl="5m")
    for stop in range(1, len(items) + 1):
        assert growing.mark(items[:stop]) == PromptCache(MODEL, route).mark(items[:stop])


@pytest.mark.parametrize(("dialect", "route"), ROUTES)
@pytest.mark.parametrize("blank", ["", "  ", [], [{"type": "text", "text": ""}]])
def test_requests_without_words_carry_no_breakpoint_and_do_not_count(dialect, route, blank):
    empty = {"role": "user", "content": blank}
    items = [item for each in spelled(dialect, 2, 8) for item in (each, empty)]
    items += [empty] * 4
    growing = ConversationCache(MODEL, route, ttl="5m")
    assert growing.mark(items, SYSTEM) == PromptCache(MODEL, route).mark(items, SYSTEM)


NATIVE = ("local/claude-sonnet-4-5", "anthropic")
ROUTED = ("openrouter/anthropic/claude-sonnet-4.5", "openai_chat")
PLAIN = ("local/scripted", "openai_chat")
RESPONSES = ("local/scripted", "openai_responses")


@pytest.mark.parametrize(
    ("first", "second"), [(PLAIN, NATIVE), (RESPONSES, NATIVE), (NATIVE, ROUTED), (RESPONSES, ROUTED)]
)
def test_a_model_that_speaks_otherwise_than_the_session_gets_its_breakpoints(
    first, second, make_agent, play, faults_in
):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, model=first[0], api=first[1])
        play(agent, "The meter takes coins.")
        agent.set_model(ModelRef(second[0], up.url, None, second[1]))
        for _ in range(4):
            play(agent, "The meter takes cards.")
        session = agent.session_id
        agent.close()
        play(make_agent(up, model=second[0], api=second[1], session=session), "And notes?")
        assert agent.status().caching.startswith("on")
        assert [received.body.count(b'"cache_control"') for received in up.requests[1:]] == [4] * 5
        assert faults_in(up) == []


def test_markers_of_others_count_wherever_they_are():
    marked = {
        "role": "user",
        "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
    }
    items = [marked, *spelled("anthropic", 1, 12)]
    growing, whole = ConversationCache(MODEL, "anthropic", ttl="5m"), PromptCache(MODEL, "anthropic")
    assert growing.mark(items, SYSTEM) == whole.mark(items, SYSTEM)


def test_a_fold_is_told_from_a_mere_change():
    cache = ConversationCache(MODEL, "anthropic", ttl="5m")
    items = spelled("anthropic", 1, 6)
    cache.mark(items, SYSTEM)
    cache.observe({"input_tokens": 10, "cache_creation_input_tokens": 9_000})
    cache.mark([*items[:2], *items[6:]], SYSTEM, folds=1)
    bust = cache.observe({"input_tokens": 10, "cache_creation_input_tokens": 4_000})
    assert str(bust) == "fold: 9,000 tokens sent afresh"


def test_marking_costs_no_more_in_a_long_conversation():
    items = [*spelled("anthropic", 1, 150)]
    cache = ConversationCache(MODEL, "anthropic", ttl="5m")
    cache.mark(items, SYSTEM)

    def go_on():
        nonlocal items
        for _ in range(10):
            items = [*items, {"role": "user", "content": "next"}]
            cache.mark(items, SYSTEM)

    growing = min(cpu_seconds(go_on) for _ in range(5))
    assert growing < max(
        cpu_seconds(lambda: PromptCache(MODEL, "anthropic").mark(items, SYSTEM)) for _ in range(3)
    )


def test_a_cache_that_a_fold_made_cold_is_told_and_recorded(make_agent, play):
    warm = Reply("Noted.", usage=CanonicalUsage(10, 5, cache_read_tokens=20_000))
    cold = Reply("Noted.", usage=CanonicalUsage(4_000, 5))
    with Upstream([*[warm] * 8, cold, warm]) as up:
        agent = make_agent(up, model="local/claude-sonnet-4-5", api="anthropic")
        for _ in range(8):
            play(agent, "The meter at the harbour takes coins and cards. " * 90)
        assert agent.compress().changed
        events, status = play(agent, "Go on."), agent.status()
        [call] = agent.store.calls(agent.session_id)
        play(agent, "Go on.")
        assert not agent.status().is_cache_cold
    [notice] = [event.text for event in events if isinstance(event, Notice) and event.topic is Topic.CACHE]
    assert notice == "The prompt cache went cold: fold: 20,000 tokens sent afresh."
    assert (status.is_cache_cold, [bust.cause for bust in status.cache_busts]) == (True, [Cause.FOLD])
    assert call.facts["cache_bust"] == "fold"


def test_a_history_that_is_refused_however_it_is_spelled_stays_as_the_cache_has_it(make_agent, play):
    refusal = {"error": {"message": "messages.0.content.1.pdf.source: could not process PDF"}}
    with Upstream([Reply("Noted."), *[HttpStatus(400, refusal)] * 2], then=Reply("Noted.")) as up:
        agent = make_agent(up, model="local/claude-sonnet-4-5", api="anthropic")
        play(agent, "The meter takes coins.")
        with pytest.raises(ProviderError):
            play(agent, "Read this.")
        assert len(up.requests) == 3  # it was mended and tried again
    assert not agent._core.is_repaired
