"""Parquet in, Parquet out: other columns keep their types, and what cannot be read or written is listed."""

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from midfold.testing import transcript
from midfold.trajectories import Batch, CompressionConfig, LocalEngine, compress_files

CONFIG = CompressionConfig(target_max_tokens=1_500, summary_target_tokens=300)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]


def long_turns():
    return transcript("sharegpt", turns=16, result_chars=400)


def test_parquet_keeps_the_types_of_all_other_columns(tmp_path):
    when = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    rows = [
        {"when": when, "raw": b"\0\xff", "conversations": long_turns(), "tags": {"a": [1, None]}},
        {"when": None, "raw": None, "conversations": SHORT, "tags": None},
        {"when": when, "raw": b"", "conversations": None, "tags": None},
    ]
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, tmp_path / "in.parquet")
    result = compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.schema == table.schema
    assert written.drop(["conversations"]) == table.drop(["conversations"]).slice(0, 2)
    assert written["conversations"][1].as_py() == SHORT
    assert len(written["conversations"][0]) < len(rows[0]["conversations"])
    assert [(each.line, each.status) for each in result.examples] == [(3, "rejected")]


def test_parquet_with_messages_as_json_text_stays_text(tmp_path):
    rows = [{"conversations": json.dumps(long_turns())}, {"conversations": json.dumps(SHORT)}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    long, short = pq.read_table(tmp_path / "out.parquet")["conversations"].to_pylist()
    assert short == rows[1]["conversations"]
    assert len(long) < len(rows[0]["conversations"])
    assert json.loads(long)[0]["from"] == "system"


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_parquet_with_texts_that_are_numbered_or_shared_is_read(tmp_path, kind):
    texts = pa.array([json.dumps(long_turns()), json.dumps(SHORT), None])
    table = pa.table({"conversations": texts.cast(kind), "n": [1, 2, 3]})
    pq.write_table(table, tmp_path / "in.parquet")
    compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    long, short = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert (long["n"], short) == (1, {"conversations": json.dumps(SHORT), "n": 2})
    assert len(long["conversations"]) < len(texts[0].as_py())


def test_parquet_with_messages_of_a_provider_becomes_conversations(tmp_path):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
    pq.write_table(pa.Table.from_pylist([{"messages": messages, "n": 1}]), tmp_path / "in.parquet")
    compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == [
        {
            "conversations": [{"from": "system", "value": "Be brief."}, {"from": "human", "value": "hello"}],
            "n": 1,
        }
    ]


def spoil(array):
    """Return the array with a byte that is not UTF-8 wherever it says MARK; Arrow does not look."""
    spoilt = [
        buffer and pa.py_buffer(buffer.to_pybytes().replace(b"MARK", b"MA\xffK"))
        for buffer in array.buffers()
    ]
    if not pa.types.is_list(array.type):
        return pa.Array.from_buffers(array.type, len(array), spoilt)
    turns = array.values
    fields = [spoil(turns.field(place)) for place in range(turns.type.num_fields)]
    return pa.ListArray.from_arrays(
        array.offsets, pa.StructArray.from_arrays(fields, fields=list(turns.type))
    )


@pytest.mark.slow
@pytest.mark.parametrize("spell", [json.dumps, lambda turns: turns], ids=["text", "turns"])
@pytest.mark.parametrize("workers", [1, 2])
def test_parquet_text_that_is_not_utf8_is_listed_and_stops_nothing(tmp_path, spell, workers):
    bad = [{"from": "human", "value": "MARK"}]
    table = pa.table({"conversations": spoil(pa.array([spell(SHORT), spell(bad), spell(long_turns())]))})
    pq.write_table(table, tmp_path / "in.parquet")
    result = compress_files(
        Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet", engine=LocalEngine(workers)
    )
    assert [(each.line, each.status) for each in result.examples] == [(2, "rejected")]
    assert "of conversations is not UTF-8" in result.examples[0].reason
    assert pq.read_table(tmp_path / "out.parquet").num_rows == result.totals.written == 2


def test_half_an_emoji_in_json_text_of_parquet_stays_in_a_row_that_is_rewritten(tmp_path):
    turns = long_turns()
    turns[-1]["value"] += "\ud83d"
    pq.write_table(pa.table({"conversations": [json.dumps(turns)]}), tmp_path / "in.parquet")
    result = compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    [text] = pq.read_table(tmp_path / "out.parquet")["conversations"].to_pylist()
    assert json.loads(text)[-1] == turns[-1]
    assert (result.totals.metrics.compressed, result.totals.listed) == (1, 0)


def test_row_that_parquet_cannot_hold_is_listed_and_the_others_are_written(tmp_path):
    call = {"id": "1", "type": "function", "function": {"name": "say", "arguments": '{"word": "\\ud83d"}'}}
    asked = {"role": "user", "content": "hello", "tool_calls": None}
    half = {"role": "assistant", "content": "", "tool_calls": [call]}
    rows = [{"messages": [asked]}, {"messages": [asked, half]}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    result = compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    assert [(each.line, each.status) for each in result.examples] == [(2, "rejected")]
    assert "half an emoji" in result.examples[0].reason
    assert pq.read_table(tmp_path / "out.parquet").num_rows == result.totals.written == 1


def test_parquet_without_a_usable_row_keeps_its_columns(tmp_path):
    table = pa.table({"conversations": pa.array([None], pa.list_(pa.struct([("from", pa.string())])))})
    pq.write_table(table, tmp_path / "in.parquet")
    compress_files(Batch(tmp_path / "in.parquet", CONFIG), tmp_path / "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0
