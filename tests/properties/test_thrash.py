"""A thousand turns of a conversation that will not shrink: few attempts, no loop, and no end of trying.

Whatever a conversation does, it cannot make an engine ask its summariser all the time.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from midfold.engines import ContextCompressor
from midfold.engines.prepared import Background
from midfold.folding import CompressionPolicy, Strategy
from midfold.folding.pressure import (
    INEFFECTIVE_LIMIT,
    REOPEN_GROWTH,
    SPACING_TURNS,
    VAIN_WINDOW_TURNS,
    Tier,
    pause_notice,
    tier_of,
)
from midfold.tokens import TokenCounter
from midfold.wire import parse
from midfold.wire.validate import validate

TURNS = 1_000
WINDOW = 100_000  # threshold 64,000, hard tier 85,000, emergency 95,000
SYSTEM = {"role": "system", "content": "Be brief."}


@dataclass(frozen=True)
class Attempt:
    turn: int
    tokens: int
    changed: bool

    @property
    def is_forced(self):
        """Whether it was made in an emergency, which knows no pause."""
        return tier_of(self.tokens, WINDOW) is Tier.EMERGENCY


class Scribe:
    """Summarises, and counts how often it is asked to."""

    def __init__(self):
        self.calls = 0

    def __call__(self, _request):
        self.calls += 1
        return "## Goal\n- Ship the tariff."


def at_once(work, report):
    """Do in the turn what a thread would do beside it, so that every run is the same."""
    report(work())


@dataclass
class Host:
    """Asks its engine before each request and does as it says, as often as it says so."""

    engine: ContextCompressor
    messages: list
    beside: int = 0
    """tokens that the provider sees and we do not: they cannot be folded"""
    attempts: list = field(default_factory=list)
    _sizes: dict = field(default_factory=dict)

    def run(self, say, turns=TURNS):
        """Let `say` add to the messages turn by turn; returns all attempts to compress them."""
        for number in range(turns):
            said = say(self, number)
            self.messages = [*self.messages, *said]
            for _ in range(5):
                if not self.engine.should_compress_preflight(self.messages):
                    break
                self.compress(number)
            else:
                raise AssertionError("it asks for one compression after another")
            self.engine.update_from_response({"prompt_tokens": self.count()})
        assert validate(self.messages, dialect="openai_chat") == []
        return self.attempts

    def compress(self, number):
        tokens = self.engine.estimate(self.messages)
        result = self.engine.compress_result(self.messages)
        assert result.tokens_after <= result.tokens_before
        self.attempts.append(Attempt(number, tokens, result.changed))
        self.messages = result.messages

    def count(self):
        for item in self.messages:
            if id(item) not in self._sizes:
                self._sizes[id(item)] = item, sum(map(COUNT, parse([item], "openai_chat")))
        return self.beside + sum(self._sizes[id(item)][1] for item in self.messages)


COUNT = TokenCounter()


def make_host(*messages, summarizer=None, system=SYSTEM, **policy):
    policy = CompressionPolicy(strategy=Strategy.FOLD, **policy)
    engine = ContextCompressor(WINDOW, policy=policy, summarizer=summarizer)
    # A turn takes two minutes, so that no rest lasts longer than one.
    engine._background = Background(launch=at_once, clock=lambda: engine.state.turn * 120.0)
    return Host(engine, [system, *messages])


def ask(tokens):
    return {"role": "user", "content": "word " * tokens}


def step(number, tokens):
    function = {"name": "read_file", "arguments": f'{{"path": "src/file{number}.py"}}'}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number} " + "word " * tokens},
    ]


def check_brake(attempts):
    """No more than two vain attempts in ten turns, and none within three turns of one, unless forced."""
    free = [attempt for attempt in attempts if not attempt.is_forced]
    vain = [attempt.turn for attempt in free if not attempt.changed]
    for turn in vain:
        assert len([other for other in vain if turn <= other < turn + VAIN_WINDOW_TURNS]) <= INEFFECTIVE_LIMIT
    after_vain = [(earlier, later) for earlier, later in pairwise(free) if not earlier.changed]
    assert all(later.turn - earlier.turn >= SPACING_TURNS for earlier, later in after_vain)
    assert all(later.turn > earlier.turn for earlier, later in pairwise(attempts))


REPLY = {"role": "assistant", "content": "I have read it."}
MOST_ATTEMPTS = TURNS * INEFFECTIVE_LIMIT // VAIN_WINDOW_TURNS


DENSE = {"role": "system", "content": "word " * 58_000}
"""What cannot be folded or cut; just below the size at which no fold is tried."""

HALF = {"role": "system", "content": "word " * 37_000}


def wait(_host, _number):
    return []


def test_few_messages_without_a_middle_are_looked_at_twice_in_ten_turns():
    attempts = make_host(ask(12_000), REPLY, system=DENSE).run(wait)
    check_brake(attempts)
    assert not any(attempt.changed for attempt in attempts)
    assert len(attempts) == MOST_ATTEMPTS


def test_tail_that_cannot_shrink_is_left_alone_after_two_attempts():
    done = [item for number in range(12) for item in step(number, 40)]
    scribe = Scribe()
    host = make_host(ask(12_000), *done, system=DENSE, summarizer=scribe)
    attempts = host.run(wait)
    check_brake(attempts)
    assert [attempt.changed for attempt in attempts] == [False, False]
    assert "pauses" in pause_notice(host.engine.state)
    assert scribe.calls <= 4


def test_pause_ends_when_the_conversation_has_grown_by_a_fifth():
    def grow(host, _number):
        host.beside += 25
        return []

    done = [item for number in range(12) for item in step(number, 40)]
    host = make_host(*done, ask(10), {"role": "assistant", "content": "word " * 28_000}, system=HALF)
    attempts = host.run(grow)
    check_brake(attempts)
    _first, second, third, *_ = attempts
    assert third.tokens >= second.tokens * REOPEN_GROWTH > third.tokens - 1_000
    assert len([attempt for attempt in attempts if not attempt.is_forced]) < 10


@pytest.mark.slow
def test_steps_of_an_agent_are_folded_when_there_are_enough_of_them():
    scribe = Scribe()
    host = make_host(ask(54_000), REPLY, summarizer=scribe)
    attempts = host.run(lambda _host, number: step(number, 100))
    check_brake(attempts)
    effective = [attempt for attempt in attempts if attempt.changed]
    assert len(effective) >= 5
    assert scribe.calls <= 2 * len(attempts) < TURNS // 5


@pytest.mark.slow
def test_one_giant_turn_passes_and_is_folded_like_any_other():
    def say(_host, number):
        return [ask(58_000), REPLY] if number == 20 else [ask(60), REPLY]

    host = make_host()
    attempts = host.run(say)
    check_brake(attempts)
    assert any(attempt.changed for attempt in attempts)
    assert host.count() < WINDOW // 2
    assert len(attempts) < 20


@pytest.mark.slow
def test_giant_turns_one_after_another_make_no_loop():
    attempts = make_host().run(lambda _host, number: [ask(9_000 if number % 9 == 0 else 5), REPLY])
    check_brake(attempts)
    assert all(attempt.changed for attempt in attempts)


@pytest.mark.slow
def test_summariser_with_a_small_window_is_asked_in_pieces_and_not_for_ever():
    scribe = Scribe()
    attempts = make_host(summarizer=scribe, summarizer_window=12_000).run(
        lambda _host, number: [ask(20), *step(number, 100)]
    )
    check_brake(attempts)
    folds = sum(attempt.changed for attempt in attempts)
    most_pieces = WINDOW // 6_000
    assert folds >= 3
    assert folds < scribe.calls < folds * most_pieces
