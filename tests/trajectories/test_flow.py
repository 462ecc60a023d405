"""Summaries by models and functions: what they are shown, what becomes of what they say, and of failures."""

import asyncio
import threading
from dataclasses import replace

import pytest

from midfold.errors import ConfigError, ExtraMissing, SummaryUnavailable
from midfold.testing import HttpStatus, Reply, Upstream, transcript
from midfold.testing.upstream import NEVER
from midfold.trajectories import CompressionConfig, RowStatus, TrajectoryCompressor
from midfold.trajectories.flow import AnswerFailed, TrajectoryJob, compress, find_nonsense
from midfold.trajectories.tokenizer import load_tokenizer

SMALL = CompressionConfig(target_max_tokens=2_000, summary_target_tokens=400, max_retries=0)
WITH_DIGEST = replace(SMALL, on_summary_failure="digest")
GOOD = "## Goal\n- Make the meters follow the new rates.\n\n## Progress\n- The tariff was mended."
LONG = "\n".join(
    ["## Progress", *(f"- step {number}: read src/tariff.py, line {number}" for number in range(26))]
)
SECRET = "sk-ant-api03-" + "Zk3v9QpL7xWm2Tn5Rb8Yc4Hd6Jf1Gs0A" * 2


def make_run(seed=1, turns=12, **options):
    return transcript("sharegpt", seed=seed, turns=turns, result_chars=250, **options)


def summary_of(turns):
    [summary] = [turn for turn in turns if turn["value"].startswith("[CONTEXT COMPACTION")]
    return summary["value"]


def start(run, config=SMALL, window_tokens=100_000):
    """Start the flow of a run, to be driven by hand."""
    count = load_tokenizer("o200k_base")
    sizes = [count(turn["value"]) for turn in run]
    return compress(
        TrajectoryJob(run, sizes, config, count, count, use_model=True, window_tokens=window_tokens)
    )


def finish(flow, answer):
    with pytest.raises(StopIteration) as done:
        flow.send(answer)
    return done.value.value


def fail(_request):
    raise SummaryUnavailable("nobody is there")


def test_words_of_a_function_stand_in_the_summary():
    turns, metrics = TrajectoryCompressor(SMALL, summarizer=lambda _: GOOD).compress_trajectory(make_run())
    assert "The tariff was mended." in summary_of(turns)
    assert (metrics.summarizer, metrics.summarizer_calls, metrics.summarizer_errors) == ("model", 1, 0)


def test_model_is_shown_the_folded_turns_without_their_secrets():
    run = make_run()
    run[6] = {"from": "human", "value": f"My key is {SECRET}, and the gate is gate-4711."}
    request = next(start(run)).request
    assert "gate-4711" in request.prompt
    assert SECRET not in request.prompt
    assert run[1]["value"] not in request.prompt
    assert request.max_tokens < 400


def test_words_that_have_nothing_to_do_with_the_turns_are_no_summary():
    answers = ["asdf qwer", GOOD]
    compressor = TrajectoryCompressor(replace(SMALL, max_retries=1), summarizer=lambda _: answers.pop(0))
    turns, metrics = compressor.compress_trajectory(make_run())
    assert "The tariff was mended." in summary_of(turns)
    assert (metrics.summarizer_calls, metrics.summarizer_errors) == (2, 1)


@pytest.mark.parametrize("notes", ["The tariff was mended.", "## Progress\n- ok", "関税は改定されました"])
def test_words_about_the_turns_are_one(notes):
    assert find_nonsense(notes, "the Tariff of 関税") is None


async def compress_awaited(config):
    async with TrajectoryCompressor(config) as compressor:
        return await compressor.compress_trajectory_async(make_run())


def compress_blocking(config):
    with TrajectoryCompressor(config) as compressor:
        return compressor.compress_trajectory(make_run())


@pytest.mark.slow
@pytest.mark.parametrize("act", [compress_blocking, lambda config: asyncio.run(compress_awaited(config))])
def test_empty_answer_of_a_model_is_asked_for_again(act):
    with Upstream([Reply(""), Reply(GOOD)]) as up:
        _, metrics = act(replace(SMALL, max_retries=1, summary_model="openai/gpt-5-mini", base_url=up.url))
    assert metrics.was_compressed
    assert (metrics.summarizer_calls, metrics.summarizer_errors) == (2, 1)


def test_what_a_model_repeats_of_a_secret_is_taken_out():
    compressor = TrajectoryCompressor(SMALL, summarizer=lambda _: f"## Goal\n- Use the key {SECRET} here.")
    turns, metrics = compressor.compress_trajectory(make_run())
    assert metrics.was_compressed
    assert SECRET not in str(turns)


