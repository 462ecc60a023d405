"""The room of a ceiling is split by how much there is: notes first where it is little."""

from hypothesis import given
from hypothesis import strategies as st

from midfold.folding.shares import prefers_notes, tail_share


def test_the_newest_messages_get_more_of_a_wide_ceiling_than_of_a_narrow_one():
    fortieth, tenth, fifth = (tail_share(100_000 // part, 100_000) for part in (40, 10, 5))
    assert fortieth < tenth < fifth


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_wider_ceiling_never_means_fewer_tokens_for_the_newest_messages(one, other, before):
    narrow, wide = sorted((one, other))
    assert narrow * tail_share(narrow, before) <= wide * tail_share(wide, before)


def test_a_tail_never_takes_more_than_a_third():
    assert tail_share(10, 0) <= 1 / 3


def test_notes_are_preferred_to_stubs_only_where_room_is_short():
    assert prefers_notes(20_000, 100_000)
    assert not prefers_notes(50_000, 100_000)
