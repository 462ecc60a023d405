"""The ladder: what is tried after a failure, in which order, and that it always ends."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midfold.engines.recovery import (
    MAX_ATTEMPTS,
    Advice,
    Attempt,
    Compress,
    GiveUp,
    LowerOutputCap,
    OffloadMedia,
    Repair,
    learn_limit,
    recover,
)
from midfold.errors import ProviderError
from midfold.providers import BlockingModel, Model, Retries
from midfold.testing.upstream import HttpStatus, Upstream
from midfold.tokens.learned_limits import LearnedLimits, Lesson
from midfold.wire.failures import Failure, FailureKind, classify, judge_reply

WINDOW = 200_000
TOO_LONG = classify(400, "prompt is too long: 240000 tokens > 200000 maximum")
UNCOUNTED = classify(400, "Input is too long for requested model.")
SPLIT = classify(400, "input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000")
TOO_LARGE = classify(
    413, '{"error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}'
)
MALFORMED = classify(400, "tool_use ids were found without tool_result blocks immediately after: toolu_1")
RATE = classify(429, "Rate limit reached, please try again in 2s")


def attempt(failure, sent=240_000, **facts):
    return Attempt(failure, sent, WINDOW, **facts)


def climb(first, *following, **options):
    """Drive a ladder by hand and return its steps, with the end where it came to one."""
    ladder = recover(first, **options)
    return [_advance(ladder, sent) for sent in (None, *following)]


def _advance(ladder, sent=None):
    try:
        return ladder.send(sent)
    except StopIteration as end:
        return end.value


def test_a_prompt_too_long_is_folded_below_the_stated_limit():
    [step] = climb(attempt(TOO_LONG))
    assert step == Compress(180_000)


def test_each_fold_aims_lower_and_the_third_failure_is_the_last():
    steps = climb(
        attempt(TOO_LONG),
        attempt(TOO_LONG, 180_000),
        attempt(TOO_LONG, 140_000),
        attempt(TOO_LONG, 100_000),
    )
    targets = [step.target_tokens for step in steps[:MAX_ATTEMPTS]]
    assert targets == sorted(targets, reverse=True)
    assert targets[1] <= 180_000 * 0.9
    assert steps[-1] == GiveUp(Advice.STILL_TOO_LONG)


def test_a_fold_that_takes_away_less_than_a_tenth_ends_the_ladder():
    steps = climb(attempt(TOO_LONG), attempt(TOO_LONG, 230_000))
    assert steps[-1] == GiveUp(Advice.STILL_TOO_LONG)
    assert "/new" in steps[-1].advice
    assert "/compress" in steps[-1].advice


def test_a_provider_that_counts_more_than_we_do_gets_a_lower_target():
    [step] = climb(attempt(TOO_LONG, 200_000))
    assert step == Compress(150_000)


def test_room_is_left_for_the_output_that_was_asked_for():
    [step] = climb(attempt(TOO_LONG, output_cap=20_000))
    assert step == Compress(162_000)


def test_an_output_cap_is_lowered_to_what_the_prompt_leaves():
    [step] = climb(attempt(SPLIT, 143_000, output_cap=64_000))
    assert step == LowerOutputCap(200_000 - 143_653 - 64)


def test_an_output_cap_of_its_own_is_lowered_to_that():
    failure = classify(
        400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens"
    )
    assert climb(attempt(failure, 10_000, output_cap=128_001)) == [LowerOutputCap(64_000)]


def test_a_prompt_that_leaves_no_output_is_folded_as_well():
    text = "This model's maximum context length is 131072 tokens. However, you requested 139162 tokens"
    failure = classify(400, f"{text} (130970 in the messages, 8192 in the completion).")
    [step] = climb(replace(attempt(failure, 130_000, output_cap=8192), window_tokens=131_072))
    assert isinstance(step, Compress)
    assert step.output_cap == 8192
    assert step.target_tokens + 8192 < 131_072


def test_a_lower_bound_for_the_prompt_does_not_lead_to_tiny_steps():
    text = (
        "maximum context length is 128000 tokens. However, you requested 65535 output tokens and your prompt"
    )
    failure = classify(400, f"{text} contains at least 62466 input tokens")
    [step] = climb(replace(attempt(failure, 80_000, output_cap=65_535), window_tokens=128_000))
    assert step == LowerOutputCap(128_000 - 80_000 - 64)


def test_without_numbers_the_output_cap_is_lowered_first_where_the_prompt_seems_to_fit():
    steps = climb(
        attempt(UNCOUNTED, 150_000, output_cap=64_000), attempt(UNCOUNTED, 150_000, output_cap=32_000)
    )
    assert steps[0] == LowerOutputCap(32_000)
    assert isinstance(steps[1], Compress)


def test_without_numbers_and_without_a_cap_the_prompt_is_folded():
    assert climb(attempt(UNCOUNTED, 150_000)) == [Compress(135_000)]


def test_a_total_of_prompt_and_output_is_told_from_a_prompt():
    failure = classify(400, "Current length is 214000 while limit is 200000")
    assert failure.kind is FailureKind.PROMPT_TOO_LONG
    [step] = climb(attempt(failure, 150_000, output_cap=64_000))
    assert step == LowerOutputCap(200_000 - 150_000 - 64)


def test_media_are_offloaded_before_anything_is_folded():
    first = attempt(TOO_LARGE, 50_000, media_bytes=9_000_000)
    without = replace(first, media_bytes=0)
    assert [type(step) for step in climb(first, without)] == [OffloadMedia, Compress]
    assert [type(step) for step in climb(without)] == [Compress]


@pytest.mark.parametrize("left_bytes", [9_000_000, 8_900_000])
def test_offloading_that_took_nothing_away_ends_the_ladder(left_bytes):
    first = attempt(TOO_LARGE, 50_000, media_bytes=9_000_000)
    steps = climb(first, replace(first, media_bytes=left_bytes))
    assert steps == [OffloadMedia(), GiveUp(Advice.STILL_TOO_LARGE)]


def test_a_malformed_history_is_repaired_once():
    broken = attempt(MALFORMED)
    assert climb(broken, broken) == [Repair(), GiveUp(Advice.MALFORMED)]


@pytest.mark.parametrize(
    ("failure", "advice"),
    [
        (RATE, Advice.RATE),
        (classify(413, "tokens per minute (TPM): Limit 6000, Requested 14368"), Advice.ABOVE_RATE),
        (classify(402, "requires more credits, or fewer max_tokens"), Advice.NOT_OURS),
        (classify(401, "Incorrect API key provided"), Advice.NOT_OURS),
    ],
)
def test_what_is_not_ours_is_passed_on(failure, advice):
    assert climb(attempt(failure)) == [GiveUp(advice)]


def test_another_failure_on_the_way_is_answered_for_what_it_is():
    assert climb(attempt(TOO_LONG), attempt(RATE, 150_000))[-1] == GiveUp(Advice.RATE)


def test_a_silent_overflow_climbs_the_same_ladder():
    silent = judge_reply(usage={"prompt_tokens": 60_000}, sent_tokens=150_000, window_tokens=WINDOW)
    [step] = climb(attempt(silent.failure, 150_000))
    assert step == Compress(54_000)


def test_with_compression_off_an_overflow_is_reported_and_an_output_cap_still_lowered():
    off = {"is_compression_enabled": False}
    assert climb(attempt(TOO_LONG), **off) == [GiveUp(Advice.COMPRESSION_OFF)]
    assert climb(attempt(TOO_LARGE, media_bytes=1_000), **off) == [GiveUp(Advice.STILL_TOO_LARGE)]
    assert climb(attempt(SPLIT, 143_000, output_cap=64_000), **off) == [LowerOutputCap(56_283)]
    nearly_full = replace(SPLIT, input_tokens=199_500)
    assert climb(attempt(nearly_full, 143_000, output_cap=64_000), **off) == [LowerOutputCap(436)]


# Limits that nobody should learn


def test_a_limit_no_conversation_fits_in_costs_neither_the_window_nor_the_conversation(tmp_path):
    limits = LearnedLimits(tmp_path / "limits.json")
    lie = classify(400, "This model's maximum context length is 10 tokens. However, you requested 99 tokens.")
    for _ in range(3):
        assert learn(lie, limits) is Lesson.REFUSED
    assert limits.get("endpoint", "model") is None
    assert climb(attempt(lie, 100_000)) == [Compress(90_000)]


def test_a_surprisingly_small_limit_is_believed_when_it_is_stated_again(tmp_path):
    limits = LearnedLimits(tmp_path / "limits.json")
    small = classify(400, "prompt is too long: 100000 tokens > 8192 maximum")
    assert learn(small, limits) is Lesson.SEEN_ONCE
    assert limits.get("endpoint", "model") is None
    assert learn(small, limits) is Lesson.LEARNED
    steps = climb(attempt(small, 100_000), attempt(small, 45_000))
    assert steps[0] == Compress(45_000)  # a quarter of the window, not yet what it states
    assert steps[1].target_tokens < 8192


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (402, "You requested up to 65536 tokens, but can only afford 10114. Add more credits"),
        (402, "Prompt tokens limit exceeded: 230799 > 91442. Create a key with a higher monthly limit"),
        (400, "invalid params, context window exceeds limit (2013)"),
        (400, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens"),
        (400, "input length and `max_tokens` exceed context limit: 90402 + 116650 > 150000"),
        (429, "tokens per min (TPM): Limit 30000, Requested 132819"),
        (400, "prompt too long; exceeded max context length by 40960 tokens"),
    ],
)
def test_credit_codes_caps_rates_and_excesses_leave_the_window_unchanged(tmp_path, status, text):
    limits = LearnedLimits(tmp_path / "limits.json")
    for _ in range(2):
        assert learn(classify(status, text), limits) is Lesson.REFUSED
    assert limits.get("endpoint", "model") is None


def test_a_window_is_learnt_for_its_own_endpoint_and_model_alone(tmp_path):
    limits = LearnedLimits(tmp_path / "limits.json")
    stated = classify(400, "prompt is too long: 200034 tokens > 150000 maximum")
    assert learn(stated, limits) is Lesson.LEARNED
    assert limits.get("endpoint", "another model") is None
    assert limits.get("another endpoint", "model") is None


HOSTILE = [
    HttpStatus(400, {"error": {"message": "This model's maximum context length is 10 tokens, you sent 99."}}),
    HttpStatus(402, {"error": {"message": "Prompt tokens limit exceeded: 230799 > 5000. Add more credits"}}),
    HttpStatus(400, {"error": {"message": "invalid params, context window exceeds limit (2013)"}}),
    HttpStatus(500, "<html>maximum context length is 1 token</html>"),
]


@pytest.mark.parametrize("answer", HOSTILE)
def test_a_hostile_upstream_leaves_the_window_unchanged(tmp_path, answer):
    limits = LearnedLimits(tmp_path / "limits.json")
    with (
        Upstream(answer) as up,
        BlockingModel(Model.open("m", base_url=up.url, retries=Retries(max_calls=1))) as model,
    ):
        for _ in range(3):
            with pytest.raises(ProviderError) as caught:
                model.complete("hello")
            failure = classify(caught.value.status, caught.value.body)
            assert learn(failure, limits) is Lesson.REFUSED
    assert limits.get("endpoint", "model") is None


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("prompt is too long: 200034 tokens > 150000 maximum", 150_000),
        ("The input token count exceeds the maximum number of tokens allowed (131072).", 131_072),
        ("Range of input length should be [1, 98304]", 98_304),
        (
            "request (138229 tokens) exceeds the available context size (133376 tokens), try increasing it",
            133_376,
        ),
    ],
)
def test_a_window_that_a_known_wording_states_is_learnt(tmp_path, text, limit):
    limits = LearnedLimits(tmp_path / "limits.json")
    assert learn(classify(400, text), limits) is Lesson.LEARNED
    assert limits.get("endpoint", "model") == limit


def learn(failure, limits):
    return learn_limit(failure, limits, endpoint="endpoint", model="model", configured_tokens=WINDOW)


counts = st.none() | st.integers(0, 2_000_000)
failures = st.builds(
    Failure,
    kind=st.sampled_from(FailureKind),
    message=st.just(""),
    limit=counts,
    input_tokens=counts,
    requested_output_tokens=counts,
    malformed=st.booleans(),
    exceeds_rate=st.booleans(),
)
attempts = st.builds(
    Attempt,
    failures,
    sent_tokens=st.integers(0, 2_000_000),
    window_tokens=st.integers(1, 2_000_000),
    output_cap=counts,
    media_bytes=st.integers(0, 50_000_000),
)


@given(attempts, st.lists(st.tuples(attempts, st.booleans()), min_size=MAX_ATTEMPTS), st.booleans())
def test_any_sequence_of_failures_ends_after_three_ever_smaller_attempts(first, rest, is_enabled):
    ladder = recover(first, is_compression_enabled=is_enabled)
    before, step, taken = first, _advance(ladder), []
    for later, is_obedient in rest:
        if isinstance(step, GiveUp):
            break
        taken.append(step)
        assert is_smaller(step, before)
        before = carried_out(step, before, later) if is_obedient else later
        step = _advance(ladder, before)
    assert isinstance(step, GiveUp)
    assert len(taken) <= MAX_ATTEMPTS
    assert is_enabled or not any(isinstance(step, Compress | OffloadMedia) for step in taken)


def is_smaller(step, before):
    """Say whether carrying a step out would make the request at least a tenth smaller."""
    match step:
        case Compress(target):
            return 1 <= target <= max(1, before.sent_tokens * 0.9)
        case LowerOutputCap(cap):
            return cap >= 1 and (before.output_cap is None or cap <= before.output_cap * 0.9)
    return True


def carried_out(step, before, later):
    """Return a later failure of the request that came out of a step."""
    kept = {"sent_tokens": before.sent_tokens, "output_cap": before.output_cap}
    same = replace(later, **kept, media_bytes=before.media_bytes)
    match step:
        case Compress(target, cap):
            return replace(same, sent_tokens=target, output_cap=cap or before.output_cap)
        case LowerOutputCap(cap):
            return replace(same, output_cap=cap)
        case OffloadMedia():
            return replace(same, media_bytes=0)
    return same
