"""What a run leaves for people: figures as JSON, and histograms."""

import json
from pathlib import Path

import pytest

from midfold.charts import draw_histogram
from midfold.testing import transcript
from midfold.trajectories import AggregateMetrics, Batch, CompressionConfig, TrajectoryMetrics, measure_files
from midfold.trajectories.report import as_values, make_charts, write_report

SHORT = [{"from": "human", "value": "hello"}, {"from": "gpt", "value": "hi"}]


def metrics(before, after):
    return TrajectoryMetrics(before, 40, after, 10, 2, 32, 30, was_compressed=after < before)


@pytest.fixture
def aggregate():
    total = AggregateMetrics()
    for size in (900, 4_000, 15_000, 40_000, 41_000):
        total.add(metrics(size, min(size, 15_000)))
    return total


def test_report_holds_no_credential_of_an_address(tmp_path):
    (tmp_path / "in.jsonl").write_text(json.dumps({"conversations": SHORT}) + "\n")
    address = "https://bob:s3cretPw99@host/v1?api_key=abc123def"
    batch = Batch(
        tmp_path / "in.jsonl", CompressionConfig(summary_model="openai/gpt-5-mini", base_url=address)
    )
    write_report(tmp_path / "report", batch, measure_files(batch))
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert report["settings"]["base_url"] == "https://***@host/v1?api_key=***"


def test_tokens_are_shown_before_and_after_with_the_target(aggregate):
    charts = dict(make_charts(aggregate, 15_250))
    assert list(charts) == ["tokens", "ratio", "turns"]
    before, after = charts["tokens"].series
    assert (sum(before.counts), sum(after.counts)) == (5, 5)
    drawn = draw_histogram(charts["tokens"])
    for label in ("before", "after", "target 15,250", "1k", "16k", "32k"):
        assert f">{label}</text>" in drawn
    assert sum(charts["ratio"].series[0].counts) == 2


def test_report_of_a_run_is_a_folder_of_json_and_drawings(tmp_path):
    rows = [{"conversations": transcript("sharegpt", turns=16, result_chars=400)}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, [*rows, None])))
    batch = Batch(tmp_path / "in.jsonl", CompressionConfig(target_max_tokens=1_500))
    written = write_report(tmp_path / "deep" / "report", batch, measure_files(batch))
    assert sorted(path.name for path in written) == [
        "ratio.svg",
        "report.json",
        "tokens.svg",
        "turns.svg",
    ]
    assert all(path.stat().st_size > 500 for path in written)
    report = json.loads(Path(written[0]).read_text())
    assert (report["rows"], report["compressed"], report["rejected"]) == (2, 1, 1)
    assert report["settings"]["target_max_tokens"] == 1_500
    assert AggregateMetrics.from_dict(report).compressed == 1


def test_names_that_scripts_rely_on_are_there(tmp_path):
    (tmp_path / "in.jsonl").write_text("null")
    values = as_values(measure_files(Batch(tmp_path / "in.jsonl")))
    names = (
        "rows compressed skipped kept over_limit rejected written listed files outputs rejects bill seconds"
    )
    assert set(names.split()) <= set(values)
    assert set(values["bill"]) == {"calls", "input_tokens", "output_tokens", "dollars", "unpriced_calls"}
