"""Data sets spell the speakers of ShareGPT turns in many ways; all of them are understood."""

import pytest

from midfold.wire import parse


@pytest.mark.parametrize(
    ("speaker", "role"),
    [
        ("System", "system"),
        ("USER", "user"),
        ("Human", "user"),
        ("GPT", "assistant"),
        ("bard", "assistant"),
        ("Tool", "tool"),
        ("function", "tool"),
        ("ipython", "tool"),
        ("narrator", "narrator"),
    ],
)
def test_a_speaker_is_known_by_any_of_its_names(speaker: str, role: str) -> None:
    [message] = parse([{"from": speaker, "value": "words"}], "sharegpt")
    assert message.role == role


def test_a_call_and_its_result_are_told_by_their_speakers() -> None:
    call, result = parse(
        [
            {"from": "tool_call", "value": '{"name": "look", "arguments": {"at": "map"}}'},
            {"from": "ipython", "value": "a harbour"},
        ],
        "sharegpt",
    )
    assert [each.name for each in call.calls] == ["look"]
    assert [each.text for each in result.results] == ["a harbour"]
