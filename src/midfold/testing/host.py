"""An engine in a real host: a short chat with a scripted model, all in this process and without a network."""

import json
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

from midfold.agent import Agent, CompressionFinished, Done, Event, Notice, ToolFinished, Topic
from midfold.engines import ContextEngine
from midfold.errors import EngineContractError, MidfoldError
from midfold.messages import ToolCall
from midfold.providers import Answer, Transport
from midfold.store import Store, open_store
from midfold.testing.upstream.received import Received, read_json
from midfold.testing.upstream.response import Response, compose
from midfold.testing.upstream.script import Reply
from midfold.wire.validate import validate

APIS = ("openai_chat", "openai_responses", "anthropic")
WINDOW = 16_000
_TURNS = 12
_WORDS = "The meter at the harbour takes coins and cards, and prints a receipt when asked to. " * 55
"""About a thousand tokens: so many turns fill the window to nine tenths, which any engine may leave so."""
_USE_TOOLS = "Use each of your tools once."
_EXAMPLES: Mapping[object, object] = {
    "string": "meter",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


def check_in_host(make_engine: Callable[[], ContextEngine]) -> None:
    """Let an engine serve a chat in each API; raises `EngineContractError`."""
    for api in APIS:
        with tempfile.TemporaryDirectory(prefix="midfold-check-") as folder:
            _check_chat(make_engine, api, Path(folder))


def _check_chat(make_engine: Callable[[], ContextEngine], api: str, home: Path) -> None:
    engine = make_engine()
    script = _Script(engine)
    with open_store(home / "sessions.db", synchronous="NORMAL") as store:
        try:
            with _open_agent(engine, api, home, store, script) as agent:
                _chat(engine, agent)
                session = agent.session_id
            with _open_agent(make_engine(), api, home, store, script, session) as again:
                _check_events(engine, list(again.run("What comes next?")))
        except EngineContractError:
            raise
        except MidfoldError as error:
            raise EngineContractError(engine.name, f"a chat goes on; it ended with {error}") from error
    _check_requests(engine, script.requests)


def _chat(engine: ContextEngine, agent: Agent) -> None:
    for turn in range(_TURNS):
        _check_events(engine, list(agent.run(f"Turn {turn}: {_WORDS}")))
    events = list(agent.run(_USE_TOOLS))
    _check_events(engine, events)
    _check_answers(engine, events)
    received: list[Event] = []
    was_folded = agent.compress(on_event=received.append).changed
    _check_events(engine, [*received, *agent.run("Go on."), Done("", 0)])
    if was_folded:
        _promise(engine, "a compression can be taken back", agent.undo())
        _check_events(engine, list(agent.run("Go on with all of it.")))


def _open_agent(
    engine: ContextEngine,
    api: str,
    home: Path,
    store: Store,
    script: "_Script",
    session: str | None = None,
) -> Agent:
    return Agent(
        "local/scripted",
        base_url="http://127.0.0.1:1/v1",  # nothing is ever sent there
        api=api,
        context_length=WINDOW,
        home=home,
        workspace=home,
        store=store,
        session=session,
        built_in_tools=False,
        summarizer=None,
        instructions="You read meters.",
        engine=engine,
        transport=script,
    )


def _check_events(engine: ContextEngine, events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event, Notice) and event.topic is Topic.ENGINE:
            raise EngineContractError(engine.name, f"in a chat: {event.text}")
        if isinstance(event, CompressionFinished) and not event.compression.changed:
            warning = event.compression.warning
            _promise(engine, f"a host can use what compress returns; {warning}", warning is None)
    _promise(engine, "a turn comes to its end", bool(events) and isinstance(events[-1], Done))


def _check_answers(engine: ContextEngine, events: Sequence[Event]) -> None:
    for event in events:
        if isinstance(event, ToolFinished) and event.persisted is None:
            promise = (
                f"a call of its tool {event.name!r} is answered with JSON, not with {event.text[:200]!r}"
            )
            _promise(engine, promise, not event.is_error and _is_json(event.text))


def _check_requests(engine: ContextEngine, requests: Sequence[Received]) -> None:
    for received in requests:
        request = received.request
        _promise(engine, "every request can be read", request is not None)
        if request is None:
            continue
        faults = validate(
            request.messages, dialect=request.dialect, system=request.system, tools=request.tools
        )
        errors = [str(fault) for fault in faults if fault.severity == "error"]
        _promise(engine, f"every request is legal; {errors[:1]}", not errors)


def _promise(engine: ContextEngine, promise: str, kept: bool) -> None:
    if not kept:
        raise EngineContractError(engine.name, promise)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class _Script(Transport):
    """A model that notes what it is asked, and calls the tools of an engine when it is asked to."""

    def __init__(self, engine: ContextEngine) -> None:
        super().__init__()
        self.requests: list[Received] = []
        self._engine = engine

    @asynccontextmanager
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> AsyncIterator[Answer]:
        """Answer a request without sending it."""
        lowered = {name.lower(): value for name, value in headers.items()}
        received = Received("POST", urlsplit(url).path, lowered, body, read_json(body))
        self.requests.append(received)
        yield _Scripted(compose(self._reply(received), received, len(self.requests)))

    def _reply(self, received: Received) -> Reply:
        messages = received.messages
        calls = tuple(_calls(self._engine)) if messages and messages[-1].text == _USE_TOOLS else ()
        return Reply("", calls) if calls else Reply("Noted.")


class _Scripted(Answer):
    """An answer that has arrived."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = dict(response.headers)
        self._pieces = response.pieces

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the body."""
        for piece in self._pieces:
            yield piece


def _calls(engine: ContextEngine) -> Iterator[ToolCall]:
    """Yield a call of each tool, with the arguments that it requires."""
    for number, schema in enumerate(engine.get_tool_schemas()):
        inner = schema.get("function")
        tool: Mapping[str, object] = inner if isinstance(inner, dict) else schema
        arguments = _example(tool.get("parameters") or tool.get("input_schema"))
        yield ToolCall(f"call_{number}", str(tool.get("name")), json.dumps(arguments))


def _example(parameters: object) -> dict[str, object]:
    known = parameters if isinstance(parameters, dict) else {}
    properties = known.get("properties")
    required = known.get("required")
    if not isinstance(properties, dict) or not isinstance(required, list):
        return {}
    return {name: _example_value(properties.get(name)) for name in required}


def _example_value(schema: object) -> object:
    known = schema if isinstance(schema, dict) else {}
    choices = known.get("enum")
    return choices[0] if isinstance(choices, list) and choices else _EXAMPLES.get(known.get("type"), "meter")
