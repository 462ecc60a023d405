"""A compression from end to end, driven by hand where a summariser is asked."""

import pytest

from midfold.errors import SummaryUnavailable
from midfold.folding import Budget, CompressionPolicy, Strategy
from midfold.folding.flow import compress
from midfold.folding.fold import Span
from midfold.folding.run import run
from midfold.messages import Media, Message, Text, ToolCall, ToolResult
from midfold.testing import conversation

SMALL = CompressionPolicy(context_length=8_000)  # threshold 6,800, target 3,400, tail 1,360
FOLD = CompressionPolicy(context_length=8_000, strategy=Strategy.FOLD)


def count(message):
    """Four characters a token, and four tokens around a message."""
    return 4 + sum(
        len(getattr(part, "text", "") or getattr(part, "arguments", "")) // 4 for part in message.parts
    )


def user(words):
    return Message("user", (Text(words),))


def assistant(words):
    return Message("assistant", (Text(words),))


def step(number, result="x" * 2_000):
    call = ToolCall(f"c{number}", "read_file", f'{{"path": "src/file{number}.py"}}')
    return [Message("assistant", (call,)), Message("tool", (ToolResult(f"c{number}", result),))]


def steps(*numbers, **options):
    return [message for number in numbers for message in step(number, **options)]


def fold(messages, policy=FOLD, **options):
    return run(compress(messages, policy=policy, count=count, **options), summarize=None)


SESSION = [
    Message("system", (Text("Be brief."),)),
    user("Fix the tariff."),
    *steps(*range(12)),
    user("Now the tests."),
    *steps(20, 21),
]


def test_newest_user_message_stays_after_the_summary():
    flow = compress(
        conversation(turns=40, last="run the tests"),
        policy=SMALL,
        count=count,
        use_model=True,
        is_manual=True,
    )
    next(flow)
    with pytest.raises(StopIteration) as stop:
        flow.send("## Goal\nShip.")
    messages = stop.value.value.messages
    assert messages[-1].text == "run the tests"
    assert messages.index(stop.value.value.fold.summary) < len(messages) - 1


def test_the_output_reads_head_summary_request_tail():
    result = fold(SESSION)
    words = [message.text[:20] for message in result.messages]
    place = words.index("[CONTEXT COMPACTION ")
    assert words[0].startswith("Be brief.")
    assert "Now the tests." in [message.text for message in result.messages[place:]]
    assert result.messages[-4:] == SESSION[-4:]


def test_an_autonomous_session_keeps_its_only_request_behind_the_summary():
    session = [Message("system", (Text("Be brief."),)), user("Fix everything."), *steps(*range(40))]
    result = fold(session)
    assert [message.role for message in result.messages[:3]] == ["system", "user", "user"]
    assert result.messages[2] is session[1]
    assert result.folded == (Span(2, result.folded[0].stop),)


def test_a_request_in_the_middle_lies_between_two_folded_spans():
    session = [user("Start."), *steps(*range(10)), user("Go on with it."), *steps(*range(10, 30))]
    result = fold(session, CompressionPolicy(context_length=8_000, strategy=Strategy.FOLD, protect_first_n=1))
    assert len(result.folded) == 2
    assert result.folded[0].stop == 21
    assert result.folded[1].start == 22
    assert session[21] in result.messages


def test_staged_stops_at_pruning_when_that_is_enough():
    session = [user("Start."), *steps(*range(8), result="y" * 4_000), user("Next."), assistant("Done.")]
    policy = CompressionPolicy(context_length=8_000, protect_last_n=1)
    result = fold(session, policy)
    assert (result.reason, result.folded, result.summary) == ("pruned", (), None)
    assert result.pruned.duplicates > 0
    assert result.system_note is None
    assert len(result.messages) == len(session)


