"""One trajectory at a time, with the built-in digest: what comes out, and what is said about it."""

from dataclasses import replace

import pytest

from midfold.errors import MalformedMessage
from midfold.testing import transcript
from midfold.trajectories import CompressionConfig, TrajectoryCompressor
from midfold.wire.validate import validate

SMALL = CompressionConfig(target_max_tokens=2_000, summary_target_tokens=400)
MARKER = "[CONTEXT COMPACTION — REFERENCE ONLY]"
SECRET = "sk-ant-api03-" + "Zk3v9QpL7xWm2Tn5Rb8Yc4Hd6Jf1Gs0A" * 2


def make_run(seed=1, turns=12, result_chars=250, **options):
    return transcript("sharegpt", seed=seed, turns=turns, result_chars=result_chars, **options)


def summary_of(turns):
    [summary] = [turn for turn in turns if turn["value"].startswith(MARKER)]
    return summary


def test_long_run_comes_out_under_the_target_with_one_summary():
    compressor, run = TrajectoryCompressor(SMALL), make_run()
    turns, metrics = compressor.compress_trajectory(run)
    assert metrics.was_compressed
    assert not metrics.still_over_limit
    assert compressor.count_trajectory_tokens(turns) == metrics.compressed_tokens <= 2_000
    assert summary_of(turns)["from"] == "human"
    assert compressor.count_turn_tokens(summary_of(turns)) == metrics.summary_tokens <= 400
    assert validate(turns, dialect="sharegpt") == []


def test_metrics_say_what_was_folded():
    run = make_run()
    turns, metrics = TrajectoryCompressor(SMALL).compress_trajectory(run)
    start, stop = metrics.turns_compressed_start_idx, metrics.turns_compressed_end_idx
    assert turns[1:start] == run[1:start]
    assert turns[start + 1 :] == run[stop:]
    assert metrics.turns_in_compressed_region == stop - start
    assert metrics.turns_removed == stop - start - 1 == len(run) - len(turns)
    assert (metrics.summarizer, metrics.passes, metrics.summarizer_calls) == ("digest", 1, 0)


def test_no_more_is_folded_than_it_takes():
    config = replace(SMALL, target_max_tokens=2_500)
    _, metrics = TrajectoryCompressor(config).compress_trajectory(make_run(result_chars=100))
    assert metrics.was_compressed
    assert 2_500 - metrics.compressed_tokens < 300


def test_run_that_fits_is_left_alone():
    run = make_run()
    turns, metrics = TrajectoryCompressor().compress_trajectory(run)
    assert all(mine is its for mine, its in zip(turns, run, strict=True))
    assert metrics.skipped_under_target
    assert (metrics.compression_ratio, metrics.was_compressed) == (1.0, False)


def test_input_is_never_changed_and_what_stays_is_the_same_object():
    run = make_run()
    before = [dict(turn) for turn in run]
    turns, metrics = TrajectoryCompressor(SMALL).compress_trajectory(run)
    assert run == before
    kept = turns[metrics.turns_compressed_start_idx + 1 :]
    assert all(mine is its for mine, its in zip(kept, run[metrics.turns_compressed_end_idx :], strict=True))


def test_same_run_gives_the_same_words():
    first, second = (TrajectoryCompressor(SMALL).compress_trajectory(make_run()) for _ in range(2))
    assert first == second


def test_system_turn_says_so_once():
    compressor = TrajectoryCompressor(SMALL)
    turns, _ = compressor.compress_trajectory(make_run())
    again, _ = TrajectoryCompressor(replace(SMALL, target_max_tokens=1_200)).compress_trajectory(turns)
    assert turns[0]["value"].endswith(SMALL.summary_notice_text)
    assert again[0]["value"].count(SMALL.summary_notice_text) == 1


def test_notice_can_be_turned_off():
    run = make_run()
    turns, _ = TrajectoryCompressor(replace(SMALL, add_summary_notice=False)).compress_trajectory(run)
    assert turns[0] is run[0]


def test_run_without_a_system_turn_gets_no_notice():
    turns, metrics = TrajectoryCompressor(SMALL).compress_trajectory(make_run(system=False))
    assert metrics.was_compressed
    assert not any(SMALL.summary_notice_text in turn["value"] for turn in turns)


