"""The default engine, as a host drives it."""

import asyncio

import pytest

from midfold.engines import ContextCompressor, ContextEngine
from midfold.errors import ConfigError, EngineContractError
from midfold.folding import CompressionPolicy, Strategy
from midfold.testing import check_engine, transcript
from midfold.wire import parse
from midfold.wire.validate import validate

WINDOW = 8_000  # threshold 6,800, target 3,400, tail 1,360
FOLD = CompressionPolicy(strategy=Strategy.FOLD)
ROOMY = 28_500  # a long session fills it to 90 %: over the threshold, short of an emergency


def long_session(turns=30, **options):
    return transcript("openai_chat", turns=turns, result_chars=800, **options)


@pytest.mark.slow
def test_the_engine_keeps_every_promise():
    check_engine(lambda: ContextCompressor(WINDOW))


def test_a_broken_engine_is_named_with_the_promise_it_breaks():
    class Loses(ContextCompressor):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            return messages[:1]

    with pytest.raises(EngineContractError, match="breaks a promise"):
        check_engine(lambda: Loses(WINDOW))


def test_hosts_read_the_attributes_of_the_contract():
    engine = ContextCompressor(200_000)
    assert (engine.context_length, engine.threshold_tokens, engine.threshold_percent) == (
        200_000,
        100_000,
        0.50,
    )
    assert (engine.protect_first_n, engine.protect_last_n, engine.compression_count) == (3, 20, 0)
    assert (ContextEngine.threshold_percent, ContextEngine.protect_last_n) == (0.75, 6)


def test_a_reply_over_the_threshold_asks_for_compression():
    engine = ContextCompressor(200_000)
    engine.update_from_response({"prompt_tokens": 99_999, "completion_tokens": 50_000})
    assert not engine.should_compress()
    engine.update_from_response({"input_tokens": 10, "cache_read_input_tokens": 99_990, "output_tokens": 5})
    assert engine.should_compress()
    assert engine.get_status()["usage_percent"] == 50.0


def test_preflight_counts_system_prompt_and_tools():
    engine = ContextCompressor(WINDOW)
    messages = [{"role": "user", "content": "hi"}]
    assert not engine.should_compress_preflight(messages)
    assert engine.should_compress_preflight(messages, system="word " * 8_000)
    assert engine.should_compress_preflight(messages, tools=[{"name": "t", "description": "word " * 8_000}])


def test_compressing_at_the_threshold_aims_at_half_of_it():
    engine = ContextCompressor(WINDOW)
    messages = long_session()
    assert engine.should_compress_preflight(messages)
    result = engine.compress_result(messages)
    assert result.changed
    assert result.tokens_after <= engine.policy.target_tokens
    assert engine.compression_count == 1
    assert not engine.should_compress()
    assert validate(result.messages, dialect="openai_chat") == []


def test_an_estimate_is_anchored_on_the_last_report():
    engine = ContextCompressor(200_000)
    messages = long_session(turns=5)
    counted = engine.estimate(messages)
    engine.update_from_response({"prompt_tokens": counted + 30_000})
    more = [*messages, {"role": "user", "content": "and now?"}]
    assert counted + 30_000 < engine.estimate(more) < counted + 30_100


def test_a_report_larger_than_our_count_leaves_less_room():
    engine = ContextCompressor(WINDOW)
    messages = long_session()
    result = engine.compress_result(messages, current_tokens=engine.estimate(messages) + 1_000)
    assert result.tokens_after <= engine.policy.target_tokens
    assert sum(map(engine._meter.reader.count, parse(result.messages))) <= engine.policy.target_tokens - 1_000


def test_insisting_below_the_threshold_is_a_manual_command_and_folds():
    engine = ContextCompressor(200_000)
    result = engine.compress_result(long_session(turns=120), focus_topic="tariff")
    assert result.summarizer == "digest"
    assert result.folded


def test_disabling_stops_every_automatic_path_but_not_the_command():
    engine = ContextCompressor(WINDOW, enabled=False)
    messages = long_session()
    assert not engine.should_compress_preflight(messages)
    assert not engine.should_compress(1_000_000)
    assert engine.compress_result(messages).changed


def test_a_plug_in_may_ask_for_compression():
    engine = ContextCompressor(200_000)
    assert not engine.should_compress(10)
    engine.request_compression("memory is about to be written", focus="tariff")
    assert engine.should_compress(10)
    engine.compress(long_session())
    assert not engine.should_compress(10)


