"""A client that sends its history again, with every habit there is: no fold is lost, none is paid for twice.

`Simulation.request` checks the promises; these tests choose what is sent, and look that enough happened.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from midfold.folding import CompressionPolicy, Strategy, Style
from midfold.testing import Defect
from support.clients import Habit, resend
from support.simulation import Summarizer, find_requests

DIALECTS = ("openai_chat", "anthropic", "openai_responses", "sharegpt")
# Habits that need fields which ShareGPT has not.
CHAT_ONLY = {Habit.DROPS_THINKING, Habit.MOVES_MARKERS, Habit.SWITCHES_BLOCKS, Habit.DUMPS_ARGUMENTS}
TIGHT = CompressionPolicy(context_length=6_000)
DEEP = 10


@pytest.mark.parametrize(
    ("dialect", "habit"),
    [(d, h) for d in DIALECTS for h in Habit if d != "sharegpt" or h not in {*CHAT_ONLY, Habit.EMPTY_PARTS}],
)
def test_no_habit_costs_a_fold(client, history, dialect, habit):
    items = history(dialect, seed=1, turns=7)
    with client(dialect, policy=TIGHT, summarize=Summarizer()) as one:
        for length in find_requests(items, dialect):
            one.request(items[:length], [habit])
    assert one.figures.folds >= 2
    assert one.figures.refolded > one.figures.folds


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dialect", "summarize"),
    [("openai_chat", Summarizer()), ("anthropic", None), ("openai_responses", Summarizer())],
)
def test_all_habits_together_ten_folds_deep(client, history, dialect, summarize):
    items = history(dialect, seed=2, turns=32, steps=1, result_chars=6_000, images=True)
    with client(dialect, policy=TIGHT, summarize=summarize) as one:
        for number, length in enumerate(find_requests(items, dialect)):
            if number % 5 == 0:
                one.restart()
            one.request(items[:length], Habit)
    assert one.figures.deepest >= DEEP


@pytest.mark.parametrize("dialect", DIALECTS[:3])
def test_empty_texts_in_the_blocks_of_results_cost_no_fold(client, history, dialect):
    items = resend(history(dialect, seed=1, turns=7, images=True), dialect, [Habit.SWITCHES_BLOCKS])
    with client(dialect, policy=TIGHT) as one:
        for length in find_requests(items, dialect):
            one.request(items[:length], [Habit.EMPTY_PARTS])
    assert one.figures.folds >= 2


@pytest.mark.parametrize(
    "defects", [Defect.UNANSWERED_CALL, Defect.ORPHAN_RESULT, Defect.DUPLICATE_ID, Defect.NUL]
)
@pytest.mark.parametrize("dialect", DIALECTS[:3])
def test_a_dirty_history_keeps_its_folds(client, history, dialect, defects):
    items = [
        *history(dialect, turns=3, defects=frozenset({defects})),
        *history(dialect, suffix="_b", turns=6),
    ]
    with client(dialect, policy=TIGHT) as one:
        for length in find_requests(items, dialect)[::2]:
            one.request(items[:length], [Habit.REWORDS_SYSTEM, Habit.SWITCHES_BLOCKS])
    assert one.figures.folds >= 2


shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "turns": st.integers(4, 8),
        "steps": st.integers(0, 3),
        "parallel": st.integers(1, 3),
        "result_chars": st.sampled_from([300, 3_000]),
        "thinking": st.booleans(),
        "images": st.booleans(),
        "system": st.booleans(),
        "defects": st.frozensets(st.sampled_from(sorted(Defect)), max_size=2),
    }
)
policies = st.builds(
    CompressionPolicy,
    context_length=st.sampled_from([5_000, 8_000]),
    strategy=st.sampled_from(list(Strategy)),
    style=st.sampled_from(list(Style)),
    protect_first_n=st.integers(0, 5),
    protect_last_n=st.sampled_from([1, 5, 20]),
    add_system_note=st.booleans(),
)


@pytest.mark.slow
@settings(max_examples=20)
@given(st.sampled_from(DIALECTS), shapes, policies, st.booleans(), st.data())
def test_any_habits_from_request_to_request(client, history, dialect, shape, policy, by_model, data):
    check_any_habits(client, history, dialect, shape, policy, by_model, data)


@pytest.mark.faults
def test_any_habits_from_request_to_request_many_times(client, history, rounds):
    settings(max_examples=rounds, derandomize=False)(
        given(st.sampled_from(DIALECTS), shapes, policies, st.booleans(), st.data())(
            lambda *drawn: check_any_habits(client, history, *drawn)
        )
    )()


def check_any_habits(client, history, dialect, shape, policy, by_model, data):
    items = history(dialect, **shape)
    habits = st.sets(st.sampled_from(sorted(Habit)))
    with client(dialect, policy=policy, summarize=Summarizer() if by_model else None) as one:
        for length in find_requests(items, dialect):
            one.request(items[:length], data.draw(habits))
