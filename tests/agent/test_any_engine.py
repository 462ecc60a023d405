"""Any engine runs in the agent: it folds, offers tools, is told what goes on, and harms nobody."""

import json
import sys
from types import ModuleType

import pytest

from midfold.agent import CompressionFinished, CompressionStarted, Done, Notice, ToolFinished, Topic
from midfold.engines import ContextCompressor, ContextEngine
from midfold.errors import EngineUnable
from midfold.folding.losses import list_losses
from midfold.messages import ToolCall
from midfold.providers.summarizers import ModelRef
from midfold.testing import check_engine
from midfold.testing.upstream import Reply, Upstream
from midfold.wire import detect, parse
from midfold.wire.usage import normalize_usage

APIS = ("openai_chat", "openai_responses", "anthropic")
WINDOW = 12_000
LONG = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 60


class KeepLast(ContextEngine):
    """Keeps the newest exchange."""

    name = "keep-last"

    def __init__(self):
        self.told = []

    def update_from_response(self, usage):
        self.last_prompt_tokens = normalize_usage(usage).prompt_tokens

    def should_compress(self, prompt_tokens=None):
        tokens = self.last_prompt_tokens if prompt_tokens is None else prompt_tokens
        return 0 < self.threshold_tokens <= tokens

    def compress(self, messages, current_tokens=None, focus_topic=None):
        parsed = parse(messages, detect(messages)) if messages else []
        requests = [index for index, message in enumerate(parsed) if message.role == "user" and message.text]
        system = [item for item, message in zip(messages, parsed, strict=True) if message.role == "system"]
        return [*system, *messages[max(requests[-1], len(system)) :]] if requests else list(messages)

    def on_session_start(self, session_id, **info):
        self.told.append(("start", session_id, info))

    def on_session_end(self, session_id, messages):
        self.told.append(("end", session_id, len(messages)))

    def update_model(self, model, context_length, base_url="", api_key="", provider=""):
        super().update_model(model, context_length)
        self.told.append(("model", model, context_length, base_url, api_key, provider))


class Counting(KeepLast):
    """Keeps the newest exchange, and counts messages for the model."""

    name = "counting"

    def get_tool_schemas(self):
        parameters = {"type": "object", "properties": {"role": {"type": "string"}}, "required": ["role"]}
        return [
            {"name": "count_messages", "description": "Count messages by role.", "parameters": parameters},
            {"type": "function", "function": {"name": "count_all", "description": "Count all messages."}},
            {"name": "terminal", "description": "Not the real one.", "parameters": parameters},
        ]

    def handle_tool_call(self, name, args, *, messages=(), session_id=""):
        if name not in ("count_messages", "count_all"):
            return super().handle_tool_call(name, args)
        roles = [message.role for message in parse(messages, detect(messages))] if messages else []
        count = roles.count(args["role"]) if name == "count_messages" else len(roles)
        return json.dumps({"count": count, "session_id": session_id})


def talk(agent, play, turns, words=LONG):
    return [event for turn in range(turns) for event in play(agent, f"Turn {turn}: {words}")]


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def notices(events, topic=Topic.ENGINE):
    return [event.text for event in of(events, Notice) if event.topic is topic]


@pytest.mark.slow
def test_the_toy_engines_keep_every_promise():
    check_engine(KeepLast)
    check_engine(Counting)


@pytest.mark.parametrize("api", APIS)
def test_a_plain_engine_folds_and_its_folds_are_stored_shown_and_taken_back(api, make_agent, play, faults_in):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, api=api, engine=KeepLast(), context_length=WINDOW)
        events = talk(agent, play, 9)
        finished = of(events, CompressionFinished)
        assert finished
        result = finished[-1].compression
        assert (result.changed, result.tokens_after < result.tokens_before) == (True, True)
        assert list_losses(result)
        folds = agent.store.folds(agent.session_id)
        assert folds[-1].fold == result.fold
        assert agent.status().compressions == len(folds)
        assert up.requests[-1].count_tokens() < WINDOW
        assert faults_in(up) == []
        history = agent.store.count_history(agent.session_id)
        before = len(agent.messages)
        assert agent.undo()
        assert len(agent.messages) > before
        assert agent.store.count_history(agent.session_id) == history


def test_an_engine_is_found_by_name_and_made_without_arguments(make_agent, play, monkeypatch):
    module = ModuleType("plug_in")
    module.KeepLast = KeepLast
    monkeypatch.setitem(sys.modules, "plug_in", module)
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine="plug_in:KeepLast")
        assert isinstance(play(agent, "Hello.")[-1], Done)
        assert agent.status().window_tokens > 0