def test_the_summariser_is_shown_the_turns_and_its_words_are_used():
    asked = []

    def summarize(request):
        asked.append(request)
        return "## Goal\nShip the tariff."

    engine = ContextCompressor(ROOMY, policy=FOLD, summarizer=summarize)
    result = engine.compress_result(long_session())
    assert asked
    assert asked[0].max_tokens > 0
    assert "Ship the tariff." in result.summary
    assert result.summarizer == "model"


def test_a_summariser_that_fails_is_replaced_and_named():
    def broken(_request):
        raise ConnectionError("refused")

    result = ContextCompressor(ROOMY, policy=FOLD, summarizer=broken).compress_result(long_session())
    assert result.changed
    assert result.summarizer == "digest"
    assert "ConnectionError: refused" in result.warning


def test_interrupting_a_compression_leaves_everything_as_it_was():
    def interrupted(_request):
        raise KeyboardInterrupt

    engine = ContextCompressor(ROOMY, policy=FOLD, summarizer=interrupted)
    messages = long_session()
    before, state = list(messages), engine.state
    with pytest.raises(KeyboardInterrupt):
        engine.compress(messages)
    assert (messages, engine.state, engine.compression_count) == (before, state, 0)
    engine.summarizer = None
    assert engine.compress_result(messages).changed


def test_async_callers_get_the_same_result():
    messages = long_session()
    one = ContextCompressor(ROOMY, policy=FOLD, summarizer=lambda _r: "## Goal\nShip.")
    other = ContextCompressor(ROOMY, policy=FOLD, summarizer=lambda _r: "## Goal\nShip.")
    sync, awaited = one.compress(messages), asyncio.run(other.acompress(messages))
    assert len(sync) == len(awaited)
    assert [m for m in sync if m in messages] == [m for m in awaited if m in messages]


def test_an_emergency_does_not_wait_for_a_summariser():
    def never(_request):
        raise AssertionError("nobody is to be asked")

    result = ContextCompressor(WINDOW, summarizer=never).compress_result(long_session())
    assert result.summarizer == "digest"
    assert result.warning is None


def test_the_approach_warning_comes_once():
    engine = ContextCompressor(100_000)
    engine.update_from_response({"prompt_tokens": 55_000})
    assert "of the compression threshold" in engine.approach_warning()
    assert engine.approach_warning() is None


def test_two_vain_passes_pause_automatic_compression():
    engine = ContextCompressor(WINDOW)
    stuck = [{"role": "system", "content": "word " * 6_000}, {"role": "user", "content": "word " * 1_000}]
    for _ in range(2):
        assert engine.should_compress_preflight(stuck)
        assert not engine.compress_result(stuck).changed
        for _ in range(3):
            engine.update_from_response({"prompt_tokens": 7_010})
    assert not engine.should_compress(7_010)


def test_a_host_that_never_reports_usage_has_turns_all_the_same():
    engine = ContextCompressor(WINDOW)
    messages = long_session()
    engine.compress(messages)
    for turn in range(1, 5):
        shown = messages[: 20 * turn]
        engine.should_compress_preflight(shown)
        engine.should_compress_preflight(shown)
    assert engine.state.turn == 3


def test_reset_forgets_the_conversation():
    engine = ContextCompressor(WINDOW)
    engine.compress(long_session())
    engine.on_session_reset()
    assert (engine.compression_count, engine.state.folds, engine.last_prompt_tokens) == (0, 0, 0)


def test_switching_to_a_smaller_window_lowers_the_threshold():
    engine = ContextCompressor(200_000, model="gpt-5")
    engine.update_model("claude-sonnet-4-5", 50_000)
    assert (engine.context_length, engine.threshold_tokens) == (50_000, 42_500)


def test_nothing_to_compress_is_known_without_asking_a_model():
    engine = ContextCompressor(200_000)
    assert not engine.has_content_to_compress([{"role": "user", "content": "hi"}])
    assert engine.has_content_to_compress(long_session())


def test_a_message_changed_in_place_is_noticed():
    engine = ContextCompressor(200_000)
    messages = [{"role": "user", "content": "short"}, {"role": "assistant", "content": "ok"}]
    small = engine.estimate(messages)
    messages[0]["content"] = "word " * 1_000
    assert engine.estimate(messages) > small + 900


def test_a_history_that_was_rewritten_is_read_anew():
    engine = ContextCompressor(200_000)
    first = long_session(turns=4)
    engine.estimate(first)
    other = long_session(turns=2, seed=9)
    assert engine.estimate(other) == ContextCompressor(200_000).estimate(other)