def test_long_passage_is_shown_in_pieces_that_update_one_summary():
    run = make_run(turns=40)
    flow = start(run, window_tokens=8_000)
    question, asked = next(flow), 1
    try:
        while True:
            question, asked = flow.send(f"## Goal\n- Piece {asked} was read."), asked + 1
            assert f"Piece {asked - 1} was read." in question.request.prompt
    except StopIteration as done:
        outcome = done.value
    assert asked > 1
    assert outcome.metrics.summarizer_calls == asked
    assert outcome.metrics.passes == 1


def test_summary_longer_than_planned_leads_to_another_pass_that_folds_more():
    run = make_run()
    flow = start(run)
    first = next(flow).request.prompt
    second = flow.send(LONG).request.prompt
    outcome = finish(flow, GOOD)
    assert "step 25" in second
    assert outcome.metrics.passes == 2
    assert not outcome.metrics.still_over_limit
    assert len(second) < len(first)


def test_summary_that_was_paid_for_is_used_where_a_further_pass_fails():
    flow = start(make_run(), replace(SMALL, max_retries=0))
    next(flow)
    flow.send(LONG)
    with pytest.raises(StopIteration) as done:
        flow.throw(SummaryUnavailable("no more"))
    turns, metrics = done.value.value.turns, done.value.value.metrics
    assert (metrics.was_compressed, metrics.summarizer_calls, metrics.summarizer_errors) == (True, 2, 1)
    assert metrics.compressed_tokens <= 2_000
    assert "step 1:" in summary_of(turns)


def test_summary_is_cut_where_no_further_pass_is_allowed():
    config = replace(SMALL, max_passes=1)
    turns, metrics = TrajectoryCompressor(config, summarizer=lambda _: LONG).compress_trajectory(make_run())
    assert metrics.passes == 1
    assert metrics.compressed_tokens <= 2_000
    assert "step 1:" in summary_of(turns)


def test_answer_of_no_use_is_asked_for_again_at_once():
    flow = start(make_run(), replace(SMALL, max_retries=2))
    first = next(flow)
    again = flow.send("")
    assert again == first
    metrics = finish(flow, GOOD).metrics
    assert (metrics.summarizer_calls, metrics.summarizer_errors, metrics.failure) == (2, 1, None)


def test_failure_is_asked_for_again_after_a_wait_that_grows():
    flow = start(make_run(), replace(SMALL, max_retries=3))
    waits = [next(flow).wait_seconds]
    waits += [flow.throw(AnswerFailed("broken off")).wait_seconds for _ in range(3)]
    assert waits == [0.0, 1.0, 2.0, 4.0]
    with pytest.raises(StopIteration) as done:
        flow.throw(AnswerFailed("broken off"))
    metrics = done.value.value.metrics
    assert (metrics.summarizer_calls, metrics.summarizer_errors, metrics.failure) == (4, 4, "broken off")


def test_who_has_no_summary_is_not_asked_again():
    flow = start(make_run(), replace(SMALL, max_retries=3))
    next(flow)
    with pytest.raises(StopIteration) as done:
        flow.throw(SummaryUnavailable("the quota is used up"))
    assert done.value.value.metrics.summarizer_calls == 1


@pytest.mark.parametrize("answer", ["", None, 5, "I'm sorry, but I can't help with that."])
def test_run_is_kept_as_it_was_where_no_answer_is_of_use(answer):
    run = make_run()
    turns, metrics = TrajectoryCompressor(SMALL, summarizer=lambda _: answer).compress_trajectory(run)
    assert turns == run
    assert metrics.still_over_limit
    assert "the summariser's answer" in metrics.failure


def test_digest_stands_in_where_that_is_asked_for():
    turns, metrics = TrajectoryCompressor(WITH_DIGEST, summarizer=fail).compress_trajectory(make_run())
    assert metrics.was_compressed
    assert (metrics.summarizer, metrics.summarizer_errors) == ("digest", 1)
    assert metrics.failure == "no summary: nobody is there"
    assert "## Progress" in summary_of(turns)


def test_secrets_in_what_a_function_raises_are_not_listed():
    def leak(_request):
        raise ValueError(f"refused key {SECRET}")

    result = TrajectoryCompressor(SMALL, summarizer=leak).compress_row({"conversations": make_run()})
    assert result.status is RowStatus.KEPT
    assert result.reason.startswith("ValueError: refused key")
    assert SECRET not in result.reason


def test_what_must_be_awaited_is_refused_where_nobody_awaits():
    async def summarize(_request):
        return GOOD

    with pytest.raises(ConfigError, match="one that is not, or the async methods"):
        TrajectoryCompressor(SMALL, summarizer=summarize).compress_trajectory(make_run())


def test_model_beside_a_function_is_refused():
    with pytest.raises(ConfigError, match="either a summary_model or a summarizer"):
        TrajectoryCompressor(replace(SMALL, summary_model="openai/gpt-5-mini"), summarizer=fail)


def compress_all(compressor, runs):
    async def work():
        async with compressor:
            rows = [{"conversations": run} for run in runs]
            return await asyncio.gather(*(compressor.compress_row_async(row) for row in rows))

    return asyncio.run(work())


