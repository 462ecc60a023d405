"""Real conversations: whole ones pass, and each known defect is found where it is."""

import gzip
import json
import re

import pytest

from midfold.wire.validate import is_waiting, validate

DEFECT = re.compile(r"(?P<kind>\w+)@(?P<index>\d+)(:(?P<call_id>.*))?")


@pytest.fixture(scope="module")
def conversations(data_dir):
    """The messages of each conversation, by its id."""
    files = sorted((data_dir / "corpus").glob("*.json.gz"))
    loaded = [json.loads(gzip.decompress(path.read_bytes())) for path in files]
    return {conversation["id"]: conversation["messages"] for conversation in loaded}


@pytest.fixture(scope="module")
def defects(data_dir):
    """The defects that the collectors of the corpus noted, by conversation."""
    manifest = json.loads((data_dir / "corpus" / "manifest.json").read_text("utf-8"))
    return {
        entry["id"]: [match.groupdict() for issue in entry["issues"] if (match := DEFECT.fullmatch(issue))]
        for entry in manifest["dirty"]
    }


def errors(messages, mode="report"):
    return [f for f in validate(messages, dialect="openai_chat", mode=mode) if f.severity == "error"]


def test_conversations_without_defects_pass(conversations, defects):
    clean = [messages for name, messages in conversations.items() if name not in defects]
    assert len(clean) > 20
    assert [fault for messages in clean for fault in errors(messages, mode="enforce")] == []


def test_nothing_is_found_but_the_known_defects(conversations, defects):
    for name, known in defects.items():
        messages = conversations[name]
        noted = {int(defect["index"]) for defect in known}
        # Thinking alone is null content too: providers refuse it, the collectors did not note it.
        silent = {index for index, message in enumerate(messages) if is_silent(message)}
        nameless = {index for index, message in enumerate(messages) if has_nameless_call(message)}
        assert {fault.index for fault in errors(messages)} <= noted | silent | nameless, name


def is_silent(message):
    return message["role"] == "assistant" and message["content"] is None and not message.get("tool_calls")


def has_nameless_call(message):
    return any(call["id"] == "" for call in message.get("tool_calls", ()))


def test_every_unanswered_call_is_found_in_its_message(conversations, defects):
    for name, known in defects.items():
        expected = [(int(d["index"]), d["call_id"]) for d in known if d["kind"] == "unanswered_call"]
        found = [(f.index, call_id(f.reason)) for f in errors(conversations[name]) if f.code == "OC14"]
        assert [fault for fault in found if fault[1]] == expected, name


def call_id(reason):
    return re.search("'(.*?)'", reason).group(1)


def test_a_call_open_at_the_end_is_told_from_a_hole(conversations):
    for name, messages in conversations.items():
        for fault in errors(messages):
            if fault.code == "OC14":
                assert is_waiting(fault) == (fault.index == len(messages) - 1), name


def test_every_empty_assistant_message_is_found(conversations, defects):
    for name, known in defects.items():
        expected = {int(defect["index"]) for defect in known if defect["kind"] == "empty_assistant"}
        assert expected <= {f.index for f in errors(conversations[name]) if f.code == "OC4"}, name


def test_ids_used_twice_are_accepted_by_the_provider_and_found_when_enforced(conversations, defects):
    for name, known in defects.items():
        expected = {int(defect["index"]) for defect in known if defect["kind"] == "duplicate_call_id"}
        messages = conversations[name]
        assert {f.index for f in errors(messages, mode="enforce") if f.code == "OC9"} == expected, name
        if not any(map(has_nameless_call, messages)):
            assert [f for f in errors(messages) if f.code in ("OC9", "OC13")] == [], name


def test_calls_with_empty_ids_are_refused(conversations):
    messages = conversations["deerflow-replay-nanjing-traditional-dishes"]
    expected = [index for index, message in enumerate(messages) if has_nameless_call(message)]
    assert sorted({fault.index for fault in errors(messages) if fault.code == "OC7"}) == expected