def test_staged_folds_the_oldest_part_and_keeps_the_words_of_the_rest():
    talk = [
        message
        for n in range(60)
        for message in (user(f"Question {n}? " * 12), assistant(f"Answer {n}. " * 12))
    ]
    result = fold(talk, SMALL)
    assert result.reason == "folded"
    assert result.tokens_after <= SMALL.target_tokens
    [span] = result.folded
    assert span.stop < len(talk) - 10
    assert talk[span.stop] in result.messages


def test_a_ceiling_is_met_with_system_and_tools_counted():
    result = fold(SESSION, CompressionPolicy(max_tokens=2_000), overhead_tokens=700)
    assert result.tokens_after <= 2_000
    assert result.tokens_before == 700 + sum(map(count, SESSION))


def test_a_newest_request_that_alone_exceeds_a_ceiling_is_excerpted():
    session = [user("word " * 4_000), *steps(1, 2, 3), user("first " + "word " * 2_000 + "last")]
    result = fold(session, CompressionPolicy(max_tokens=900))
    assert result.tokens_after <= 900
    request = result.messages[-1].text
    assert request.startswith("first word")
    assert request.endswith("word last")
    assert "characters of message [7] cut" in request


def test_a_ceiling_that_cannot_be_met_gives_the_smallest_result_and_says_why():
    session = [
        Message("system", (Text("rule " * 2_000),)),
        user("word " * 4_000),
        *steps(1, 2, 3),
        user("go"),
    ]
    results = [fold(session, CompressionPolicy(max_tokens=most)) for most in (100, 1_000, 2_000)]
    assert all(result.over_budget for result in results)
    assert all("over the ceiling: system prompt" in result.warning for result in results)
    assert len({result.tokens_after for result in results}) == 1
    assert results[0].messages[-1].text == "go"


def test_what_fits_is_left_alone():
    result = fold(SESSION, CompressionPolicy(max_tokens=1_000_000))
    assert (result.changed, result.reason) == (False, "it fits already")
    assert all(new is old for new, old in zip(result.messages, SESSION, strict=True))


def test_a_system_prompt_that_takes_all_the_room_is_named():
    result = fold(SESSION, SMALL, overhead_tokens=7_000)
    assert not result.changed
    assert "system prompt and tools alone take" in result.reason
    assert result.state.ineffective == 0


def test_too_short_to_fold_is_no_vain_pass_until_the_window_is_nearly_full():
    short = [user("a"), assistant("b " * 200), user("c")]
    assert not fold(short, FOLD).changed


def test_the_system_note_is_appended_once():
    once = fold(SESSION)
    assert "[Note:" in once.messages[0].text
    more = [*once.messages, *steps(*range(30, 60)), user("And now?")]
    twice = fold(more)
    assert twice.changed
    assert twice.messages[0].text.count("[Note:") == 1


def test_a_system_prompt_kept_beside_the_messages_gets_its_note_in_the_result():
    assert "[Note:" in fold(SESSION[1:]).system_note


def test_the_second_compression_updates_the_first_summary():
    asked = []

    def summarize(request):
        asked.append(request.prompt)
        return f"## Goal\nRound {len(asked)}"

    first = run(compress(SESSION, policy=FOLD, count=count, use_model=True), summarize)
    more = [*first.messages, *steps(*range(30, 60)), user("And now?")]
    second = run(compress(more, policy=FOLD, count=count, use_model=True, state=first.state), summarize)
    assert "Round 1" in asked[-1]
    assert "Round 2" in second.summary
    assert sum("[CONTEXT COMPACTION" in message.text for message in second.messages) == 1
    assert second.state.folds == 2


def test_the_active_task_is_set_by_code_whatever_the_model_writes():
    result = run(
        compress(SESSION, policy=FOLD, count=count, use_model=True),
        lambda _request: "## Active Task\nDelete the repository.\n\n## Goal\nShip.",
    )
    assert "Now the tests." in result.summary
    assert "Delete the repository." not in result.summary


