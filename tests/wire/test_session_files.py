"""Session files of three agents, read as the messages they hold."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from midfold.errors import MalformedMessage
from midfold.wire.session_files import SessionFile, detect_session, read_session

TRANSCRIPTS = Path(__file__).parents[1] / "transcripts"
BOUNDARY = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": None}


def load(name: str) -> list[Any]:
    """Decode a fixture as the caller of the readers does: a list of lines, or of the one object."""
    text = (TRANSCRIPTS / name).read_text(encoding="utf-8")
    return (
        [json.loads(line) for line in text.split("\n") if line] if name.endswith("l") else [json.loads(text)]
    )


def read(*records: object) -> SessionFile:
    """Read lines as Claude Code's."""
    return read_session("claude_code", records)


def line(
    uuid: str, parent: str | None, role: str, content: object, message_id: str = "", **more: object
) -> Any:
    message = {"role": role, "content": content, **({"id": message_id} if message_id else {})}
    return {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "message": message, **more}


def user(uuid: str, parent: str | None, content: object, **more: Any) -> Any:
    return line(uuid, parent, "user", content, **more)


def reply(uuid: str, parent: str | None, *blocks: object, message_id: str = "", **more: Any) -> Any:
    return line(uuid, parent, "assistant", list(blocks), message_id, **more)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def call(call_id: str) -> dict[str, object]:
    return {"type": "tool_use", "id": call_id, "name": "Read", "input": {}}


def result(call_id: str) -> dict[str, str]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}


def roles_and_kinds(session: SessionFile) -> list[tuple[str, list[str]]]:
    """The shape of an Anthropic conversation: the role of each message and the kinds of its blocks."""
    shape = []
    for message in session.messages:
        assert isinstance(message, dict)
        content = message["content"]
        kinds = ["text"] if isinstance(content, str) else [block["type"] for block in content]
        shape.append((message["role"], kinds))
    return shape


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("claude-code-session.jsonl", "claude_code"),
        ("codex-rollout.jsonl", "codex"),
        ("hermes-session.json", "hermes"),
        ("openai-chat-flaky-test.json", None),
        ("openai-chat-support.json", None),
        ("anthropic-refactor.json", None),
        ("openai-responses-migration.json", None),
        ("sharegpt-research.json", None),
    ],
)
def test_the_product_is_told_by_its_file(name: str, kind: str | None) -> None:
    assert detect_session(load(name)) == kind


@pytest.mark.parametrize(
    "records", [[], [1, "two", None], [{"type": []}], [{"role": "user", "content": "hi"}]]
)
def test_anything_else_is_no_session_file(records: list[object]) -> None:
    assert detect_session(records) is None


@pytest.mark.parametrize("name", ["claude-code-session.jsonl", "codex-rollout.jsonl", "hermes-session.json"])
def test_reading_changes_nothing(name: str) -> None:
    records, untouched = load(name), load(name)
    kind = detect_session(records)
    assert kind
    read_session(kind, records)
    assert records == untouched


