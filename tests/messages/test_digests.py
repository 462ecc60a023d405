"""Digests: what clients change on the way is not covered, what is said is."""

import pytest

from midfold.messages import (
    SILENT,
    Media,
    Message,
    Opaque,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    chain_digests,
    digest,
    digest_messages,
    own_digest,
)

SAID = [
    Message("user", (Text("a"),)),
    Message("assistant", (Text("a"),)),
    Message("user", (Text("a"), Text("b"))),
    Message("user", (Text("ab"),)),
    Message("assistant", (ToolCall("c1", "read", "{}"),)),
    Message("assistant", (ToolCall("c2", "read", "{}"),)),
    Message("assistant", (ToolCall("c1", "write", "{}"),)),
    Message("assistant", (ToolCall("c1", "read", '{"a": 1}'),)),
    Message("assistant", (ToolCall("c1", "read", '{"a": "1"}'),)),
    Message("assistant", (ToolCall("c1", "read", '{"a": 1.5}'),)),
    Message("assistant", (ToolCall("c1", "read", '{"a": 1e999}'),)),
    Message("assistant", (ToolCall("c1", "read", '{"a": [1]}'),)),
    Message("assistant", (ToolCall("c1", "read", '{"a": null}'),)),
    Message("assistant", (ToolCall("c1", "read", "[1]"),)),
    Message("assistant", (ToolCall("c1", "read", "{broken"),)),
    Message("tool", (ToolResult("c1", "ok"),)),
    Message("tool", (ToolResult("c1", "ok", media=(Media("image", "image/png", "AA=="),)),)),
    Message("user", (Media("image", "image/png", "AA=="),)),
    Message("user", (Media("image", "image/png", "AB=="),)),
    Message("assistant", (Opaque("web_search", '{"q":1}'),)),
]


def test_messages_that_say_different_things_have_different_digests():
    digests = [digest(message) for message in SAID]
    assert len(set(digests)) == len(SAID)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((Text("a"),), (Text("a"), Text(""))),
        ((Text("a"),), (Reasoning("hm", "sig"), Text("a"))),
        ((ToolCall("c", "t", '{"a": 1, "b": "x"}'),), (ToolCall("c", "t", '{"b":"x","a":1}'),)),
        ((ToolCall("c", "t", '{"a": {"y": 1, "x": 2}}'),), (ToolCall("c", "t", '{"a": {"x": 2,"y": 1}}\n'),)),
        ((ToolCall("c", "t", '{"a": "\\u00e9"}'),), (ToolCall("c", "t", '{"a": "é"}'),)),
        ((ToolCall("c", "t", '{"a": 1.0, "b": [1e2]}'),), (ToolCall("c", "t", '{"a": 1, "b": [100]}'),)),
        ((ToolResult("c", "ok"),), (ToolResult("c", "ok", is_error=True, name="t"),)),
        ((Media("image", "image/png", "AA=="),), (Media("image", "", "AA==", "low"),)),
    ],
)
def test_what_clients_change_on_the_way_is_not_covered(one, other):
    assert digest(Message("assistant", one)) == digest(Message("assistant", other))


def test_thinking_alone_says_nothing():
    assert digest(Message("assistant", (Reasoning("hm", "sig"),))) is None


def test_a_chain_survives_dropped_thinking():
    full = [SAID[0], Message("assistant", (Reasoning("hm"),)), SAID[4]]
    assert chain_digests(full)[2] == chain_digests([SAID[0], SAID[4]])[1]


def test_a_chain_depends_on_everything_before():
    assert chain_digests(SAID[:3])[2] != chain_digests(SAID[1:3])[1]


def test_a_chain_can_be_continued_from_its_last_link():
    digests = list(digest_messages(SAID))
    assert list(digest_messages(SAID[5:], digests[:5])) == digests[5:]
    assert [each.chained for each in digests] == chain_digests(SAID)


def test_a_reworded_system_prompt_breaks_no_chain():
    told = Message("system", (Text("Today is Monday."),))
    reworded = Message("system", (Text("Today is Tuesday."),))
    assert chain_digests([told, *SAID])[-1] == chain_digests([reworded, *SAID])[-1]
    assert chain_digests([told, *SAID])[-1] == chain_digests(SAID)[-1]


def test_a_system_message_in_the_middle_is_part_of_the_chain():
    notice = Message("system", (Text("the file changed"),))
    assert chain_digests([*SAID, notice])[-1] != chain_digests(SAID)[-1]


def test_every_message_that_says_nothing_has_the_silent_digest():
    thought = Message("assistant", (Reasoning("hm"),))
    assert own_digest(thought) == own_digest(Message("assistant", (Text(""),))) == SILENT
    assert thought.is_silent


def test_lone_surrogates_and_deep_arguments_are_digested():
    odd = Message("assistant", (Text("\ud83d"), ToolCall("c", "t", "[" * 5000)))
    assert digest(odd) is not None
