"""A plain engine in a host: counted for, checked, and told apart from what its list says."""

import asyncio
import copy
import threading

import pytest

from midfold.engines import ContextCompressor, ContextEngine, EngineSetup
from midfold.engines.hosting import HostedEngine, fit_keywords, open_engine
from midfold.errors import EngineContractError, EngineUnable
from midfold.folding import CompressionPolicy
from midfold.folding.losses import list_losses
from midfold.folding.state import CompressionState
from midfold.testing import transcript
from midfold.tokens.usage import CanonicalUsage
from midfold.wire import DIALECTS, parse

WINDOW = 20_000
SETUP = EngineSetup(CompressionPolicy(context_length=WINDOW), model="gpt-5-mini")


class Summing(ContextEngine):
    """Puts a line in place of all but both ends, and copies everything, as engines do that rebuild lists."""

    name = "summing"

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage.prompt_tokens

    def should_compress(self, prompt_tokens=None):
        return True

    def compress(self, messages, current_tokens=None, focus_topic=None):
        self.asked = (current_tokens, focus_topic)
        stop = next(i for i in range(len(messages) - 1, 0, -1) if messages[i].get("role") == "user")
        line = {"role": "user", "content": f"[Earlier: {stop - 2} messages about {focus_topic}]"}
        return copy.deepcopy([*messages[:2], line, *messages[stop:]])


def session(turns=12):
    return transcript("openai_chat", turns=turns, result_chars=1_500)


def host(engine=None):
    faults = []
    return open_engine(engine or Summing(), SETUP, faults.append), faults


def test_a_list_becomes_a_compression_with_all_its_facts():
    engine, faults = host()
    items = session()
    result = engine.compress_result(items, focus_topic="meters")
    assert engine.engine.asked == (result.tokens_before, "meters")
    assert (result.changed, result.summarizer, faults) == (True, "summing", [])
    assert result.summary == f"[Earlier: {result.folded[0].stop - 2} messages about meters]"
    assert result.tokens_after < result.tokens_before
    assert len(list_losses(result)) > 3
    assert result.messages[0] is items[0]  # what stayed is the caller's own, also where it was copied
    assert (engine.compression_count, engine.state.folds) == (1, 1)


def test_what_is_awaited_is_what_is_returned():
    items = session()
    blocking, awaited = host()[0], host()[0]
    assert asyncio.run(awaited.acompress_result(items)) == blocking.compress_result(items)


def test_a_compression_is_taken_back_once():
    engine, _ = host()
    items = session()
    result = engine.compress_result(items)
    since = [{"role": "user", "content": "No, all of it."}]
    assert engine.undo([*result.messages, *since]) == [*items, *since]
    assert (engine.undo(result.messages), engine.state.count) == (None, 0)
    assert engine.state.paused_at_tokens == result.tokens_before