@pytest.mark.parametrize("is_awaited", [False, True])
def test_awaited_and_not_give_the_same(is_awaited):
    async def awaited(_request):
        return GOOD

    summarizer = awaited if is_awaited else lambda _: GOOD
    runs = [make_run(seed) for seed in range(3)]
    results = compress_all(TrajectoryCompressor(SMALL, summarizer=summarizer), runs)
    other = TrajectoryCompressor(SMALL, summarizer=lambda _: GOOD)
    assert results == [other.compress_row({"conversations": run}) for run in runs]


def test_digest_needs_nobody_to_await():
    run = make_run()
    compressor = TrajectoryCompressor(SMALL)
    assert asyncio.run(compressor.compress_trajectory_async(run)) == compressor.compress_trajectory(run)


def test_no_more_questions_are_under_way_than_allowed():
    under_way, most = 0, 0

    async def summarize(_request):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return GOOD

    config = replace(SMALL, max_concurrent_requests=3)
    results = compress_all(TrajectoryCompressor(config, summarizer=summarize), [make_run()] * 12)
    assert {result.status for result in results} == {RowStatus.COMPRESSED}
    assert most == 3


def test_run_whose_summary_comes_too_late_is_kept_and_holds_up_no_other():
    async def summarize(request):
        if "gate-4711" in request.prompt:
            await asyncio.Event().wait()
        return GOOD

    late = make_run()
    late[6] = {"from": "human", "value": "Look at gate-4711, please."}
    config = replace(SMALL, timeout_seconds=0.05, max_concurrent_requests=1)
    results = compress_all(TrajectoryCompressor(config, summarizer=summarize), [late, make_run(2), late])
    assert [result.status for result in results] == [RowStatus.KEPT, RowStatus.COMPRESSED, RowStatus.KEPT]
    assert results[0].row == {"conversations": late}
    assert results[0].reason == "no summary: not within 0.05 s"


def test_function_that_blocks_is_given_up_on_time():
    released = threading.Event()
    config = replace(WITH_DIGEST, timeout_seconds=0.05)
    compressor = TrajectoryCompressor(config, summarizer=lambda _: released.wait() and GOOD)
    [result] = compress_all(compressor, [make_run()])
    released.set()
    assert result.status is RowStatus.COMPRESSED
    assert result.metrics.summarizer == "digest"


@pytest.mark.parametrize("is_awaited", [False, True])
def test_model_writes_the_summary_and_is_paid_for(is_awaited):
    with Upstream(Reply(GOOD)) as up:
        compressor = TrajectoryCompressor(replace(SMALL, summary_model="local/small", base_url=up.url))
        if is_awaited:
            [result] = compress_all(compressor, [make_run()])
        else:
            with compressor:
                result = compressor.compress_row({"conversations": make_run()})
        [received] = up.requests
    assert "The tariff was mended." in summary_of(result.row["conversations"])
    assert [call.model for call in compressor.calls] == ["local/small"]
    assert compressor.calls[0].usage.total_tokens > 0
    assert "src/tariff.py" in received.body.decode()


def test_model_that_fails_for_one_run_is_asked_for_the_next():
    with Upstream([HttpStatus(400), Reply(GOOD)]) as up:
        config = replace(SMALL, summary_model="local/small", base_url=up.url, max_concurrent_requests=1)
        results = compress_all(TrajectoryCompressor(config), [make_run(1), make_run(2)])
    assert [result.status for result in results] == [RowStatus.KEPT, RowStatus.COMPRESSED]


def test_model_that_never_answers_is_given_up_on_time():
    with Upstream([NEVER]) as up:
        config = replace(SMALL, summary_model="local/small", base_url=up.url, timeout_seconds=0.1)
        [result] = compress_all(TrajectoryCompressor(config), [make_run()])
    assert result.status is RowStatus.KEPT


def test_model_that_cannot_be_asked_is_told_before_the_first_row():
    with pytest.raises((ConfigError, ExtraMissing)):
        TrajectoryCompressor(replace(SMALL, summary_model="nobody/nothing")).check()


def test_rehearsal_measures_without_asking():
    compressor = TrajectoryCompressor(SMALL, summarizer=fail)
    result = compressor.measure_row({"conversations": make_run()})
    assert result.status is RowStatus.COMPRESSED
    assert result.metrics.summarizer_calls == 0
    assert result == TrajectoryCompressor(SMALL).compress_row({"conversations": make_run()})


def test_family_counts_turn_by_turn():
    turns = [{"from": "human", "value": "Count the meters."}, {"from": "gpt", "value": "Twelve."}]
    with TrajectoryCompressor() as compressor:
        counts = compressor.count_turn_tokens(turns)
        assert counts == [compressor.count_turn_tokens(turn) for turn in turns]
        assert compressor.count_trajectory_tokens(turns) == sum(counts)
