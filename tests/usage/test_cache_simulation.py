"""Long sessions with many parallel calls against a simulated prompt cache: what they cost, and why."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import midfold
from midfold.tokens import CanonicalUsage, price
from midfold.usage import Bust, Cause, PromptCache
from midfold.wire.cache_control import strip_cache_control

MODEL = "claude-sonnet-4-5"
SYSTEM = "You are a careful engineer. " * 300
TOOLS = [{"name": f"tool_{n}", "description": "reads things " * 40, "input_schema": {}} for n in range(8)]
MARKER = {"type": "ephemeral"}
TURNS = 200

Turn = Callable[[random.Random, int, int], list[dict[str, Any]]]


def anthropic_turn(rng: random.Random, calls: int, turn: int) -> list[dict[str, Any]]:
    """A reply with parallel calls, and their results, in Anthropic's shape."""
    ids = [f"toolu_{turn}_{number}" for number in range(calls)]
    asked = [{"type": "tool_use", "id": call, "name": "tool_1", "input": {"n": rng.random()}} for call in ids]
    found = [{"type": "tool_result", "tool_use_id": call, "content": make_result(rng)} for call in ids]
    return [{"role": "assistant", "content": asked}, {"role": "user", "content": found}]


def openai_turn(rng: random.Random, calls: int, turn: int) -> list[dict[str, Any]]:
    """The same in OpenAI's shape: a message for each result."""
    ids = [f"call_{turn}_{number}" for number in range(calls)]
    asked = [
        {
            "id": call,
            "type": "function",
            "function": {"name": "tool_1", "arguments": f'{{"n":{rng.random()}}}'},
        }
        for call in ids
    ]
    found = [{"role": "tool", "tool_call_id": call, "content": make_result(rng)} for call in ids]
    return [{"role": "assistant", "content": None, "tool_calls": asked}, *found]


def make_result(rng: random.Random) -> str:
    return f"line {rng.random()} " * rng.randint(2, 14)


def mark_last_three(messages: list[Any], system: str, *_rest: Any, **_more: Any) -> tuple[list[Any], Any]:
    """Mark the system prompt and the last three messages, whatever a turn holds: what others do."""
    newest = [{**message, "cache_control": MARKER} for message in messages[-3:]]
    return [*messages[:-3], *newest], [{"type": "text", "text": system, "cache_control": MARKER}]


class Session:
    """An agent's session: each turn is a request, marked and answered, and a fold where one is due."""

    def __init__(self, provider: Any, make_turn: Turn, *, fold_at: int | None = None) -> None:
        self.provider = provider
        self.make_turn = make_turn
        self.fold_at = fold_at
        self.now = 0.0
        self.cache = PromptCache(MODEL, "anthropic", clock=lambda: self.now)
        self.engine = midfold.ContextCompressor(200_000, model=MODEL)
        self.used: list[CanonicalUsage] = []
        self.busts: dict[int, Bust] = {}
        self.sent: list[list[Any]] = []
        self.folded_before: set[int] = set()

    def run(self, calls: Callable[[random.Random], int], *, mark: Any = None, turns: int = TURNS) -> None:
        rng = random.Random(7)
        messages: list[Any] = [{"role": "user", "content": "Go through all modules."}]
        for turn in range(turns):
            self.now += 20.0
            self.ask(messages, turn, mark or self.cache.mark)
            messages = messages + self.make_turn(rng, calls(rng), turn)
            if self.fold_at and self.used[-1].prompt_tokens > self.fold_at:
                messages = self.engine.compress(messages, self.used[-1].prompt_tokens)
                self.folded_before.add(turn + 1)

    def ask(self, messages: list[Any], turn: int, mark: Any) -> None:
        marked, system = mark(messages, SYSTEM, TOOLS, folds=len(self.folded_before))
        body = {"model": MODEL, "system": system, "tools": TOOLS, "messages": marked}
        reported = self.provider.ask(body, self.now)
        self.used.append(midfold.normalize_usage(reported))
        self.sent.append(marked)
        bust = self.cache.observe(reported)
        if bust is not None:
            self.busts[turn] = bust

    @property
    def part_of_uncached(self) -> float:
        """What the input cost, as a part of what it would have cost without a cache."""
        return float(
            sum(price(replace(used, output_tokens=0), MODEL).dollars or 0 for used in self.used)
            / sum(price(CanonicalUsage(used.prompt_tokens), MODEL).dollars or 0 for used in self.used)
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "turns"),
    [(lambda _: 1, TURNS), (lambda rng: rng.randint(1, 20), TURNS), (lambda _: 20, 80)],
    ids=["one", "any", "twenty"],
)
def test_a_long_session_with_caching_and_folds_costs_at_most_a_fifth(
    provider: Any, calls: Any, turns: int
) -> None:
    session = Session(provider, anthropic_turn, fold_at=100_000)
    session.run(calls, turns=turns)
    assert session.part_of_uncached <= 0.20
    assert session.cache.seen.hit_rate > 0.75


def test_a_session_in_openai_s_shape_costs_at_most_a_fifth(provider: Any) -> None:
    session = Session(provider, openai_turn)
    session.run(lambda rng: rng.randint(1, 20), turns=60)
    assert session.part_of_uncached <= 0.20


def test_many_parallel_calls_do_not_put_the_cached_prefix_out_of_sight(provider: Any) -> None:
    """B23: markers on the last three messages alone re-write everything from eleven calls a turn on."""
    others, ours = Session(type(provider)(), openai_turn), Session(provider, openai_turn)
    others.run(lambda _: 12, mark=mark_last_three, turns=40)
    ours.run(lambda _: 12, turns=40)
    assert others.part_of_uncached > 1.0
    assert ours.part_of_uncached < 0.20
    assert ours.busts == {}


def test_between_folds_every_request_begins_with_the_bytes_of_the_one_before(provider: Any) -> None:
    session = Session(provider, anthropic_turn, fold_at=30_000)
    session.run(lambda rng: rng.randint(1, 20), turns=50)
    said = [json.dumps(strip_cache_control(sent)[0])[:-1] for sent in session.sent]
    assert session.folded_before
    for turn in range(1, len(said)):
        assert unmarked(said[turn]).startswith(unmarked(said[turn - 1])) != (turn in session.folded_before)


def unmarked(spelled: str) -> str:
    """A text that carries a marker is a list of one block; to the provider both are the same."""
    first = '"Go through all modules."'
    return spelled.replace(f'[{{"type": "text", "text": {first}}}]', first)


def test_every_fold_is_named_as_the_cause_and_nothing_else_goes_cold(provider: Any) -> None:
    session = Session(provider, anthropic_turn, fold_at=30_000)
    session.run(lambda rng: rng.randint(1, 20), turns=50)
    assert set(session.busts) == session.folded_before - {50}  # nothing was sent after the last turn
    assert {bust.cause for bust in session.busts.values()} == {Cause.FOLD}
