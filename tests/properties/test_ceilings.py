"""A hard ceiling is met where that is possible, and asking for less never gives more."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from midfold.folding import CompressionPolicy
from midfold.folding.flow import compress
from midfold.folding.run import run
from midfold.messages import Message, Text
from midfold.testing import Defect, transcript
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, parse, render
from midfold.wire.validate import find_errors

COUNT = TokenCounter()
WORDS = "The tariff of zone {n} is {n}.50 and was set in src/tariffs/zone_{n}.py on day {n}.\n"

dialects = st.sampled_from(sorted(DIALECTS))
shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "turns": st.integers(1, 8),
        "steps": st.integers(0, 4),
        "parallel": st.integers(0, 3),
        "result_chars": st.sampled_from([0, 300, 4000]),
        "system": st.booleans(),
        "thinking": st.booleans(),
        "images": st.booleans(),
        "last": st.sampled_from([None, "run the tests", "go on"]),
        "defects": st.frozensets(st.sampled_from(sorted(Defect))),
    }
)
ladders = st.lists(st.integers(50, 6_000), min_size=2, max_size=6, unique=True)


def fold_to(messages, most, overhead=0):
    flow = compress(
        messages, policy=CompressionPolicy(max_tokens=most), count=COUNT, overhead_tokens=overhead
    )
    return run(flow, None)


def check(messages, ladder, overhead=0):
    """Fold to every ceiling; return the results, the largest ceiling first."""
    results = [fold_to(messages, most, overhead) for most in sorted(ladder, reverse=True)]
    sizes = [result.tokens_after for result in results]
    assert all(below <= above for above, below in pairwise(sizes)), sizes
    for result in results:
        assert result.tokens_after == overhead + sum(map(COUNT, result.messages))
        assert result.over_budget == (result.tokens_after > result.budget_tokens)
        # What another of them could do, all of them can.
        assert not result.over_budget or min(sizes) > result.budget_tokens
        assert not result.over_budget or result.warning or not result.changed
    return results


@pytest.mark.slow
@given(dialects, shapes, ladders, st.sampled_from([0, 400]))
def test_asking_for_less_never_gives_more(dialect, shape, ladder, overhead):
    items = transcript(dialect, **shape)
    faults = len(find_errors(items, dialect=dialect))
    for result in check(parse(items, dialect), ladder, overhead):
        assert len(find_errors(render(result.messages, dialect), dialect=dialect)) <= faults


@pytest.mark.slow
@given(dialects, shapes, st.integers(300, 4_000))
def test_neighbouring_ceilings_are_in_order_too(dialect, shape, most):
    check(parse(transcript(dialect, **shape), dialect), range(most, most + 24, 3))


def paste(lines, role="user"):
    return Message(role, (Text("".join(WORDS.format(n=n) for n in range(lines)) + "What does it cost?"),))


SHORT = st.lists(
    st.sampled_from(
        [paste(600), paste(3), Message("assistant", (Text("It costs 4.50."),)), paste(200, "assistant")]
    ),
    min_size=0,
    max_size=3,
).map(lambda before: [*before, paste(400)])


@given(SHORT, ladders)
@example([paste(400)], [500, 1_000, 2_000, 4_000])
def test_lists_of_up_to_four_messages_come_down_too(messages, ladder):
    for result in check(messages, ladder):
        assert not result.over_budget or result.budget_tokens < 700
        assert result.messages[-1].text.endswith("What does it cost?")


def test_a_paste_that_was_cut_names_the_message_that_has_it():
    result = fold_to([paste(600)], 1_000)
    assert result.tokens_after > 900
    assert "characters of message [0] cut" in result.messages[0].text
    assert result.find("zone_300.py")
    assert result.restore() == [None]
