"""Real runs: every one converts, comes out under the target or says why, and is still a trajectory."""

import gzip
import json

import pytest

from midfold.folding.layout import legal_cuts
from midfold.messages import pair_calls
from midfold.trajectories import CompressionConfig, RowStatus, TrajectoryCompressor
from midfold.trajectories.plan import find_protected
from midfold.wire import parse
from midfold.wire.validate import validate

EACH = 12
"""One row in so many is looked at: all of them would take as many times as long."""
FILES = (
    "claude_code_entire",
    "miniswe_deepseek",
    "misc_research_chat",
    "sweagent_claude35sonnet",
    "tau2_mixed",
    "tau_bench_airline_gpt4o",
)


def read_rows(data_dir, name):
    with gzip.open(data_dir / "sharegpt" / f"{name}.jsonl.gz") as lines:
        return [json.loads(line) for number, line in enumerate(lines) if number % EACH == 0]


@pytest.mark.parametrize("target", [4_000, 15_250])
@pytest.mark.parametrize("name", FILES)
def test_real_runs_come_out_under_the_target_or_say_why(data_dir, name, target):
    compressor = TrajectoryCompressor(CompressionConfig(target_max_tokens=target))
    for row in read_rows(data_dir, name):
        result = compressor.compress_row(row)
        turns = result.row["conversations"]
        assert validate(turns, dialect="sharegpt") == []
        assert compressor.count_trajectory_tokens(turns) == result.metrics.compressed_tokens
        assert {key: value for key, value in result.row.items() if key != "conversations"} == {
            key: value for key, value in row.items() if key != "conversations"
        }
        if result.status is RowStatus.OVER_LIMIT:
            check_that_nothing_more_may_go(compressor, row["conversations"], result.metrics)
        else:
            assert result.metrics.compressed_tokens <= target
            assert result.status in (RowStatus.COMPRESSED, RowStatus.SKIPPED)


def check_that_nothing_more_may_go(compressor, turns, metrics):
    """Check that all that may be folded is, or would not pay: what is protected takes its groups with it."""
    messages = parse(turns, "sharegpt")
    cuts = legal_cuts(messages, pair_calls(messages))
    stays = set(find_protected(messages, compressor.config))
    for step, places in ((1, range(1, len(turns))), (-1, range(len(turns) - 1, 0, -1))):
        for place in places:
            before, here = (place - 1, place) if step == 1 else (place, place - 1)
            if before in stays and not cuts[place]:
                stays.add(here)
    free = [turn for place, turn in enumerate(turns) if place not in stays]
    assert metrics.turns_in_compressed_region in (0, len(free))
    if not metrics.was_compressed:
        assert compressor.count_trajectory_tokens(free) < 2 * compressor.config.summary_target_tokens


@pytest.mark.parametrize("name", FILES)
def test_real_runs_are_summarised_by_whoever_is_given(data_dir, name):
    def summarize(request):
        assert request.max_tokens <= 750
        return "## Goal\n- Do what the user asked for.\n\n## Progress\n- Some of it is done."

    compressor = TrajectoryCompressor(CompressionConfig(target_max_tokens=8_000), summarizer=summarize)
    for row in read_rows(data_dir, name):
        result = compressor.compress_row(row)
        assert result.status in (RowStatus.COMPRESSED, RowStatus.SKIPPED, RowStatus.OVER_LIMIT), result.reason
        assert result.metrics.compressed_tokens <= result.metrics.original_tokens
