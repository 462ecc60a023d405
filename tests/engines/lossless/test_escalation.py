"""Whatever a model answers, a summary is smaller than what it stands for, and folding comes to an end."""

from threading import Event

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from midfold.engines import Patience
from midfold.engines.lossless import LosslessEngine
from midfold.errors import SummaryUnavailable
from midfold.folding import CompressionPolicy
from midfold.testing import transcript
from midfold.wire.validate import find_errors

KEY = b"a key of sixteen"
WORDS = st.text(st.sampled_from("ab 漢é\n#*-`<>[]0🙂"), max_size=300)
ANSWERS = st.one_of(
    WORDS,
    st.builds(lambda words, times: words * times, WORDS, st.integers(1, 200)),
    st.builds(lambda times: f"## Goal\n{'Mend the meters. ' * times}", st.integers(1, 3_000)),
    st.just(SummaryUnavailable("out of coins")),
)
SAID = st.lists(
    st.tuples(st.sampled_from(["user", "assistant", "assistant"]), st.integers(0, 300)),
    min_size=12,
    max_size=40,
)


def made_below(engine, result):
    """Return the summaries of a compression, each with the tokens of what it was made of."""
    known = engine.memory.graph.nodes
    for node in getattr(result, "nodes", ()):
        # A summary that the compressor made under a hard ceiling does not say what it was made of.
        if all(known[child].tokens for child in node.children):
            yield node, sum(known[child].tokens for child in node.children) or node.source_tokens


@settings(max_examples=10, deadline=None, derandomize=True, phases=[Phase.generate])
@given(SAID, st.lists(ANSWERS, min_size=1, max_size=6), st.integers(600, 12_000), st.booleans())
def test_each_level_is_smaller_than_the_one_below(said, answers, most_tokens, has_ceiling):
    asked = []

    def model(request):
        asked.append(request)
        answer = answers[len(asked) % len(answers)]
        if isinstance(answer, Exception):
            raise answer
        return answer

    policy = CompressionPolicy(tail_tokens=500)
    engine = LosslessEngine(10 * most_tokens, key=KEY, prepare_ahead=False, summarizer=model, policy=policy)
    items = [
        {"role": role, "content": f"{number}: {'The meter takes coins. ' * times}"}
        for number, (role, times) in enumerate(said)
    ]
    items.append({"role": "user", "content": "Go on."})
    for _ in range(3):
        result = engine.compress_result(items, most_tokens=most_tokens if has_ceiling else None)
        if result.changed:
            assert result.tokens_after < result.tokens_before
            assert not has_ceiling or result.over_budget or result.tokens_after <= most_tokens
        for node, below in made_below(engine, result):
            assert node.tokens < below
        items = [*result.messages, *items[:6], {"role": "user", "content": "And on."}]


BAD_ANSWERS = {
    "refuses": lambda _request: "I'm sorry, but I can't help with that.",
    "echoes": lambda request: request.prompt,
    "says nothing": lambda _request: " ",
    "says more than its source": lambda _request: f"## Goal\n{'Mend the meters by the sea. ' * 40_000}",
    "raises": lambda _request: 1 / 0,
}


@pytest.mark.slow
@pytest.mark.parametrize("answer", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_model_that_is_of_no_use_at_any_level_leaves_small_and_legal_summaries(answer):
    policy = CompressionPolicy(budget="fixed", tail_tokens=2_000)
    engine = LosslessEngine(200_000, key=KEY, prepare_ahead=False, summarizer=answer, policy=policy)
    items = transcript("openai_chat", turns=60, result_chars=2_000)
    for ceiling in (None, 2_400):
        result = engine.compress_result(items, most_tokens=ceiling)
        assert result.changed
        assert not find_errors(result.messages, dialect="openai_chat")
        assert result.tokens_after <= (ceiling or result.budget_tokens)
        for node, below in made_below(engine, result):
            assert node.tokens < below
        items = [*result.messages, *transcript("openai_chat", seed=5, turns=20, result_chars=2_000)]
    assert any(node.children for node in engine.memory.graph.nodes.values())


@pytest.mark.slow
def test_a_model_that_hangs_is_waited_for_no_longer_than_one_fold_may_take():
    released, asked = Event(), []

    def hang(request):
        asked.append(request)
        released.wait()
        return "too late"

    engine = LosslessEngine(
        200_000,
        key=KEY,
        prepare_ahead=False,
        summarizer=hang,
        policy=CompressionPolicy(budget="fixed", tail_tokens=2_000),
        patience=Patience(answer_seconds=0.02, fold_seconds=0.05),
    )
    result = engine.compress_result(transcript("openai_chat", turns=60, result_chars=2_000))
    released.set()
    assert result.changed
    assert len(asked) < len(result.nodes)
    assert "the built-in digest stands in" in result.warning