def test_a_plain_engine_is_told_what_goes_on(make_agent, play, tmp_path):
    engine = KeepLast()
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=engine, context_length=WINDOW, key="key-of-the-harbour")
        first = agent.session_id
        talk(agent, play, 9)
        told = [each for each in engine.told if each[0] == "start"]
        known = {
            "home": str(tmp_path / "home"),
            "platform": "chat",
            "model": "local/scripted",
            "context_length": WINDOW,
            "conversation_id": first,
        }
        assert told[0] == ("start", first, known)
        assert told[1][2] == {**known, "boundary_reason": "compression", "old_session_id": first}
        assert not [each for each in engine.told if each[0] == "end"]
        agent.new_session()
        assert [each[0] for each in engine.told[-2:]] == ["end", "start"]
    models = [each for each in engine.told if each[0] == "model"]
    assert models == [("model", "local/scripted", WINDOW, f"{up.url}/v1", "key-of-the-harbour", "local")]


def test_an_engine_that_was_never_used_is_told_of_no_session(make_agent):
    engine = KeepLast()
    with Upstream() as up:
        make_agent(up, engine=engine).close()
    assert [each[0] for each in engine.told] == ["model"]


@pytest.mark.parametrize("engine", [KeepLast, lambda: ContextCompressor(1_000)])
def test_another_model_is_told_to_the_engine_that_is_there(engine, make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=engine(), context_length=200_000)
        talk(agent, play, 4)
        made = agent._core.engine
        agent.set_model(ModelRef("local/other", up.url), context_length=WINDOW)
        assert agent._core.engine is made
        assert (made.context_length, made.policy.context_length) == (WINDOW, WINDOW)
        assert isinstance(play(agent, "Go on.")[-1], Done)


def call(name, **arguments):
    return Reply("", (ToolCall("c1", name, json.dumps(arguments)),))


@pytest.mark.parametrize("api", APIS)
def test_the_tools_of_an_engine_reach_the_model_and_are_answered(api, make_agent, play, faults_in):
    script = [call("count_messages", role="user"), call("count_all"), Reply("Two.")]
    with Upstream(script) as up:
        agent = make_agent(up, api=api, engine=Counting())
        events = play(agent, "How many?")
        offered = up.requests[0].request.tools
        assert [tool.name for tool in agent.tools][-2:] == ["count_messages", "count_all"]
        assert "Count messages by role." in json.dumps(offered)
        assert [json.loads(event.text) for event in of(events, ToolFinished)] == [
            {"count": 1, "session_id": agent.session_id},
            {"count": 4, "session_id": agent.session_id},
        ]
        assert faults_in(up) == []


def test_a_built_in_tool_wins_over_one_of_the_engine_and_that_is_said_once(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=Counting())
        texts = notices([*play(agent, "One."), *play(agent, "Two.")])
        assert len(texts) == 1
        assert "'terminal', which is there already; the engine's is left out" in texts[0]
        named = {tool.name: tool.description for tool in agent.tools}
        assert named["terminal"] != "Not the real one."


class Failing(Counting):
    def handle_tool_call(self, name, args, **info):
        if name == "count_all":
            return {"count": 1}
        raise ValueError("the disk is gone")


def test_a_tool_of_an_engine_that_fails_is_answered_with_the_error(make_agent, play):
    script = [call("count_messages", role="user"), call("count_all"), Reply("Well.")]
    with Upstream(script) as up:
        events = play(make_agent(up, engine=Failing()), "How many?")
        texts = [(event.text, event.is_error) for event in of(events, ToolFinished)]
        assert texts == [
            ("Error: ValueError: the disk is gone", True),
            ("Error: the engine answered with dict, not with JSON text", True),
        ]


class Long(Counting):
    def handle_tool_call(self, name, args, **info):
        return json.dumps({"words": "word " * 60_000})


def test_what_a_tool_of_an_engine_says_is_kept_within_the_budget(make_agent, play):
    with Upstream([call("count_all"), Reply("Long.")]) as up:
        (finished,) = of(play(make_agent(up, engine=Long()), "How many?"), ToolFinished)
        assert finished.persisted
        assert len(finished.text) < 20_000


class Offering(KeepLast):
    def get_tool_schemas(self):
        return [{"name": "has blanks"}, "words", {"name": "fine", "description": "Fine."}]


def test_a_tool_that_no_provider_would_take_is_left_out(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=Offering())
        texts = notices(play(agent, "Hello."))
        assert [tool.name for tool in agent.tools][-1] == "fine"
        assert len(texts) == 2
        assert "has blanks" in texts[0]


def returns(value):
    class Wrong(KeepLast):
        name = "wrong"

        def compress(self, messages, current_tokens=None, focus_topic=None):
            return value(messages)

    return Wrong()


ORPHAN = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "nobody", "content": "?"}]}


