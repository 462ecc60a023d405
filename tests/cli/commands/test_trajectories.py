"""`midfold trajectories`: what it prints, writes and refuses."""

import io
import json

import pytest
from rich.console import Console

from midfold.cli.render.trajectories import (
    describe_progress,
    format_bill,
    format_count,
    format_seconds,
    show_progress,
)
from midfold.faults import arm
from midfold.testing import transcript
from midfold.testing.upstream import HttpStatus, Reply, Upstream
from midfold.tokens import CanonicalUsage
from midfold.trajectories.runs import BatchProgress, RunTotals, SummaryBill

SHORT = {"conversations": [{"from": "human", "value": "hello"}]}
LONG = {"conversations": transcript("sharegpt", turns=16, result_chars=400), "id": 7}
SMALL = ("--target-max-tokens", 1_500, "--workers", 1)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join([json.dumps(SHORT), json.dumps(LONG), "{broken"]))
    return path


def read_lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_table_says_what_became_of_the_rows(run, source, tmp_path):
    status, printed, errors = run("trajectories", source, "-o", tmp_path / "out.jsonl", *SMALL)
    assert (status, errors) == (0, "")
    words = [" ".join(line.split()) for line in printed.splitlines()]
    assert words[:5] == [
        "rows 3 in 1 file",
        "compressed 1",
        "fit already 1",
        "over the target 0",
        "rejected 1",
    ]
    assert any(line.startswith("tokens 3,") and line.endswith("of them") for line in words)
    assert f"listed 1 row in {tmp_path / 'out.jsonl.rejects.jsonl'}" in words
    assert any(line.startswith("in.jsonl:3: rejected: it is not JSON") for line in words)
    assert any("█" in line and line.startswith("2k to 4k") for line in words)
    assert [row.get("id") for row in read_lines(tmp_path / "out.jsonl")] == [None, 7]


def test_report_as_json_is_one_object(run, source, tmp_path):
    out = tmp_path / "out.jsonl"
    status, printed, _ = run("trajectories", source, "-o", out, *SMALL, "--json")
    report = json.loads(printed)
    assert status == 0
    assert (report["rows"], report["written"], report["rejected"]) == (3, 2, 1)
    assert report["outputs"] == [str(out)]
    assert report["rejects"] == str(out) + ".rejects.jsonl"


def test_dry_run_measures_and_writes_nothing(run, source, tmp_path):
    status, printed, _ = run("trajectories", source, "--dry-run", *SMALL)
    assert status == 0
    assert "would be 1" in printed
    assert list(tmp_path.iterdir()) == [source]


def test_report_folder_is_written_also_by_a_dry_run(run, source, tmp_path):
    _, printed, _ = run("trajectories", source, "--dry-run", *SMALL, "--report", tmp_path / "report")
    assert f"report: {tmp_path / 'report'}" in printed
    assert (tmp_path / "report" / "tokens.svg").exists()


def test_settings_come_from_a_file_and_flags_win(run, source, tmp_path):
    (tmp_path / "c.yaml").write_text("target_max_tokens: 50000\nprotect_last_turns: 2\n")
    config = ("--config", tmp_path / "c.yaml", "--workers", 1, "--json")
    _, printed, _ = run("trajectories", source, "--dry-run", *config)
    assert json.loads(printed)["compressed"] == 0
    _, printed, _ = run("trajectories", source, "--dry-run", *config, "--target-max-tokens", 1_500)
    assert json.loads(printed)["compressed"] == 1


def test_sample_and_seed_choose_rows(run, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(json.dumps({**SHORT, "id": number}) for number in range(100)))
    ids = []
    for place, seed in enumerate((1, 1, 2)):
        out = tmp_path / f"{place}.jsonl"
        assert run("trajectories", path, "-o", out, "--sample", "10", "--seed", seed, "--workers", 1)[0] == 0
        ids.append([row["id"] for row in read_lines(out)])
    assert len(ids[0]) == 10
    assert ids[0] == ids[1] != ids[2]


def test_model_is_asked_where_one_is_named_and_its_cost_is_told(run, source, tmp_path):
    with Upstream(Reply("The meters were counted.", usage=CanonicalUsage(1_000, 100))) as up:
        status, printed, _ = run(
            *("trajectories", source, "-o", tmp_path / "out.jsonl", *SMALL),
            *("--summary-model", "openai/gpt-5-mini", "--base-url", up.url),
        )
    assert status == 0
    assert "1 call, $0.0004" in printed
    assert "The meters were counted." in (tmp_path / "out.jsonl").read_text()


def test_status_is_one_where_no_row_is_usable(run, tmp_path):
    (tmp_path / "in.jsonl").write_text("null\nnull\n")
    status, _, _ = run("trajectories", tmp_path / "in.jsonl", "-o", tmp_path / "out.jsonl", "--workers", 1)
    assert status == 1


def test_status_is_one_where_every_summary_failed(run, source, tmp_path):
    with Upstream(HttpStatus(401)) as up:
        status, printed, _ = run(
            *("trajectories", source, "-o", tmp_path / "out.jsonl", *SMALL),
            *("--summary-model", "openai/gpt-5-mini", "--base-url", up.url),
        )
    assert status == 1
    assert "kept as they were  1" in printed


def test_run_without_rows_has_no_ratio_and_status_one(run, tmp_path):
    (tmp_path / "in.jsonl").touch()
    status, printed, _ = run("trajectories", tmp_path / "in.jsonl", "--dry-run", "--workers", 1)
    assert status == 1
    assert "tokens             0 → 0\n" in printed


