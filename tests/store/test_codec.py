"""Credentials in fields that only a reader of JSON makes out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.store.codec import hide_fields, pack_item, pack_value
from support.pace import is_linear

KEY = b"k" * 32
PASSWORD = "hunter2Xk9"
PAIR = {"name": "DB_PASSWORD", "value": PASSWORD}


def inside(value: object, levels: int) -> str:
    """Return JSON in a string of JSON in a string of JSON, and so on."""
    text = json.dumps(value)
    for _ in range(levels):
        text = json.dumps({"a": text})
    return text


@pytest.mark.parametrize("levels", range(7))
@pytest.mark.parametrize(
    "value",
    [
        {"password": PASSWORD},
        {"env": [PAIR]},
        {"env": [{"value": PASSWORD, "name": "DB_PASSWORD"}]},
        {"env": [{"Name": "DB_PASSWORD", "Type": "plain", "Value": PASSWORD}]},
        {"set": {"key": "api_secret", "value": "Zk3vQ9xT7mB2wL8n"}},
    ],
)
def test_a_password_is_hidden_at_any_depth_of_json(value: object, levels: int) -> None:
    packed = pack_item({"role": "tool", "content": inside(value, levels)}, KEY)
    assert packed.is_redacted
    assert not packed.is_exact
    assert PASSWORD not in packed.body
    assert "Zk3vQ9xT7mB2wL8n" not in packed.body
    content = json.loads(packed.body)["content"]
    for _ in range(levels):
        content = json.loads(content)["a"]
    assert "[REDACTED:" in json.dumps(json.loads(content))


@pytest.mark.parametrize(
    "content",
    [
        '{"p\\u0061ssword": "hunter2Xk9"}',
        'it said {"name": "DB_PASSWORD", "value": "hunter2Xk9"} and no more',
        json.dumps({"env": [PAIR]}, indent=2),
    ],
)
def test_a_password_is_hidden_however_its_name_is_spelled(content: str) -> None:
    assert PASSWORD not in pack_item({"role": "tool", "content": content}, KEY).body


def test_the_same_password_has_the_same_placeholder_in_all_of_them() -> None:
    packed = pack_value([{"password": PASSWORD}, PAIR, inside({"password": PASSWORD}, 4)], KEY)
    assert packed.count("[REDACTED:password:") == 3
    assert len({part[:4] for part in packed.split("[REDACTED:password:")[1:]}) == 1


@pytest.mark.parametrize(
    "item",
    [
        {"name": "colour", "value": "green"},
        {"env": [{"name": "PORT", "value": "8080"}, {"name": "HOME", "value": "/root"}]},
        {"content": inside({"title": "The value of \\u0061"}, 5)},
    ],
)
def test_what_is_no_secret_stays_letter_by_letter(item: object) -> None:
    packed = pack_item(item, KEY)
    assert json.loads(packed.body) == item
    assert packed.is_exact


def test_whoever_keeps_credentials_keeps_these() -> None:
    assert PASSWORD in pack_value(PAIR, None)


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["name", "value", "key", "a"]), inner),
)


@given(JSON, st.integers(0, 4))
def test_what_comes_out_is_always_json(value: object, levels: int) -> None:
    text = inside(value, levels)
    assert isinstance(json.loads(hide_fields(json.dumps(text), KEY)), type(text))


@pytest.mark.parametrize(
    "piece",
    ['"', '"name":"x",', '"value":"x",', "\\", '"name" ', '\\\\\\\\\\\\\\"a', '\\\\u0061"', '"value\\":'],
)
def test_time_grows_with_the_text_and_not_faster(piece: str) -> None:
    assert is_linear(lambda count: hide_fields(f'"value" {piece * count} \\\\u00', KEY), 16_000)
