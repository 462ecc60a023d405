"""A state comes back from JSON as it was, and what is damaged in it is as at the beginning."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.folding.state import CompressionState, state_from_json, state_to_json

NUMBERS = st.integers(0, 10**9)
STATES = st.builds(
    CompressionState,
    count=NUMBERS,
    folds=NUMBERS,
    ineffective=NUMBERS,
    paused_at_tokens=st.none() | NUMBERS,
    turn=NUMBERS,
    last_pass_turn=st.none() | NUMBERS,
    vain_turns=st.lists(NUMBERS, max_size=3).map(tuple),
    is_warned=st.booleans(),
    pins=st.lists(st.text(), max_size=3).map(tuple),
    unpinned=st.frozensets(st.text(), max_size=3),
)


@given(STATES)
def test_a_state_comes_back_as_it_was(state):
    assert state_from_json(json.loads(json.dumps(state_to_json(state)))) == state


@pytest.mark.parametrize("damaged", [None, 7, [], "words", {"count": "many", "pins": {"a": 1}, "turn": -3}])
def test_what_cannot_be_read_is_as_at_the_beginning(damaged):
    assert state_from_json(damaged) == CompressionState()


def test_what_can_be_read_is_kept():
    found = state_from_json({"count": None, "pins": ["Only metric units.", 7], "unknown": 1})
    assert found == CompressionState(pins=("Only metric units.",))
