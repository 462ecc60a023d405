"""Rows of data sets: where their turns are, how these are spelled, and what else the row says."""

import json
from dataclasses import replace

import pytest

from midfold.testing import transcript
from midfold.trajectories import CompressionConfig, RowStatus, TrajectoryCompressor
from midfold.wire.validate import validate

SMALL = CompressionConfig(target_max_tokens=2_000, summary_target_tokens=400)
HUMAN, GPT = {"from": "human", "value": "Go."}, {"from": "gpt", "value": "Gone."}


def make_run(dialect="sharegpt", turns=12, **options):
    return transcript(dialect, seed=1, turns=turns, result_chars=250, **options)


def compress(row, config=SMALL):
    return TrajectoryCompressor(config).compress_row(row)


def test_other_columns_stay_as_they_are_in_their_order():
    row = {"id": 7, "conversations": make_run(), "score": 0.5, "tools": None}
    result = compress(row)
    assert result.status is RowStatus.COMPRESSED
    assert [*result.row] == ["id", "conversations", "score", "tools"]
    assert (result.row["id"], result.row["score"]) == (7, 0.5)
    assert len(result.row["conversations"]) < len(row["conversations"])


@pytest.mark.parametrize("row", [{"id": 7, "conversations": [HUMAN, GPT]}, [HUMAN, GPT]])
def test_row_that_fits_is_the_very_row(row):
    result = compress(row)
    assert result.status is RowStatus.SKIPPED
    assert result.row is row


@pytest.mark.parametrize("empty", [[], "", "[]", None])
def test_column_that_is_empty_does_not_hide_the_one_that_is_not(empty):
    row = {"conversations": empty, "messages": [{"role": "user", "content": "Go."}]}
    result = compress(row)
    assert result.status is RowStatus.SKIPPED
    assert result.row == {"conversations": [HUMAN]}


def test_list_of_rows_on_one_line_says_what_helps():
    result = compress([{"conversations": [HUMAN]}, {"conversations": [GPT]}])
    assert result.status is RowStatus.REJECTED
    assert "a list of rows; expected one row a line" in result.reason


def test_bare_list_of_turns_is_a_row():
    result = compress(make_run())
    assert result.status is RowStatus.COMPRESSED
    assert validate(result.row, dialect="sharegpt") == []


def test_input_row_is_never_changed():
    row = {"conversations": make_run(), "id": 1}
    before = json.dumps(row)
    compress(row)
    assert json.dumps(row) == before


@pytest.mark.parametrize("name", ["conversations", "messages"])
def test_column_of_json_text_stays_one(name):
    dialect = "sharegpt" if name == "conversations" else "openai_chat"
    result = compress({name: json.dumps(make_run(dialect)), "id": 1})
    assert result.status is RowStatus.COMPRESSED
    assert validate(json.loads(result.row["conversations"]), dialect="sharegpt") == []


@pytest.mark.parametrize("dialect", ["openai_chat", "anthropic", "openai_responses"])
@pytest.mark.parametrize("turns", [1, 12])
def test_messages_of_any_dialect_are_converted(dialect, turns):
    row = {"id": 1, "messages": make_run(dialect, turns=turns), "score": 2}
    result = compress(row)
    assert [*result.row] == ["id", "conversations", "score"]
    assert validate(result.row["conversations"], dialect="sharegpt") == []
    assert result.metrics.compressed_tokens <= 2_000
    text = json.dumps(result.row["conversations"])
    assert "<tool_call>" in text
    assert "<tool_response>" in text


def test_messages_may_stand_under_the_other_name():
    result = compress({"conversations": make_run("openai_chat", turns=1)})
    assert validate(result.row["conversations"], dialect="sharegpt") == []


def test_system_prompt_beside_the_messages_becomes_the_first_turn():
    row = {"system": "Be careful.", "messages": make_run("anthropic", turns=1), "id": 1}
    result = compress(row)
    assert [*result.row] == ["conversations", "id"]
    assert result.row["conversations"][0] == {"from": "system", "value": "Be careful."}


def test_what_a_conversion_loses_is_listed():
    result = compress({"messages": make_run("openai_chat", turns=1)})
    assert result.losses
    assert all(loss.what for loss in result.losses)


def test_further_keys_of_turns_that_stay_are_kept():
    run = [{**turn, "weight": 1} for turn in make_run()]
    turns = compress({"conversations": run}).row["conversations"]
    assert [turn for turn in turns if "weight" not in turn] == [
        turn for turn in turns if turn["value"].startswith("[CONTEXT COMPACTION")
    ]


def test_row_that_stays_too_large_is_written_and_says_why():
    row = {"conversations": [{"from": "human", "value": "word " * 2_500}, GPT]}
    result = compress(row)
    assert result.status is RowStatus.OVER_LIMIT
    assert result.row is row
    assert result.reason == "2,503 tokens are left, as too little may be folded to make it smaller"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (None, "expected an object or a list of turns, found null"),
        ("text", "expected an object or a list of turns"),
        (5, "expected an object or a list of turns"),
        ({}, "no column conversations or messages"),
        ({"prompt": "Hi."}, "no column conversations or messages; there are"),
        ({"conversations": None}, "conversations is null"),
        ({"conversations": []}, "there are no turns"),
        ([], "there are no turns"),
        ({"conversations": {}}, "expected a list of turns"),
        ({"conversations": 5}, "expected a list of turns"),
        ({"conversations": "[{"}, "conversations is text that is not JSON"),
        ({"conversations": "[" * 100_000}, "conversations is text that is not JSON"),
        ({"conversations": "null"}, "expected a list of turns"),
        ({"conversations": [HUMAN, None]}, "message 1: expected an object, found null"),
        (
            {"conversations": [HUMAN, {"from": "gpt", "value": None}]},
            "message 1: value is null; expected text",
        ),
        ({"conversations": [HUMAN, {"from": "gpt", "value": 5}]}, "message 1: value is"),
        ({"conversations": [HUMAN, {"value": "Gone."}]}, "message 1: from is null"),
        ({"conversations": [5]}, "message 0"),
        ({"messages": [{"role": "user", "content": {"deep": 1}}]}, "message 0"),
        ({"messages": [{"text": "Hi."}]}, "no role"),
        ({"messages": [{"role": "user", "content": ""}]}, "there are no turns"),
    ],
)
def test_row_without_a_trajectory_is_rejected_with_the_reason(row, reason):
    result = compress(row)
    assert result.status is RowStatus.REJECTED
    assert (result.row, result.metrics) == (None, None)
    assert reason in result.reason


def test_column_that_is_empty_leaves_room_for_the_converted_one():
    result = compress({"conversations": None, "messages": make_run("openai_chat", turns=1), "id": 1})
    assert [*result.row] == ["conversations", "id"]


def test_secrets_leave_rows_that_fit_where_that_is_asked_for():
    secret = "sk-ant-api03-" + "Zk3v9QpL7xWm2Tn5Rb8Yc4Hd6Jf1Gs0A" * 2
    row = {"conversations": [{"from": "human", "value": f"My key is {secret}, use it."}, GPT]}
    result = compress(row, replace(SMALL, redact_output=True))
    assert result.status is RowStatus.SKIPPED
    assert secret not in str(result.row)
    assert result.row["conversations"][1] is GPT