def test_a_request_is_estimated_by_the_last_report():
    engine, _ = host()
    items = session()
    counted = engine.estimate(items, system="You read meters.")
    engine.update_from_response(CanonicalUsage(input_tokens=counted + 5_000))
    assert engine.estimate(items, system="You read meters.") == counted + 5_000
    assert engine.last_prompt_tokens == counted + 5_000
    engine.update_from_response(None)
    assert engine.last_prompt_tokens == counted + 5_000


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_an_engine_that_does_nothing_leaves_everything_as_it_was(dialect):
    class Idle(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            return copy.deepcopy(messages)

    engine, _ = host(Idle())
    items = transcript(dialect, turns=6)
    result = engine.compress_result(items)
    assert (result.changed, result.warning) == (False, None)
    assert "left the messages as they are" in result.reason
    assert all(new is old for new, old in zip(result.messages, items, strict=True))


def test_two_vain_compressions_are_a_reason_to_wait():
    class Idle(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            return list(messages)

    engine, _ = host(Idle())
    items = session()
    asked = 0
    for _turn in range(6):
        if engine.should_compress_preflight(items):
            asked += 1
            engine.compress_result(items)
        engine.update_from_response(CanonicalUsage(input_tokens=9_000))
    assert asked == 2
    engine.adopt(CompressionState())
    assert engine.should_compress(9_000)


def test_an_engine_that_was_interrupted_is_left_alone_until_it_is_done():
    entered, leave = threading.Event(), threading.Event()

    class Slow(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            entered.set()
            leave.wait(10)
            return super().compress(messages)

    engine, _ = host(Slow())
    items = session()

    async def interrupt():
        task = asyncio.create_task(engine.acompress_result(items))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not engine.should_compress(WINDOW)
        return engine.compress_result(items)

    result = asyncio.run(interrupt())
    leave.set()
    assert "still at work" in result.reason
    assert (engine.state, engine.compression_count) == (CompressionState(), 0)


def test_a_note_behind_the_system_prompt_is_kept_as_one():
    class Notes(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            first, *rest = super().compress(messages)
            return [{**first, "content": f"{first['content']}\n\n[Earlier turns were summed up.]"}, *rest]

    engine, _ = host(Notes())
    result = engine.compress_result(session())
    assert result.fold.note == "[Earlier turns were summed up.]"
    assert "[Earlier turns were summed up.]" in parse(result.messages, "openai_chat")[0].text


def test_another_system_prompt_is_not_used():
    class Rewrites(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            return [{"role": "system", "content": "Obey."}, *super().compress(messages)[1:]]

    engine, _ = host(Rewrites())
    items = session()
    result = engine.compress_result(items)
    assert "was not used: it changed the system prompt" in result.warning
    assert result.messages == items
    assert engine.state.ineffective == 1


def test_the_given_list_is_not_the_engines_to_change():
    class Clears(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            returned = super().compress(messages)
            messages.clear()
            return returned

    engine, _ = host(Clears())
    items = session()
    before = list(items)
    assert engine.compress_result(items).changed
    assert items == before


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_messages_that_an_engine_changes_in_place_are_put_back(dialect):
    class Cuts(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            for message in messages[:-1]:
                content = message.get("content")
                if isinstance(content, list) and content:
                    content[0]["text"] = "cut"
                    del content[1:]
                message["content"] = message["value"] = "cut"
            return messages

    engine, _ = host(Cuts())
    items = transcript(dialect, turns=12, result_chars=1_500)
    before = copy.deepcopy(items)
    with pytest.raises(EngineContractError, match="compress never changes the messages"):
        engine.compress_result(items)
    assert items == before
    assert engine.state.ineffective == 1


def test_messages_that_an_engine_changes_before_it_fails_are_put_back():
    class Fails(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            messages[0]["content"] = "cut"
            raise ValueError("no")

    engine, _ = host(Fails())
    items = session()
    before = copy.deepcopy(items)
    with pytest.raises(EngineContractError, match="ValueError: no"):
        engine.compress_result(items)
    assert items == before


@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError()])
def test_an_engine_that_exits_ends_neither_its_host_nor_the_loop(error):
    class Exits(Summing):
        def compress(self, messages, current_tokens=None, focus_topic=None):
            raise error

        def should_compress(self, prompt_tokens=None):
            raise error

    engine, faults = host(Exits())
    with pytest.raises(EngineContractError, match=type(error).__name__):
        asyncio.run(engine.acompress_result(session()))
    assert not engine.should_compress(WINDOW)
    assert len(faults) == 1


def test_figures_that_an_engine_does_not_keep_come_from_its_window():
    class Silent(Summing):
        def update_model(self, model, context_length, *rest):
            self.threshold_tokens = "many"

    engine, faults = host(Silent())
    engine.update_model("gpt-5-mini", 40_000, "https://example.com/v1", "", "openai")
    assert (engine.context_length, engine.threshold_tokens, faults) == (40_000, 30_000, [])


def test_a_key_is_in_no_report_of_what_an_engine_did_wrong():
    class Quotes(Summing):
        def update_model(self, model, context_length, base_url="", api_key="", provider=""):
            raise ValueError(f"no such key: {api_key}\n" + "x" * 1_000)

        def compress(self, messages, current_tokens=None, focus_topic=None):
            raise ValueError("token ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8 expired")

    engine, faults = host(Quotes())
    engine.update_model("gpt-5-mini", 40_000, "https://example.com/v1", "harbour-key", "openai")
    with pytest.raises(EngineContractError) as raised:
        engine.compress_result(session())
    texts = [str(faults[0]), str(raised.value)]
    assert "no such key: ***" in texts[0]
    assert "ghp_" not in texts[1]
    assert all("\n" not in text and len(text) < 500 for text in texts)


def test_engines_are_built_as_their_kind_is_built():
    class Wants(Summing):
        def __init__(self, path):
            self.path = path

    built = open_engine(ContextCompressor, SETUP)
    assert (type(built), built.context_length, built.model) == (ContextCompressor, WINDOW, "gpt-5-mini")
    assert type(open_engine(Summing, SETUP)) is HostedEngine
    made = ContextCompressor(1_000)
    assert open_engine(made, SETUP) is made
    with pytest.raises(EngineContractError, match=r"'Wants' breaks a promise: .* without arguments"):
        open_engine(Wants, SETUP)
    with pytest.raises(EngineUnable, match="hosts another engine"):
        HostedEngine.open(SETUP)


def test_a_function_is_told_what_it_takes():
    told = {"messages": [1], "session_id": "s"}
    assert fit_keywords(lambda name, **info: None, told) == told  # noqa: ARG005
    assert fit_keywords(lambda name, messages=(): None, told) == {"messages": [1]}  # noqa: ARG005
    assert fit_keywords(lambda name: None, told) == {}  # noqa: ARG005
