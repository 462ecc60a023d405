"""What pruning took out is shown to the next fold, and large pastes leave the window."""

from midfold.engines import ContextCompressor
from midfold.folding import CompressionPolicy, Strategy

PLANTED = 40


def step(number):
    call = {"name": "run_job", "arguments": f'{{"job": "nightly-{number}"}}'}
    lines = [f"row {number}-{n} written without remark" for n in range(60)]
    lines[30] = f"E{7000 + number}: ledger row {number} rejected, balance off by {number}.37"
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": "\n".join(lines)},
    ]


def test_lines_that_pruning_hid_are_shown_to_the_next_summariser():
    shown = []

    def summarize(request):
        shown.append(request.prompt)
        return "## Goal\n- Mend the ledger."

    policy = CompressionPolicy(protect_last_n=1)
    engine = ContextCompressor(30_000, policy=policy, summarizer=summarize, prepare_ahead=False)
    messages = [{"role": "user", "content": "Run all jobs."}]
    for number in range(PLANTED):
        messages += step(number)
    messages += [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "All ran."}]
    engine.policy = CompressionPolicy(protect_last_n=1, strategy=Strategy.PRUNE)
    pruned = engine.compress_result(messages)
    assert (pruned.reason, shown) == ("pruned", [])
    planted = [f"E{7000 + number}: ledger row {number}" for number in range(PLANTED)]
    assert sum(line in str(pruned.messages) for line in planted) < PLANTED // 2
    engine.policy = CompressionPolicy(strategy=Strategy.FOLD)
    after = [
        *pruned.messages,
        {"role": "user", "content": "Sum up."},
        {"role": "assistant", "content": "word " * 9_000},
    ]
    folded = engine.compress_result(after)
    assert folded.reason == "folded"
    seen = "\n".join(shown)
    gone = {index for span in folded.folded for index in span}
    numbers = [number for number in range(PLANTED) if 2 + 2 * number in gone]
    assert len(numbers) > PLANTED // 2
    assert all(planted[number] in seen for number in numbers)


def test_a_first_message_above_95_percent_of_the_window_is_cut_and_the_next_prompt_fits():
    engine = ContextCompressor(20_000)
    messages = [{"role": "user", "content": "Look at this:\n" + "a line of a log\n" * 5_000 + "What failed?"}]
    assert engine.should_compress_preflight(messages)
    result = engine.compress_result(messages)
    assert result.changed
    assert result.tokens_after < engine.threshold_tokens
    assert result.messages[0]["content"].endswith("What failed?")
    after = [
        *result.messages,
        {"role": "assistant", "content": "Row 7."},
        {"role": "user", "content": "Why?"},
    ]
    assert not engine.should_compress_preflight(after)


def test_a_paste_among_the_first_messages_is_folded_like_any_other():
    engine = ContextCompressor(60_000)
    paste = {"role": "user", "content": "Zone 7 costs 4.50.\n" * 6_000}
    talk = [{"role": "user" if n % 2 else "assistant", "content": f"Word {n}. " * 40} for n in range(20)]
    result = engine.compress_result([paste, *talk], focus_topic="zones")
    assert 0 in {index for span in result.folded for index in span}
    assert result.tokens_after < 15_000


def test_a_summary_stays_within_its_budget_whoever_writes_it():
    for summarizer in (None, lambda _request: "## Goal\n- Ship it."):
        engine = ContextCompressor(200_000, summarizer=summarizer, prepare_ahead=False)
        messages = [{"role": "user", "content": "Run all jobs."}]
        for number in range(150):
            messages += step(number)
        messages += [{"role": "user", "content": "And now?"}, {"role": "assistant", "content": "All ran."}]
        result = engine.compress_result(messages, focus_topic="the ledger rows")
        folded = sum(len(span) for span in result.folded)
        assert folded > 100
        assert result.summary_tokens <= engine.policy.summary_budget_tokens(10**9) == 10_000