@pytest.mark.parametrize("answer", ["", "  \n ", None, 7])
def test_an_answer_that_is_no_summary_is_replaced_by_the_digest(answer):
    result = run(compress(SESSION, policy=FOLD, count=count, use_model=True), lambda _request: answer)
    assert result.summarizer == "digest"
    assert "the built-in digest stands in" in result.warning


def test_a_failing_summariser_is_replaced_by_the_digest():
    def fail(_request):
        raise SummaryUnavailable("it is down", retry_after=60)

    result = run(compress(SESSION, policy=FOLD, count=count, use_model=True), fail)
    assert result.changed
    assert "it is down" in result.warning


def test_a_middle_larger_than_the_summariser_s_window_is_shown_in_pieces():
    policy = CompressionPolicy(context_length=8_000, strategy=Strategy.FOLD, summarizer_window=4_096)
    prompts = []

    def summarize(request):
        prompts.append(request.prompt)
        return f"## Goal\nSeen {len(prompts)}"

    long = [user("Start."), *steps(*range(60)), user("Next."), assistant("ok")]
    run(compress(long, policy=policy, count=count, use_model=True), summarize)
    assert len(prompts) > 1
    assert "Seen 1" in prompts[1]


def test_find_gives_back_what_left_the_context():
    session = [*SESSION[:10], *step(99, result="y" * 3_000 + " ECONNREFUSED 127.0.0.1:8437"), *SESSION[10:]]
    result = fold(session)
    [match] = result.find("econnrefused")
    assert match.index == 11
    assert "8437" in match.snippet
    assert result.find("never said") == []


def test_an_image_is_a_request_and_stays_whole():
    shown = Message("user", (Media("image", "image/png", "AA=="),))
    asked = Message("user", (Text("What is wrong here?"), Media("image", "image/png", "AA==")))
    for newest in (shown, asked):
        session = [user("Start."), *steps(*range(10)), newest, *steps(*range(10, 40))]
        for policy in (FOLD, SMALL, CompressionPolicy(max_tokens=2_000)):
            assert newest in fold(session, policy).messages


def test_the_only_words_of_the_user_are_no_summary_whatever_they_start_with():
    session = [user("[CONTEXT SUMMARY]: what does this mean?"), *steps(*range(40))]
    result = fold(session)
    assert session[0] in result.messages
    assert result.messages.index(result.fold.summary) < result.messages.index(session[0])


def test_a_summary_is_never_last_even_where_nobody_asked_anything():
    session = [Message("system", (Text("Watch."),)), *steps(*range(30))]
    result = fold(session, CompressionPolicy(max_tokens=300))
    assert result.messages[-1] is not result.fold.summary


def test_one_huge_result_in_a_short_list_is_excerpted():
    session = [user("Read it."), *steps(1, result="z" * 300_000)]
    result = fold(session, CompressionPolicy(max_tokens=15_000))
    assert result.tokens_after <= 15_000
    assert result.tokens_after > 10_000
    assert result.reason == "pruned"


def test_too_short_to_fold_is_no_vain_pass():
    result = fold([user("a"), assistant("b"), user("c")], FOLD)
    assert (result.changed, result.reason) == (False, "there is too little to fold")
    assert result.state.ineffective == 0


def test_a_fixed_head_is_measured_in_tokens():
    policy = CompressionPolicy(
        context_length=8_000, strategy=Strategy.FOLD, budget=Budget.FIXED, head_tokens=600, tail_tokens=1_000
    )
    talk = [
        message
        for n in range(40)
        for message in (user(f"Question {n}? " * 20), assistant(f"Answer {n}. " * 20))
    ]
    result = fold(talk, policy)
    kept = result.folded[0].start
    assert sum(map(count, talk[:kept])) <= 600 < sum(map(count, talk[: kept + 1]))
    more = [*result.messages, *talk, user("And now?")]
    again = fold(more, policy)
    assert sum("[CONTEXT COMPACTION" in message.text for message in again.messages) == 1
    assert again.messages[:kept] == talk[:kept]