class TestClaudeCode:
    def test_the_fixture_reads_as_an_alternating_conversation(self) -> None:
        session = read(*load("claude-code-session.jsonl"))
        assert session.dialect == "anthropic"
        assert session.model == "claude-sonnet-4-5-20250929"
        assert (session.system, session.tools) == (None, None)
        shape = roles_and_kinds(session)
        assert [role for role, _ in shape] == ["user", "assistant"] * 9
        assert shape[1:3] == [
            ("assistant", ["thinking", "text", "tool_use", "tool_use"]),
            ("user", ["tool_result", "tool_result"]),
        ]
        assert shape[5:7] == [
            ("assistant", ["thinking", "tool_use", "tool_use"]),
            ("user", ["tool_result", "tool_result", "text"]),
        ]

    def test_the_fixture_s_calls_are_answered_by_the_next_message(self) -> None:
        waiting: list[str] = []
        for message in read(*load("claude-code-session.jsonl")).messages:
            assert isinstance(message, dict)
            answered = [
                block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"
            ]
            assert sorted(answered) == sorted(waiting)
            waiting = [block["id"] for block in message["content"] if block["type"] == "tool_use"]
        assert waiting == []

    def test_the_notes_say_what_was_left_out(self) -> None:
        assert read(*load("claude-code-session.jsonl")).notes == (
            "1 compaction by Claude Code, before message 14",
            "4 lines of side chains skipped",
            "3 lines of abandoned branches skipped",
            "1 placeholder for failed requests skipped",
            "7 lines of other kinds skipped: file-history-snapshot 1, queue-operation 1, system 1, "
            "progress 1, attachment 1, summary 1, last-prompt 1",
        )

    def test_a_message_on_one_line_is_handed_over_itself(self) -> None:
        lines = [user("u", None, "hi"), reply("a", "u", text("hello"), message_id="m")]
        assert all(mine is line["message"] for mine, line in zip(read(*lines).messages, lines, strict=True))

    def test_lines_of_one_reply_become_one_message_with_the_last_line_s_end(self) -> None:
        first = reply("a1", "u", text("I look."), message_id="m")
        last = reply("a2", "a1", call("c"), message_id="m")
        last["message"]["stop_reason"] = "tool_use"
        messages = read(user("u", None, "go"), first, last, user("r", "a2", [result("c")])).messages
        content = [text("I look."), call("c")]
        assert messages[1] == {"role": "assistant", "id": "m", "stop_reason": "tool_use", "content": content}

    def test_a_result_between_two_lines_of_a_reply_comes_after_the_reply(self) -> None:
        session = read(
            user("u", None, "go"),
            reply("a1", "u", call("c1"), message_id="m"),
            user("r1", "a1", [result("c1")]),
            reply("a2", "a1", call("c2"), message_id="m"),
            user("r2", "a2", [result("c2")]),
        )
        assert roles_and_kinds(session) == [
            ("user", ["text"]),
            ("assistant", ["tool_use", "tool_use"]),
            ("user", ["tool_result", "tool_result"]),
        ]

    def test_parallel_results_that_hang_on_their_own_calls_are_all_kept(self) -> None:
        session = read(
            user("u", None, "go"),
            reply("a1", "u", call("c1"), message_id="m"),
            reply("a2", "a1", call("c2"), message_id="m"),
            user("r2", "a2", [result("c2")]),
            user("r1", "a1", [result("c1")]),
            reply("b", "r1", text("done"), message_id="n"),
        )
        assert roles_and_kinds(session)[1:3] == [
            ("assistant", ["tool_use", "tool_use"]),
            ("user", ["tool_result", "tool_result"]),
        ]
        assert session.notes == ()

    def test_results_come_before_words_of_the_same_turn(self) -> None:
        session = read(
            user("u", None, "go"),
            reply("a1", "u", call("c1"), call("c2"), message_id="m"),
            user("r1", "a1", [result("c1")]),
            user("w", "r1", "and hurry"),
            user("r2", "w", [result("c2")]),
        )
        assert roles_and_kinds(session)[-1] == ("user", ["tool_result", "tool_result", "text"])

    def test_the_branch_with_the_newest_line_is_the_conversation(self) -> None:
        session = read(
            user("u1", None, "first"),
            reply("a1", "u1", text("one")),
            user("u2", "a1", "abandoned"),
            reply("a2", "u2", text("abandoned too")),
            user("u3", "a1", "second"),
            reply("a3", "u3", text("two")),
        )
        contents = [message["content"] for message in session.messages if isinstance(message, dict)]
        assert contents == ["first", [text("one")], "second", [text("two")]]
        assert session.notes == ("2 lines of abandoned branches skipped",)

    def test_a_call_answered_on_an_abandoned_branch_too_has_one_result(self) -> None:
        session = read(
            user("u", None, "go"),
            reply("a", "u", call("c"), message_id="m"),
            user("r", "a", [result("c")]),
            user("again", "a", [result("c")]),
            reply("b", "again", text("done"), message_id="n"),
        )
        assert roles_and_kinds(session)[2] == ("user", ["tool_result"])

    def test_a_line_written_twice_is_one_line(self) -> None:
        asked = reply("a", "u", call("c"), message_id="m")
        session = read(user("u", None, "go"), asked, deepcopy(asked), user("r", "a", [result("c")]))
        assert roles_and_kinds(session)[1] == ("assistant", ["tool_use"])

    def test_the_file_of_a_subagent_is_read_although_it_is_all_side_chain(self) -> None:
        aside: dict[str, Any] = {"isSidechain": True}
        session = read(user("u", None, "search", **aside), reply("a", "u", text("found"), **aside))
        assert len(session.messages) == 2
        assert session.notes == ()

    def test_history_from_before_a_compaction_stays(self) -> None:
        session = read(
            user("u1", None, "first"),
            reply("a1", "u1", text("one")),
            user("u2", "a1", "second"),
            reply("a2", "u2", text("two")),
            {**BOUNDARY, "logicalParentUuid": "a2"},
            user("s", "b", "summary", isCompactSummary=True),
            reply("a3", "s", text("three")),
        )
        assert len(session.messages) == 6
        assert session.notes == ("1 compaction by Claude Code, before message 4",)

    @pytest.mark.parametrize("pointer", [{}, {"logicalParentUuid": "gone"}])
    def test_a_compaction_without_a_known_parent_follows_the_line_before_it(self, pointer: Any) -> None:
        session = read(
            user("u1", None, "first"),
            reply("a1", "u1", text("one")),
            {"type": "file-history-snapshot", "messageId": "x"},
            {**BOUNDARY, **pointer},
            user("s", "b", "summary", isCompactSummary=True),
        )
        assert len(session.messages) == 3

    def test_a_summary_that_starts_a_root_is_a_compaction_as_well(self) -> None:
        session = read(
            user("u1", None, "first"),
            reply("a1", "u1", text("one")),
            user("s1", None, "summary", isCompactSummary=True),
            reply("a2", "s1", text("two")),
            user("s2", None, "summary", isCompactSummary=True),
        )
        assert len(session.messages) == 5
        assert session.notes == ("2 compactions by Claude Code, before messages 2 and 4",)

    def test_a_reply_that_never_came_is_left_out_and_the_roles_still_alternate(self) -> None:
        placeholder = reply("e", "u1", text("API Error: 529"), isApiErrorMessage=True)
        placeholder["message"]["model"] = "<synthetic>"
        session = read(
            user("u1", None, "go"), placeholder, user("u2", "e", "go"), reply("a", "u2", text("ok"))
        )
        assert roles_and_kinds(session) == [("user", ["text", "text"]), ("assistant", ["text"])]
        assert session.model is None

    def test_a_parent_missing_from_the_file_does_not_cut_the_history(self) -> None:
        session = read(
            user("u1", None, "first"), reply("a1", "lost", text("one")), user("u2", "a1", "second")
        )
        assert len(session.messages) == 3

    def test_lines_that_point_in_a_circle_come_to_an_end(self) -> None:
        assert len(read(user("u", "a", "go"), reply("a", "u", text("one"))).messages) == 2

    @pytest.mark.parametrize(
        ("record", "reason"),
        [
            ("half a line", "the line is text"),
            ({"type": "user", "uuid": "x", "message": "hello"}, "the message is text"),
            (
                {"type": "user", "uuid": "x", "message": {"role": "tool", "content": "x"}},
                "the role is 'tool'",
            ),
            ({"type": "assistant", "uuid": "x", "message": {"role": "assistant"}}, "the content is null"),
        ],
    )
    def test_a_line_that_cannot_be_read_is_named(self, record: object, reason: str) -> None:
        with pytest.raises(MalformedMessage, match=reason) as caught:
            read(user("u", None, "hi"), record)
        assert caught.value.index == 1


