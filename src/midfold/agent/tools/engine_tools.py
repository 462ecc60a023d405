"""The tools of a context engine, offered to the model beside the others."""

import re
from collections.abc import Callable, Iterator, Mapping

from midfold.agent.tools.registry import Arguments, Tool, ToolFailed
from midfold.engines import ContextEngine, describe_error
from midfold.errors import DialectError, EngineContractError
from midfold.late_patterns import compile_late
from midfold.wire.apis import convert_tools

_NAME = compile_late(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)


def engine_tools(
    engine: ContextEngine,
    info: Callable[[], Mapping[str, object]],
    on_fault: Callable[[EngineContractError], None],
) -> Iterator[Tool]:
    """Yield the tools of an engine; `info` returns the facts that go with each call.

    A tool that no provider would take is reported and left out.
    """
    try:
        schemas = list(engine.get_tool_schemas())
    except Exception as error:  # noqa: BLE001 - anybody's code
        promise = f"get_tool_schemas returns a list; it raised {describe_error(error)}"
        on_fault(EngineContractError(engine.name, promise))
        return
    for schema in schemas:
        try:
            yield _make_tool(engine, schema, info)
        except EngineContractError as error:
            on_fault(error)


def _make_tool(engine: ContextEngine, schema: object, info: Callable[[], Mapping[str, object]]) -> Tool:
    try:
        # Flat, or as any API writes it: read by writing it for one of them.
        (written,) = convert_tools([schema], "anthropic")
    except DialectError as error:
        raise EngineContractError(engine.name, f"get_tool_schemas returns schemas; {error}") from error
    found = written if isinstance(written, dict) else {}
    name, parameters = str(found.get("name")), found.get("input_schema")
    if not _NAME.fullmatch(name) or not isinstance(parameters, Mapping):
        promise = "a tool has a name of letters, digits, _ and -, and an object for its parameters"
        raise EngineContractError(engine.name, f"{promise}; {name[:80]!r} has not")

    def run(arguments: Arguments) -> str:
        answer: object = engine.handle_tool_call(name, dict(arguments), **info())
        if not isinstance(answer, str):
            raise ToolFailed(f"the engine answered with {type(answer).__name__}, not with JSON text")
        return answer

    # An engine is used by one thread at a time, so its tools run alone.
    return Tool(name, str(found.get("description") or ""), parameters, run)