def test_the_policy_is_the_caller_s():
    policy = CompressionPolicy(threshold=0.75, protect_first_n=1, protect_last_n=4)
    engine = ContextCompressor(1_000_000, policy=policy)
    assert (engine.threshold_tokens, engine.protect_first_n, engine.protect_last_n) == (750_000, 1, 4)


def test_a_long_loop_with_tools_stays_below_its_window_and_keeps_the_first_rule():
    engine = ContextCompressor(16_000)
    rule = "Never touch the migrations."
    messages = [{"role": "user", "content": f"Look after the meters. {rule}"}]
    for turn in range(300):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "read_file", "arguments": f'{{"path": "m{turn}.py"}}'},
        }
        messages.append({"role": "assistant", "content": f"Reading meter {turn}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": f"coins = {turn}\n" * 120})
        if turn % 40 == 39:
            messages.append({"role": "user", "content": f"And meter {turn}?"})
        if engine.should_compress_preflight(messages):
            messages = engine.compress(messages)
        tokens = engine.estimate(messages)
        engine.update_from_response({"prompt_tokens": tokens})
        assert tokens < 16_000
        assert [f for f in validate(messages, dialect="openai_chat") if f.severity == "error"] == []
    assert engine.compression_count > 5
    assert any(rule in str(message.get("content")) for message in messages)


def test_an_incompressible_conversation_is_tried_at_most_twice_in_ten_turns():
    engine = ContextCompressor(WINDOW)
    stuck = [{"role": "system", "content": "word " * 6_000}, {"role": "user", "content": "word " * 1_000}]
    attempts = []
    for turn in range(200):
        if engine.should_compress_preflight(stuck):
            attempts.append(turn)
            engine.compress(stuck)
        engine.update_from_response({"prompt_tokens": 7_010})
    assert all(sum(turn <= other < turn + 10 for other in attempts) <= 2 for turn in attempts)
    assert len(attempts) < 45


def test_an_anthropic_conversation_that_starts_with_plain_words_is_recognised_later():
    engine = ContextCompressor(16_000)
    items = transcript("anthropic", turns=20, result_chars=1_500)
    for stop in range(1, len(items) + 1):
        engine.estimate(items[:stop])
    assert engine._meter.reader.dialect == "anthropic"
    assert validate(engine.compress(items), dialect="anthropic") == []


def test_a_host_that_only_reports_usage_is_not_taken_for_a_person():
    engine = ContextCompressor(100_000)
    stuck = long_session(turns=6)  # a twelfth of what is reported: no fold can save a tenth
    attempts = 0
    for _ in range(30):
        engine.update_from_response({"prompt_tokens": 66_000})
        if engine.should_compress():
            attempts += 1
            assert not engine.compress_result(stuck).changed
    assert attempts <= 6


def test_the_report_after_a_compression_is_about_the_compressed_list():
    engine = ContextCompressor(WINDOW)
    messages = long_session()
    engine.estimate(messages)
    messages = engine.compress(messages)
    counted = sum(map(engine._meter.reader.count, parse(messages)))
    engine.update_from_response({"prompt_tokens": counted + 500})
    more = [*messages, {"role": "user", "content": "word " * 400}]
    assert counted + 850 < engine.estimate(more) < counted + 1_000


def test_an_unknown_window_never_compresses_by_itself():
    engine = ContextCompressor()
    engine.update_model("nobody-knows-it", 0)
    assert not engine.should_compress(10_000_000)
    assert engine.get_status()["usage_percent"] == 0


@pytest.mark.parametrize("window", [0, -5, True, 1.5, None, "gpt-5"])
def test_a_window_that_is_none_is_said_in_one_line(window):
    with pytest.raises(ConfigError, match=r"^context_length is .*; expected a number of tokens") as refused:
        ContextCompressor(window)
    assert ("model=" in str(refused.value)) == isinstance(window, str)


def test_a_result_that_cannot_be_written_leaves_the_conversation_as_it_was():
    shot = {"type": "computer_screenshot", "image_url": "data:image/png;base64," + "A" * 4_000}
    items = [{"role": "user", "content": "Click through the meters."}]
    for turn in range(60):
        items.append(
            {"type": "computer_call", "call_id": f"c{turn}", "action": {"type": "click", "x": 1, "y": 2}}
        )
        items.append({"type": "computer_call_output", "call_id": f"c{turn}", "output": shot})
    engine = ContextCompressor(WINDOW)
    result = engine.compress_result(items)
    assert result.changed or "cannot be written" in result.reason
    assert validate(result.messages, dialect="openai_responses") == []
