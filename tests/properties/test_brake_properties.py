"""The brake holds for any course of a conversation, and always opens again."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from midfold.folding import CompressionPolicy
from midfold.folding.fold import Edit, Span
from midfold.folding.pressure import (
    INEFFECTIVE_LIMIT,
    VAIN_WINDOW_TURNS,
    Tier,
    decide,
    note_outcome,
    tier_of,
)
from midfold.folding.prune import prune
from midfold.folding.state import CompressionState
from midfold.messages import Media, Text, ToolResult
from midfold.testing import conversation

POLICY = CompressionPolicy(context_length=200_000)


@given(st.lists(st.integers(90_000, 189_000), min_size=1, max_size=80))
def test_never_more_than_two_vain_passes_in_ten_turns(sizes):
    state, attempts = CompressionState(), []
    for turn, tokens in enumerate(sizes):
        state = replace(state, turn=turn)
        if decide(tokens, POLICY, state).compress:
            attempts.append(turn)
            state = note_outcome(state, effective=False, is_fold=False, tokens=tokens)
    for turn in attempts:
        window = [other for other in attempts if turn <= other < turn + VAIN_WINDOW_TURNS]
        assert len(window) <= INEFFECTIVE_LIMIT


@given(st.integers(100_000, 150_000), st.integers(0, 5))
def test_growth_of_a_fifth_and_ten_turns_always_open_it_again(tokens, more_vain):
    state = CompressionState()
    for turn in range(INEFFECTIVE_LIMIT + more_vain):
        state = note_outcome(replace(state, turn=turn), effective=False, is_fold=False, tokens=tokens)
    later = replace(state, turn=state.turn + VAIN_WINDOW_TURNS + 1)
    grown = int(tokens * 1.2) + 1
    assert decide(grown, POLICY, later).compress


@given(st.lists(st.integers(190_000, 220_000), min_size=1, max_size=30))
def test_an_emergency_is_tried_once_a_turn_whatever_happened_before(sizes):
    state = CompressionState()
    for turn, tokens in enumerate(sizes):
        state = replace(state, turn=turn)
        assert tier_of(tokens, POLICY.context_length) is Tier.EMERGENCY
        assert decide(tokens, POLICY, state).compress
        state = note_outcome(state, effective=False, is_fold=False, tokens=tokens)
        assert not decide(tokens, POLICY, state).compress


@given(st.integers(0, 2**32))
def test_an_edit_that_takes_media_away_leaves_words(seed):
    messages = conversation(seed=seed, turns=6, images=True)
    pruned = prune(messages, Span(0, len(messages)))
    for edit in pruned.edits:
        assert isinstance(edit, Edit)
        for position, part in edit.parts:
            old = messages[edit.index].parts[position]
            if isinstance(old, Media) or (isinstance(old, ToolResult) and old.media):
                assert isinstance(part, Text | ToolResult)
                assert "image" in part.text