def test_what_is_smaller_than_every_bin_is_said_to_be(run, source):
    _, printed, _ = run("trajectories", source, "--dry-run", *SMALL)
    assert "   below 128  █" in printed


def test_table_names_speakers_and_what_a_conversion_lost(run, tmp_path):
    strange = {"conversations": [*SHORT["conversations"], {"from": "narrator", "value": "Later."}] * 2}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": "Look."}, picture]}]}
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, (strange, asked))))
    _, printed, _ = run("trajectories", tmp_path / "in.jsonl", "--dry-run", *SMALL)
    assert "not converted      image or file x 1\n" in printed
    assert "speakers unknown   narrator x 2\n" in printed


def test_full_disk_is_named_with_the_way_to_go_on(run, source, tmp_path):
    arm("trajectories.part.before:enospc")
    status, _, errors = run("trajectories", source, "-o", tmp_path / "out.jsonl", *SMALL)
    arm(None)
    assert status == 2
    assert f"{tmp_path / 'out.jsonl'}: No space left on device; finished rows are kept" in errors


def test_rows_over_the_target_are_told_apart_from_the_compressed_ones(run, tmp_path):
    turns = [*LONG["conversations"][:-1], {"from": "gpt", "value": "word " * 3_000}]
    (tmp_path / "in.jsonl").write_text(json.dumps({"conversations": turns}))
    _, printed, _ = run("trajectories", tmp_path / "in.jsonl", "--dry-run", *SMALL)
    assert "over the target    1, of which 1 are among the compressed" in printed


def test_report_that_cannot_be_written_is_told_before_the_work(run, source, tmp_path):
    (tmp_path / "report").touch()
    status, _, errors = run(
        "trajectories", source, "-o", tmp_path / "out.jsonl", *SMALL, "--report", tmp_path / "report"
    )
    assert status == 2
    assert "report" in errors
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{in}"], "give -o OUT, or --dry-run to measure only"),
        (["missing.jsonl", "-o", "{out}"], "IN is 'missing.jsonl'; expected a file, or a folder of"),
        (["{in}", "-o", "{in}"], "expected a place outside of IN"),
        (["{in}", "-o", "{out}.parquet"], "a name that ends in .jsonl"),
        (["{in}", "-o", "{out}", "--sample", "much"], "--sample is 'much'; expected a part such as 10%"),
        (["{in}", "-o", "{out}", "--tokenizer", "none"], "trajectories.tokenizer is 'none'"),
        (["{in}", "-o", "{out}", "--base-url", "http://127.0.0.1:1"], "expected a summary_model beside it"),
        (["{in}", "-o", "{out}", "--ray-address", "auto"], "--ray-address needs --engine ray"),
        (["{in}", "-o", "{out}", "--config", "no.yaml"], "no.yaml is missing"),
        (["{in}", "-o", "missing/{out}"], "expected a place in a folder that is there; missing is not"),
    ],
)
def test_mistake_is_one_line_and_status_two(run, source, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    spelt = [word.format(**{"in": source.name, "out": "out"}) for word in arguments]
    status, printed, errors = run("trajectories", *spelt, "--workers", 1)
    assert (status, printed) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == [source]


def progress(part=0.5, **bill):
    totals = RunTotals(bill=SummaryBill(**bill))
    totals.metrics.rows = 1_234
    return BatchProgress(totals, part, 10.0, 123.4, 2_345_678.0, 75.0)


def test_progress_tells_rate_time_left_and_cost():
    said = describe_progress(progress(calls=3, dollars=2))
    assert said == "1,234 rows, 123 rows/s, 2.3M tokens/s, 75 s left, 3 calls, $2.00"


def test_progress_is_a_bar_at_a_terminal_and_nothing_at_first_in_a_log():
    for is_terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=is_terminal, width=120)
        with show_progress(console) as watch:
            watch(progress())
        assert ("123 rows/s" in console.file.getvalue()) == is_terminal


def test_figures_are_spelt_for_people():
    assert [format_count(number) for number in (7, 1_500, 2.5e6, 3e9)] == ["7", "1.5k", "2.5M", "3.0G"]
    assert [format_seconds(number) for number in (5, 300, 7_200)] == ["5 s", "5 min", "2.0 h"]
    assert format_bill(SummaryBill(2, unpriced_calls=2)) == "2 calls, cost unknown"
    assert (
        format_bill(SummaryBill(2, dollars=1, unpriced_calls=1))
        == "2 calls, $1.00 and 1 call of unknown cost"
    )


def test_what_summaries_cost_is_recorded_and_the_settings_choose_who_writes(
    run, source, tmp_path, monkeypatch, store
):
    config = tmp_path / "config.yaml"
    monkeypatch.setenv("MIDFOLD_CONFIG", str(config))
    with Upstream(Reply("The meters were counted.", usage=CanonicalUsage(1_000, 100))) as up:
        config.write_text(
            f"providers: {{house: {{base_url: {up.url}}}}}\ncompression: {{summary_model: house/large}}\n"
        )
        assert run("trajectories", source, "-o", tmp_path / "out.jsonl", *SMALL)[0] == 0
        [call] = store.calls()
        assert (call.purpose, call.model, call.source) == ("summary", "house/large", "trajectories")
        assert call.usage == CanonicalUsage(1_000, 100)
        assert (call.cost, call.cost_kind, call.facts) == (None, "unknown", {"calls": 1})
        digest = ("--summary-model", "digest")
        assert run("trajectories", source, "-o", tmp_path / "digest.jsonl", *SMALL, *digest)[0] == 0
        assert len(up.requests) == 1
