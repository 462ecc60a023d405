"""Session files that are written for their client: one chain, true envelopes, nothing that misleads it."""

import json
from copy import deepcopy
from datetime import datetime
from pathlib import Path

import pytest

import midfold
from midfold.client_sessions import find_origins
from midfold.transcripts import load_transcript
from midfold.wire.session_files import CLIENTS, OutgoingSession, read_session, write_session

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
FILES = {"claude_code": "claude-code-session.jsonl", "codex": "codex-rollout.jsonl"}
ID = "0a1b2c3d-0000-4000-8000-000000000001"


def load(kind):
    return load_transcript(TRANSCRIPTS / FILES[kind])


def shrink(loaded, **how):
    return midfold.compress(loaded.request.messages, **how)


def write(kind, loaded, result, title=None):
    outgoing = OutgoingSession(
        tuple(result.messages), find_origins(result), ID, "2026-01-02T03:04:05.000Z", title
    )
    return write_session(kind, loaded.session, outgoing)


def texts(value):
    """All words of a message, whatever they stand under."""
    if isinstance(value, str):
        return [value]
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for member in members for text in texts(member)]


@pytest.fixture(params=[2_000, 800])
def ceiling(request):
    return request.param


@pytest.mark.parametrize("kind", FILES)
def test_what_is_written_is_read_again_as_the_same_conversation(kind, ceiling):
    loaded = load(kind)
    result = shrink(loaded, max_tokens=ceiling)
    again = read_session(kind, write(kind, loaded, result))
    words = "\n".join(texts(again.messages))
    contents = [item.get("content", item) if kind == "claude_code" else item for item in result.messages]
    assert result.changed
    assert all(text in words for text in texts(contents))


@pytest.mark.parametrize("kind", FILES)
def test_the_session_that_was_read_is_not_changed(kind):
    loaded = load(kind)
    before = deepcopy(loaded.session)
    write(kind, loaded, shrink(loaded, max_tokens=900))
    assert loaded.session == before


@pytest.mark.parametrize("kind", FILES)
def test_an_untouched_conversation_keeps_its_messages(kind):
    loaded = load(kind)
    result = shrink(loaded, max_tokens=10**6)
    assert not result.changed
    again = read_session(kind, write(kind, loaded, result))
    assert [texts(each.get("content", each)) for each in again.messages] == [
        texts(each.get("content", each)) for each in loaded.request.messages
    ]


@pytest.mark.parametrize("kind", FILES)
def test_the_same_session_is_written_to_the_same_bytes(kind):
    once, twice = load(kind), load(kind)
    written = [json.dumps(write(kind, each, shrink(each, max_tokens=900))) for each in (once, twice)]
    assert written[0] == written[1]


def test_the_lines_of_claude_code_are_one_chain_from_a_root():
    loaded = load("claude_code")
    lines = [line for line in write("claude_code", loaded, shrink(loaded, max_tokens=800)) if "uuid" in line]
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert len({line["uuid"] for line in lines}) == len(lines)
    assert {(line["sessionId"], line["isSidechain"]) for line in lines} == {(ID, False)}


def test_no_line_points_to_the_original_session():
    loaded = load("claude_code")
    old = {line.get("uuid") for turn in loaded.session.lines for line in turn} - {None}
    written = write("claude_code", loaded, shrink(loaded, max_tokens=2_000))
    names = ("sourceToolAssistantUUID", "parentUuid")
    assert not old & {line.get(name) for line in written for name in names}


def test_replies_of_claude_code_report_no_usage_which_the_client_would_take_for_the_size():
    loaded = load("claude_code")
    session = read_session("claude_code", write("claude_code", loaded, shrink(loaded, max_tokens=2_000)))
    assert loaded.session.facts.calls
    assert session.facts.calls == ()


def line(role, uuid, parent, content, **more):
    message = {"role": role, "content": content}
    return {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def test_an_output_that_was_shortened_is_not_repeated_beside_the_message():
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.py"}}
    output = "\n".join(f"line {number} of a long file" for number in range(2_000))
    result = {"type": "tool_result", "tool_use_id": "c1", "content": output}
    copies = {"toolUseResult": {"stdout": output}, "sourceToolAssistantUUID": "a"}
    records = [
        line("user", "u", None, "Read a.py"),
        line("assistant", "a", "u", [call]),
        line("user", "r", "a", [result], **copies),
        line("assistant", "b", "r", "Done."),
        line("user", "v", "b", "Thanks."),
    ]
    session = read_session("claude_code", records)
    shorter = midfold.compress(session.messages, max_tokens=400)
    outgoing = OutgoingSession(tuple(shorter.messages), find_origins(shorter), ID, "2026-01-02T03:04:05Z")
    written = json.dumps(write_session("claude_code", session, outgoing))
    assert shorter.changed
    assert len(written) < len(output) / 4


def test_context_that_the_client_attached_stays_with_its_message():
    attached = {"type": "attachment", "uuid": "n", "parentUuid": "u", "attachment": {"type": "file"}}
    records = [line("user", "u", None, "@a"), attached, line("assistant", "a", "n", "ok")]
    session = read_session("claude_code", records)
    outgoing = OutgoingSession(tuple(session.messages), (0, 1), ID, "2026-01-02T03:04:05Z", "coins")
    kinds = [each["type"] for each in write_session("claude_code", session, outgoing)]
    assert kinds == ["user", "attachment", "assistant", "custom-title"]


def test_a_rollout_begins_with_its_facts_under_the_new_id():
    loaded = load("codex")
    about, *rest = write("codex", loaded, shrink(loaded, max_tokens=900))
    assert (about["type"], about["payload"]["id"]) == ("session_meta", ID)
    assert about["payload"]["cwd"] == loaded.session.facts.folder
    assert all({"timestamp", "type", "payload"} <= line.keys() for line in rest)


def test_a_rollout_has_no_token_counts_which_the_client_would_take_for_the_size():
    loaded = load("codex")
    lines = write("codex", loaded, shrink(loaded, max_tokens=10**6))
    assert not [line for line in lines if line["payload"].get("type") == "token_count"]


def test_every_message_of_a_rollout_is_written_out_in_full():
    loaded = load("codex")
    lines = write("codex", loaded, shrink(loaded, max_tokens=800))
    said = [line["payload"] for line in lines if line["payload"].get("role")]
    assert said
    assert all(each["type"] == "message" and isinstance(each["content"], list) for each in said)


def test_the_oldest_rollouts_get_the_envelope_that_they_lack():
    records = [
        {"id": "i", "timestamp": "2025-05-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
    ]
    session = read_session("codex", records)
    outgoing = OutgoingSession(tuple(session.messages), (0,), ID, "2026-01-02T03:04:05Z")
    lines = write_session("codex", session, outgoing)
    assert [line["type"] for line in lines] == ["session_meta", "response_item"]
    assert read_session("codex", lines).messages == session.messages


def test_clients_name_the_folder_of_a_project_and_the_file_of_a_session():
    at = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - clients use local time
    assert CLIENTS["claude_code"].path_of("/srv/my_app.x", ID, at) == f"-srv-my-app-x/{ID}.jsonl"
    assert CLIENTS["codex"].path_of("/srv", ID, at) == f"2026/01/02/rollout-2026-01-02T03-04-05-{ID}.jsonl"
