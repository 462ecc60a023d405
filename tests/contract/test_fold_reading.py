"""What a fold wrote is read again as what it wrote, in every dialect: else no fold of it would be found."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from midfold.folding import CompressionPolicy, Strategy, Style
from midfold.folding.flow import compress
from midfold.folding.fold import apply
from midfold.folding.run import run
from midfold.folding.state import CompressionState
from midfold.messages import chain_digests
from midfold.pipeline import render_compression
from midfold.testing import Defect, transcript
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, Request, parse, render
from support.clients import Habit, resend

COUNT = TokenCounter()
ANSWER = "## Goal\nShip it.\n\n## Completed Actions\n1. Read the code\n"

shapes = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32),
        "turns": st.integers(3, 10),
        "parallel": st.integers(1, 3),
        "result_chars": st.sampled_from([300, 3_000]),
        "thinking": st.booleans(),
        "images": st.booleans(),
        "system": st.booleans(),
        "defects": st.frozensets(st.sampled_from(sorted(Defect)), max_size=3),
    }
)
policies = st.builds(
    CompressionPolicy,
    context_length=st.just(8_000),
    max_tokens=st.none() | st.integers(800, 4_000),
    strategy=st.sampled_from(list(Strategy)),
    style=st.sampled_from(list(Style)),
    protect_first_n=st.integers(0, 5),
    protect_last_n=st.sampled_from([1, 20]),
    add_system_note=st.booleans(),
)


UNANSWERED = {"seed": 2, "turns": 8, "result_chars": 3_000, "defects": frozenset({Defect.UNANSWERED_CALL})}
PRUNED = CompressionPolicy(context_length=8_000, strategy=Strategy.PRUNE)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@settings(max_examples=25)
@given(shapes, policies, st.booleans(), st.sets(st.sampled_from(sorted(Habit))))
@example(UNANSWERED, PRUNED, False, {Habit.DROPS_THINKING})
def test_a_folded_list_has_the_same_chain_once_it_was_sent(dialect, shape, policy, by_model, habits):
    items = transcript(dialect, **shape)
    flow = compress(parse(items, dialect), policy=policy, count=COUNT, use_model=by_model)
    result = render_compression(run(flow, lambda _: ANSWER), Request(dialect, items), CompressionState())
    if result.fold is None:
        return
    for sent in (items, resend(items, dialect, habits)):
        applied = apply(result.fold, parse(sent, dialect))
        assert chain_digests(parse(render(applied, dialect), dialect)) == chain_digests(applied)