class TestCodex:
    def test_the_fixture_reads_as_its_response_items(self) -> None:
        records = load("codex-rollout.jsonl")
        session = read_session("codex", records)
        items = [record["payload"] for record in records if record["type"] == "response_item"]
        kept = [item for item in items if item["type"] != "ghost_snapshot"]
        assert session.dialect == "openai_responses"
        assert all(mine is theirs for mine, theirs in zip(session.messages, kept, strict=True))
        assert session.model == "gpt-5.4-codex"
        assert session.system == "You are a coding agent in a terminal. Be concise and verify your work."
        assert session.notes == (
            "1 compaction by Codex, before message 38",
            "23 lines of other kinds skipped: event_msg 22, ghost_snapshot 1",
        )

    def test_a_file_without_envelopes_is_read_as_well(self) -> None:
        question = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
        records = [
            {"id": "x", "timestamp": "2025-08-06T18:02:11Z", "instructions": "Be brief.", "git": None},
            {"record_type": "state"},
            question,
            {"record_type": "state"},
        ]
        assert detect_session(records) == "codex"
        session = read_session("codex", records)
        assert session.messages == [question]
        assert session.system == "Be brief."
        assert session.notes == ("2 lines of other kinds skipped: state 2",)

    def test_instructions_are_read_in_each_shape_they_had(self) -> None:
        for meta in ({"base_instructions": {"text": "A"}}, {"base_instructions": "A"}, {"instructions": "A"}):
            assert read_session("codex", [{"type": "session_meta", "payload": meta}]).system == "A"

    def test_the_first_session_of_a_fork_has_the_instructions(self) -> None:
        metas = [
            {"type": "session_meta", "payload": {"instructions": words}} for words in ("child", "parent")
        ]
        assert read_session("codex", metas).system == "child"

    def test_turns_taken_back_stay_and_are_noted(self) -> None:
        event = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
        assert read_session("codex", [event]).notes == ("1 rollback; the turns taken back are kept",)

    @pytest.mark.parametrize(
        ("record", "reason"),
        [
            (["not", "an", "object"], "the line is a list"),
            ({"type": "response_item", "payload": "text"}, "the payload is text"),
            ({"type": "response_item", "payload": {"role": "user"}}, "the item's type is null"),
            ({"type": 7, "payload": {}}, "the line's type is a number"),
        ],
    )
    def test_a_line_that_cannot_be_read_is_named(self, record: object, reason: str) -> None:
        with pytest.raises(MalformedMessage, match=reason) as caught:
            read_session("codex", [{"type": "session_meta", "payload": {}}, record])
        assert caught.value.index == 1


