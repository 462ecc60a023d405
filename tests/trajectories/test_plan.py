"""What stays, what goes, and what is never parted."""

import pytest

from midfold.messages import pair_calls
from midfold.trajectories import CompressionConfig
from midfold.trajectories.plan import choose_groups, find_protected, group_turns
from midfold.wire import parse

CALL = 'Looking.\n<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'
RESPONSE = '<tool_response>\n{"name": "read", "content": "x = 1"}\n</tool_response>'
SAID = {"s": "Be brief.", "h": "Please go on.", "g": "Very well.", "c": CALL, "t": RESPONSE}
SPEAKERS = {"s": "system", "h": "human", "g": "gpt", "c": "gpt", "t": "tool"}
FEW = CompressionConfig(protect_last_turns=2)


def read(sketch):
    """Read a trajectory drawn as letters: system, human, gpt, gpt with a call, tool."""
    return parse([{"from": SPEAKERS[letter], "value": SAID[letter]} for letter in sketch], "sharegpt")


def group(messages, config=FEW):
    return group_turns(messages, pair_calls(messages), [10] * len(messages), config)


def groups_of(sketch, config=FEW):
    return group(read(sketch), config)


def spell(sketch, groups):
    """Draw groups as letters: protected ones in capitals."""
    drawn = [sketch[group.span.start : group.span.stop] for group in groups]
    return " ".join(
        text.upper() if group.is_protected else text for text, group in zip(drawn, groups, strict=True)
    )


@pytest.mark.parametrize(
    ("sketch", "groups"),
    [
        ("shctctctg", "S H CT ct CT G"),
        ("shctttctg", "S H CTTT CT G"),
        ("shgctctgh", "S H G CT ct G H"),
        ("shgtctgg", "S H GT ct G G"),
        ("shghgctctgg", "S H G h g CT ct G G"),
        ("gh", "G H"),
        ("c", "C"),
        ("", ""),
    ],
)
def test_calls_and_responses_make_groups_and_protection_covers_all_of_one(sketch, groups):
    assert spell(sketch, groups_of(sketch)) == groups


def test_parallel_calls_stay_with_all_their_responses():
    call = {"from": "gpt", "value": f"{CALL}\n{CALL}"}
    turns = [{"from": "human", "value": "Go."}, call, *[{"from": "tool", "value": RESPONSE}] * 2]
    groups = group(parse(turns, "sharegpt"))
    assert [(group.span.start, group.span.stop) for group in groups] == [(0, 1), (1, 4)]


def test_responses_that_the_user_hands_over_are_not_parted_from_their_calls():
    turns = [
        {"from": "human", "value": "Go."},
        {"from": "gpt", "value": CALL},
        {"from": "human", "value": RESPONSE},
        {"from": "gpt", "value": "Done."},
    ]
    groups = group(parse(turns, "sharegpt"))
    assert [(group.span.start, group.span.stop) for group in groups] == [(0, 1), (1, 3), (3, 4)]


@pytest.mark.parametrize("speaker", ["function", "ipython", "Tool", "observation", "sandbox", "Weird One"])
def test_response_is_not_parted_from_its_call_whoever_speaks_it(speaker):
    turns = [
        {"from": "System", "value": "Be brief."},
        {"from": "User", "value": "Go."},
        *[{"from": "Assistant", "value": CALL}, {"from": speaker, "value": "x = 1"}] * 3,
        {"from": "Assistant", "value": "Done."},
    ]
    groups = group(parse(turns, "sharegpt"))
    assert [group.span.stop for group in groups] == [1, 2, 4, 6, 8, 9]
    assert [group.is_protected for group in groups[:3]] == [True, True, True]


def test_somebody_unknown_who_answers_no_call_is_a_turn_like_any_other():
    turns = [{"from": speaker, "value": "Hello."} for speaker in ("human", "gpt", "narrator", "gpt")]
    assert len(group(parse(turns, "sharegpt"))) == 4


def test_call_that_cannot_be_read_keeps_its_response():
    turns = [
        {"from": "human", "value": "Go."},
        {"from": "gpt", "value": "<tool_call>\n{broken off"},
        {"from": "tool", "value": RESPONSE},
        {"from": "gpt", "value": "Done."},
    ]
    groups = group(parse(turns, "sharegpt"))
    assert [(group.span.start, group.span.stop) for group in groups] == [(0, 1), (1, 3), (3, 4)]


def test_question_about_a_tag_is_no_call():
    turns = [
        {"from": "human", "value": f"What does this mean? {CALL}"},
        {"from": "gpt", "value": "It calls."},
    ]
    assert len(group(parse(turns, "sharegpt"))) == 2


@pytest.mark.parametrize(
    ("key", "protected"),
    [
        ("protect_first_system", [1, 2, 3, 6]),
        ("protect_first_human", [0, 2, 3, 6]),
        ("protect_first_gpt", [0, 1, 3, 6]),
        ("protect_first_tool", [0, 1, 2, 6]),
    ],
)
def test_each_protection_can_be_turned_off(key, protected):
    config = CompressionConfig(protect_last_turns=1, **{key: False})
    assert sorted(find_protected(read("shctctg"), config)) == protected


@pytest.mark.parametrize(
    ("sketch", "tokens", "folded"),
    [
        ("shctctctctgg", 15, "ct"),
        ("shctctctctgg", 25, "ct ct"),
        ("shctctctctgg", 999, "ct ct ct"),
        ("shctgg", 5, ""),
        # A call made late protects itself, not all that was said before it.
        ("shghghghgctctgg", 15, "h g h"),
        # The user's next turn goes, too: two turns of the user in a row would be left.
        ("shctghghgctgg", 5, "g h"),
        # The answer to the first request stays, or the summary would follow that request.
        ("sghgctctctgg", 15, "ct"),
        # Where all is needed, it goes all the same.
        ("sghgctctctgg", 45, "g ct ct"),
    ],
)
def test_as_little_is_folded_as_it_takes(sketch, tokens, folded):
    chosen = choose_groups(groups_of(sketch), tokens)
    assert spell(sketch, chosen) == folded
