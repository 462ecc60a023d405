"""A run over files whose summaries a model writes: its bill, its failures, and when it is not asked again."""

import json
from dataclasses import replace

import pytest

from midfold.errors import MidfoldError
from midfold.testing import transcript
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.trajectories import Batch, CompressionConfig, compress_files

CONFIG = CompressionConfig(target_max_tokens=1_500, summary_target_tokens=300)
SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]


def make_lines(count):
    """Return rows of which every third is too long."""
    long = transcript("sharegpt", turns=16, result_chars=400)
    rows = [{"id": row, "conversations": SHORT if row % 3 else long} for row in range(count)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def read_lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(make_lines(12))
    return path


def test_model_writes_the_summaries_and_the_bill_adds_up(source, tmp_path):
    with Upstream(Reply("The meters were counted.", usage=CanonicalUsage(1_000, 100))) as up:
        config = replace(CONFIG, summary_model="openai/gpt-5-mini", base_url=up.url)
        result = compress_files(Batch(source, config), tmp_path / "out.jsonl")
    assert (tmp_path / "out.jsonl").read_text().count("The meters were counted.") == 4
    bill = result.totals.bill
    assert (bill.calls, bill.input_tokens, bill.output_tokens) == (4, 4_000, 400)
    assert float(bill.dollars) == pytest.approx(4 * (1_000 * 0.25 + 100 * 2) / 1e6)


def test_rows_whose_model_fails_are_written_as_they_were_and_listed(source, tmp_path):
    with Upstream(HttpStatus(400)) as up:
        config = replace(CONFIG, summary_model="openai/gpt-5-mini", base_url=up.url, max_retries=1)
        result = compress_files(Batch(source, config), tmp_path / "out.jsonl")
    assert read_lines(tmp_path / "out.jsonl") == read_lines(source)
    listed = read_lines(tmp_path / "out.jsonl.rejects.jsonl")
    assert [(each["line"], each["status"]) for each in listed] == [
        (1, "kept"),
        (4, "kept"),
        (7, "kept"),
        (10, "kept"),
    ]
    assert (result.totals.metrics.kept, result.totals.written) == (4, 12)


IN_VAIN = r"all 6 calls failed: openai/gpt-5-mini.* continue with --resume"


def test_run_whose_model_turns_every_call_away_stops_and_asks_again_when_resumed(tmp_path):
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(make_lines(18))
    with Upstream([HttpStatus(401)] * 6 + [Reply("The meters were counted.")] * 6) as up:
        config = replace(CONFIG, summary_model="openai/gpt-5-mini", base_url=up.url, max_retries=0)
        with pytest.raises(MidfoldError, match=IN_VAIN):
            compress_files(Batch(source, config), out)
        metrics = compress_files(Batch(source, config), out, resume=True).totals.metrics
    assert (metrics.compressed, metrics.kept) == (6, 0)


def test_run_whose_model_is_not_there_stops(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(make_lines(18))
    config = replace(CONFIG, summary_model="openai/gpt-5-mini", base_url="http://127.0.0.1:1", max_retries=0)
    with pytest.raises(MidfoldError, match=IN_VAIN):
        compress_files(Batch(tmp_path / "in.jsonl", config), tmp_path / "out.jsonl")


def test_call_that_is_turned_away_costs_nothing(source, tmp_path):
    with Upstream(HttpStatus(404)) as up:
        config = replace(CONFIG, summary_model="openai/gpt-5-mini", base_url=up.url, max_retries=0)
        bill = compress_files(Batch(source, config), tmp_path / "out.jsonl").totals.bill
    assert (bill.calls, bill.unpriced_calls, bill.dollars) == (4, 0, 0)