def raise_error(_messages):
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda _messages: None, "compress returns a list, not NoneType"),
        (lambda messages: {"messages": messages}, "compress returns a list, not dict"),
        (lambda _messages: [None, 7], "compress returns messages that can be read"),
        (raise_error, "compress returns a list; it raised ZeroDivisionError: by zero"),
    ],
)
def test_an_engine_that_returns_nonsense_is_named_and_the_chat_goes_on(value, words, make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=returns(value), context_length=WINDOW)
        events = talk(agent, play, 8)
        texts = notices(events)
        assert words in texts[0]
        assert "'wrong'" in texts[0]
        assert len(of(events, Done)) == 8
        assert len(agent.messages) == 16
        assert agent.store.folds(agent.session_id) == []


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda messages: [ORPHAN, *messages[4:]], "would not be legal"),
        (
            lambda messages: [*messages[:1], {"role": "user", "content": LONG * 9}, *messages[1:]],
            "no fewer than",
        ),
        (lambda messages: messages[:2], "newest request"),
        (lambda messages: [{"role": "user", "content": ""}, *messages[4:]], "says nothing"),
    ],
)
def test_a_result_that_cannot_be_used_is_refused_with_the_reason(value, words, make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, api="anthropic", engine=returns(value), context_length=WINDOW)
        events = talk(agent, play, 8)
        refused = [event.compression for event in of(events, CompressionFinished)]
        assert refused
        assert not any(result.changed for result in refused)
        assert words in refused[0].reason
        assert words in notices(events, Topic.SUMMARY)[0]
        assert len(of(events, Done)) == 8
        assert len(agent.messages) == 16


def test_an_engine_that_never_helps_is_not_asked_for_ever(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=returns(list), context_length=40_000, max_output=100)
        agent._core.engine.engine.should_compress = lambda _tokens=None: True
        events = talk(agent, play, 12, "word")
        assert len(of(events, CompressionStarted)) <= 4


class Broken(KeepLast):
    name = "broken"

    def fail(self, *args, **info):
        raise RuntimeError("out of order")

    update_from_response = should_compress = should_compress_preflight = fail
    on_session_start = on_session_end = on_session_reset = get_status = get_tool_schemas = fail
    has_content_to_compress = update_model = cancel_preparation = undo = fail


def test_hooks_that_raise_are_reported_once_each_and_harm_nobody(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=Broken())
        events = [*play(agent, "One."), *play(agent, "Two.")]
        assert len(of(events, Done)) == 2
        texts = notices(events)
        assert len(texts) == len(set(texts)) >= 5
        assert all("'broken'" in text and "out of order" in text for text in texts)
        assert agent.status().messages == 4
        agent.new_session()


def test_what_a_plain_engine_cannot_do_is_said_in_one_sentence(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=KeepLast())
        talk(agent, play, 3)
        with pytest.raises(EngineUnable, match="the engine 'keep-last' cannot say beforehand"):
            agent.preview()
        with pytest.raises(EngineUnable, match="cannot keep sentences word for word"):
            agent.pin("Only metric units.")
        assert agent.pins == ()
        assert "cannot keep a number of exchanges" in agent.compress(keep_last=1).reason
        assert agent.compress().changed


class Empty(KeepLast):
    name = "empty"

    def has_content_to_compress(self, messages):
        return False


@pytest.mark.parametrize("engine", [Empty, lambda: ContextCompressor(1_000)])
def test_nobody_is_bothered_where_there_is_nothing_to_compress(engine, make_agent, play):
    asked, heard = [], []
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=engine(), before_fold=[lambda *told: asked.append(told)])
        play(agent, "Hello.")
        result = agent.compress(on_event=heard.append)
        assert (result.changed, result.reason) == (False, "nothing to compress yet")
        assert [type(event) for event in heard] == [CompressionFinished]
        assert (asked, len(up.requests)) == ([], 1)


class Older(KeepLast):
    def compress(self, messages, current_tokens=None):  # an older signature of this family
        return super().compress(messages)

    def should_compress_preflight(self, messages):
        return False


def test_an_engine_that_takes_fewer_arguments_runs_all_the_same(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=Older(), context_length=WINDOW)
        events = talk(agent, play, 8)
        assert notices(events) == []
        assert agent.status().compressions


class Raising(ContextCompressor):
    def get_tool_schemas(self):
        raise KeyError("tools")

    async def acompress_result(self, *args, **options):
        raise KeyError("lost")


def test_a_folding_engine_that_raises_is_named_too(make_agent, play):
    with Upstream(Reply("Noted.")) as up:
        agent = make_agent(up, engine=Raising(), context_length=WINDOW)
        events = talk(agent, play, 9)
        assert "it raised KeyError: 'tools'" in notices(events)[0]
        assert "it raised KeyError: 'lost'" in notices(events)[1]
        assert len(of(events, Done)) == 9