def test_summary_is_spoken_by_whoever_the_run_calls_its_user():
    renamed = {"human": "user", "gpt": "assistant"}
    run = [{**turn, "from": renamed.get(turn["from"], turn["from"])} for turn in make_run()]
    turns, _ = TrajectoryCompressor(SMALL).compress_trajectory(run)
    assert summary_of(turns)["from"] == "user"


def test_earlier_summary_is_taken_up_by_the_next():
    once, _ = TrajectoryCompressor(replace(SMALL, target_max_tokens=3_000)).compress_trajectory(make_run())
    twice, metrics = TrajectoryCompressor(SMALL).compress_trajectory(once)
    assert metrics.was_compressed
    first, second = summary_of(once)["value"], summary_of(twice)["value"]
    start = first.rpartition("## Folded Messages\n")[2].partition("–")[0]
    assert second.rpartition("## Folded Messages\n")[2].startswith(f"{start}–")


def test_nothing_to_fold_is_said_rather_than_done():
    run = [{"from": "human", "value": "word " * 2_500}, {"from": "gpt", "value": "Done."}]
    turns, metrics = TrajectoryCompressor(SMALL).compress_trajectory(run)
    assert turns == run
    assert metrics.still_over_limit
    assert not metrics.was_compressed
    assert metrics.compression_ratio == 1.0


def test_protected_turns_stay_however_large_they_are():
    run = make_run()
    run[1] = {"from": "human", "value": "word " * 2_500}
    turns, metrics = TrajectoryCompressor(SMALL).compress_trajectory(run)
    assert turns[1] is run[1]
    assert metrics.was_compressed
    assert metrics.still_over_limit
    assert metrics.compressed_tokens < metrics.original_tokens


def test_late_first_call_does_not_protect_what_came_before_it():
    talk = [
        {"from": "human", "value": f"Question {number}: {'why is it so? ' * 40}"}
        if number % 2 == 0
        else {"from": "gpt", "value": f"Answer {number}: {'because it is. ' * 40}"}
        for number in range(40)
    ]
    turns, metrics = TrajectoryCompressor(SMALL).compress_trajectory([*talk, *make_run(turns=2)])
    assert metrics.compressed_tokens <= 2_000
    assert sum(turn["from"] == "tool" for turn in turns) >= 1


def test_secrets_do_not_reach_the_summary():
    run = make_run()
    run[5] = {"from": run[5]["from"], "value": f"{run[5]['value']}\nexport ANTHROPIC_API_KEY={SECRET}"}
    run[6] = {"from": "human", "value": f"My key is {SECRET}, use it."}
    turns, _ = TrajectoryCompressor(SMALL).compress_trajectory(run)
    assert SECRET not in summary_of(turns)["value"]


@pytest.mark.parametrize("target", [2_000, 100_000])
def test_secrets_leave_the_whole_output_where_that_is_asked_for(target):
    run = make_run()
    run[1] = {"from": "human", "value": f"My key is {SECRET}, use it.", "weight": 1}
    config = replace(SMALL, target_max_tokens=target, redact_output=True)
    turns, metrics = TrajectoryCompressor(config).compress_trajectory(run)
    assert SECRET not in str(turns)
    assert turns[1]["weight"] == 1
    assert metrics.compressed_tokens == TrajectoryCompressor(config).count_trajectory_tokens(turns)
    assert metrics.original_tokens == TrajectoryCompressor(config).count_trajectory_tokens(run)


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        ({"from": "gpt", "value": None}, "turn 1: value is null"),
        ({"from": 3, "value": "Yes."}, "from is"),
        ({"value": "Yes."}, "from is"),
        ("Yes.", "expected an object"),
    ],
)
def test_turn_that_is_none_is_named(turn, reason):
    with pytest.raises(MalformedMessage) as caught:
        TrajectoryCompressor().compress_trajectory([{"from": "human", "value": "Go."}, turn])
    assert caught.value.index == 1
    assert reason.removeprefix("turn 1: ") in str(caught.value)


def test_halves_of_characters_pass_through():
    run = make_run()
    run[5] = {"from": run[5]["from"], "value": f"{run[5]['value']} \ud83d"}
    _, metrics = TrajectoryCompressor(SMALL).compress_trajectory(run)
    assert metrics.was_compressed
