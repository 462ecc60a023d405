"""When to compress: tiers, warnings, and a brake that reopens."""

import pytest

from midfold.folding import CompressionPolicy
from midfold.folding.pressure import (
    Tier,
    advise,
    decide,
    is_paused,
    note_outcome,
    pause_notice,
    reopen,
    tier_of,
    warn,
)
from midfold.folding.state import CompressionState

POLICY = CompressionPolicy(context_length=200_000)
FRESH = CompressionState()


def vain(state, tokens=120_000):
    return note_outcome(state, effective=False, is_fold=False, tokens=tokens)


def at_turn(state, turn):
    return CompressionState(**{**{f: getattr(state, f) for f in state.__slots__}, "turn": turn})


@pytest.mark.parametrize(
    ("percent", "tier"),
    [(64.9, Tier.CALM), (65, Tier.NOTED), (75, Tier.LARGE), (85, Tier.COMPRESS), (95, Tier.EMERGENCY)],
)
def test_tiers_start_at_their_share_of_the_window(percent, tier):
    assert tier_of(int(percent * 1000), 100_000) is tier


def test_an_unknown_window_is_calm():
    assert tier_of(1_000_000, 0) is Tier.CALM


def test_the_threshold_fires_when_it_is_reached():
    assert not decide(99_999, POLICY, FRESH).compress
    assert decide(100_000, POLICY, FRESH).compress


def test_a_high_threshold_does_not_keep_the_85_percent_tier_from_compressing():
    policy = CompressionPolicy(context_length=200_000, threshold=1.0)
    assert policy.threshold_tokens == 170_000
    assert decide(170_000, policy, FRESH).compress


def test_two_vain_passes_pause_and_growth_reopens():
    state = vain(vain(FRESH))
    assert not decide(120_000, POLICY, state).compress
    assert "saved too little" in pause_notice(state)
    later = at_turn(state, 11)
    assert not decide(143_000, POLICY, later).compress
    assert decide(144_000, POLICY, later).compress


def test_never_more_than_two_vain_passes_in_ten_turns_however_it_grows():
    state = vain(at_turn(vain(FRESH, 100_000), 1), 120_000)
    assert is_paused(169_000, at_turn(state, 9))
    assert not is_paused(169_000, at_turn(state, 12))


def test_an_effective_pass_clears_the_brake():
    assert note_outcome(vain(FRESH), effective=True, is_fold=True, tokens=50_000) == CompressionState(
        count=1, folds=1, last_pass_turn=0
    )


def test_after_a_vain_pass_the_next_one_comes_three_turns_later_at_the_earliest():
    state = vain(FRESH, 110_000)
    decisions = [decide(120_000, POLICY, at_turn(state, turn)).compress for turn in range(5)]
    assert decisions == [False, False, False, True, True]


def test_after_an_effective_pass_the_next_one_may_come_in_the_next_turn():
    folded = note_outcome(FRESH, effective=True, is_fold=True, tokens=50_000)
    assert not decide(120_000, POLICY, at_turn(folded, 0)).compress
    assert all(decide(120_000, POLICY, at_turn(folded, turn)).compress for turn in (1, 2))


def test_where_room_is_short_only_a_vain_pass_holds_up_the_next_one():
    folded = note_outcome(FRESH, effective=True, is_fold=True, tokens=50_000)
    assert decide(172_000, POLICY, at_turn(folded, 1)).compress
    assert not decide(172_000, POLICY, at_turn(vain(FRESH, 110_000), 1)).compress


def test_after_an_undo_the_notice_says_that_and_not_that_passes_were_vain():
    notice = pause_notice(CompressionState(count=1, paused_at_tokens=120_000))
    assert "was taken back" in notice
    assert "grown by a fifth" in notice
    assert "saved too little" not in notice


def test_a_manual_command_lifts_the_pause():
    assert decide(120_000, POLICY, reopen(vain(vain(FRESH)))).compress


def test_an_emergency_ignores_the_pause_once_a_turn():
    state = vain(vain(FRESH))
    assert not decide(195_000, POLICY, state).compress
    decision = decide(195_000, POLICY, at_turn(state, 1))
    assert decision.compress
    assert decision.is_emergency


def test_the_approach_warning_is_shown_once_and_cleared_when_usage_drops():
    policy = CompressionPolicy(context_length=100_000)
    words, state = warn(54_400, policy, FRESH)
    assert words == "Context at 85% of the compression threshold: 54,400 of 64,000 tokens"
    assert warn(60_000, policy, state) == (None, state)
    _, cleared = warn(20_000, policy, state)
    assert warn(55_000, policy, cleared)[0] is not None


def test_the_second_fold_brings_advice():
    assert advise(CompressionState(folds=1)) is None
    assert "folded 2 times" in advise(CompressionState(folds=2))
