"""Credentials in the strings of JSON, where escapes stand for lines and letters."""

import json
import sys

import pytest

from midfold.redact import escaped_strings, redact
from midfold.store import open_store
from midfold.testing import transcript

SAID = [
    ("La contrase\u00f1a del muelle es gaviota7.", "gaviota7"),
    (
        "cat > secret.yaml <<'E'\nkind: Secret\nstringData:\n  berth: Moorhuhn-12-Strand\nE",
        "Moorhuhn-12-Strand",
    ),
    ('{"note": "La contrase\u00f1a es gaviota7."}', "gaviota7"),
]


@pytest.mark.parametrize(("said", "secret"), SAID)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_a_secret_in_escaped_arguments_is_found(said, secret, is_ascii):
    arguments = json.dumps({"command": said, "note": "keep\nthis"}, ensure_ascii=is_ascii)
    hidden = redact(arguments, key=b"k")
    assert secret not in hidden
    assert json.loads(hidden)["note"] == "keep\nthis"
    assert redact(hidden, key=b"k") == hidden


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"command": 'echo "two\nlines" \u00e9'}),
        '{"broken": "a\\nb"',
        "[" * 100_000 + "\\",
        '{"half": "\\ud800 \\n"}',
        "{} \\n",
    ],
)
def test_text_without_a_secret_comes_back_as_it_is(text):
    assert redact(text) == text


def test_a_store_keeps_no_secret_of_escaped_arguments(tmp_path):
    messages = transcript(turns=1)
    arguments = json.dumps({"command": SAID[0][0]})
    call = {"id": "c9", "type": "function", "function": {"name": "bash", "arguments": arguments}}
    messages += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c9", "content": "done"},
    ]
    store = open_store(tmp_path / "s.db")
    store.create_session(session_id="s", dialect="openai_chat")
    store.append("s", messages)
    assert "gaviota7" not in str([message.item for message in store.history("s")])
    store.close()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_secret_is_found_however_deep_it_lies(opening, closing):
    inner = json.dumps("two\nlines. La contrase\u00f1a es gaviota7.")
    assert "gaviota7" not in redact(opening * 600 + inner + closing * 600)


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_what_is_too_deep_for_a_parser_is_read_as_text(opening, closing):
    text = opening * 5_000 + '"two\\nlines"' + closing * 5_000
    assert redact(text) == text


def test_depth_costs_no_time_for_each_string():
    strings = ",".join(['"a\\n"'] * 2_000)
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        escaped_strings("[" * 400 + strings + "]" * 400)
    finally:
        sys.setprofile(before)
    assert calls < 10_000