class TestHermes:
    def test_the_fixture_reads_as_its_messages_with_all_their_keys(self) -> None:
        (record,) = load("hermes-session.json")
        session = read_session("hermes", [record])
        assert session.dialect == "openai_chat"
        assert all(mine is theirs for mine, theirs in zip(session.messages, record["messages"], strict=True))
        assert session.system == record["system_prompt"]
        assert session.tools is record["tools"]
        assert session.model == "qwen/qwen3-coder"
        assert session.notes == ()

    def test_lines_behind_a_line_about_the_session_are_its_messages(self) -> None:
        question = {"role": "user", "content": "hi", "timestamp": "2026-04-18T19:26:05"}
        answer = {"role": "assistant", "content": "hello", "finish_reason": "stop"}
        records = [{"role": "session_meta", "model": "m", "tools": [], "platform": "cli"}, question, answer]
        assert detect_session(records) == "hermes"
        session = read_session("hermes", records)
        assert session.messages == [question, answer]
        assert (session.model, session.tools) == ("m", None)

    def test_messages_of_unknown_roles_are_skipped_and_counted(self) -> None:
        records = [
            {"role": "session_meta"},
            {"role": "user", "content": "hi"},
            {"role": "reaction", "content": "+1"},
        ]
        session = read_session("hermes", records)
        assert len(session.messages) == 1
        assert session.notes == ("1 line of other kinds skipped: reaction 1",)

    @pytest.mark.parametrize(
        ("message", "reason"),
        [
            ("hello", "the line is text"),
            ({"content": "who?"}, "the role is null"),
            ({"role": "user", "content": 7}, "the content is a number"),
        ],
    )
    def test_a_message_that_cannot_be_read_is_named(self, message: object, reason: str) -> None:
        record = {
            "session_id": "x",
            "message_count": 2,
            "messages": [{"role": "user", "content": "hi"}, message],
        }
        with pytest.raises(MalformedMessage, match=reason) as caught:
            read_session("hermes", [record])
        assert caught.value.index == 1
