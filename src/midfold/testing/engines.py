"""`check_engine`: does an engine keep the promises that every host relies on?"""

import copy
import json
from collections.abc import Callable, Sequence

from midfold.engines import ContextEngine
from midfold.errors import EngineContractError, ExtraMissing, MidfoldError
from midfold.messages import Message, digest, pair_calls
from midfold.testing.conversations import transcript
from midfold.tokens import TokenCounter
from midfold.wire import DIALECTS, parse
from midfold.wire.validate import find_errors

_COUNTERS = ("last_prompt_tokens", "last_completion_tokens", "last_total_tokens", "compression_count")
_FIGURES = (*_COUNTERS, "threshold_tokens", "context_length", "protect_first_n", "protect_last_n")
_STATUS = ("last_prompt_tokens", "threshold_tokens", "context_length", "usage_percent", "compression_count")
_USAGE = {"prompt_tokens": 1_234, "completion_tokens": 56, "total_tokens": 1_290}
_SEEDS = range(4)


def check_engine(make_engine: Callable[[], ContextEngine]) -> None:
    """Prove an engine against the promises of every engine; `make_engine` returns a fresh one each time.

    First by itself, then in a host: a short chat with a scripted model, without a network. Raises
    `EngineContractError` naming the first promise that is broken, and `ExtraMissing` where the host is not
    installed.
    """
    try:
        _check_alone(make_engine)
        _check_in_host(make_engine)
    except MidfoldError:
        raise
    except Exception as error:
        name = getattr(make_engine, "__name__", "engine")
        raise EngineContractError(name, f"its methods do not raise; one raised {error!r}") from error


def _check_alone(make_engine: Callable[[], ContextEngine]) -> None:
    _check_figures(make_engine())
    _check_hooks(make_engine())
    for dialect in sorted(DIALECTS):
        for seed in _SEEDS:
            items = transcript(
                dialect, seed=seed, turns=14, result_chars=3_000, thinking=seed % 2 == 1, images=True
            )
            _check_compression(make_engine(), items, dialect)
            _check_compression(make_engine(), _with_open_call(items, dialect), dialect)
    _check_odd_input(make_engine())


def _check_in_host(make_engine: Callable[[], ContextEngine]) -> None:
    try:
        from midfold.testing.host import check_in_host
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "midfold":
            raise
        raise ExtraMissing("chats that check an engine", "models") from error
    check_in_host(make_engine)


def _promise(engine: ContextEngine, promise: str, kept: bool) -> None:
    if not kept:
        raise EngineContractError(engine.name, promise)


def _check_figures(engine: ContextEngine) -> None:
    _promise(engine, "name is a text", isinstance(engine.name, str) and bool(engine.name))
    for figure in _FIGURES:
        _promise(engine, f"{figure} is a number", isinstance(getattr(engine, figure, None), int))
    engine.update_from_response(_USAGE)
    _promise(engine, "update_from_response sets last_prompt_tokens", engine.last_prompt_tokens == 1_234)
    _promise(engine, "should_compress answers with a bool", isinstance(engine.should_compress(), bool))
    status = engine.get_status()
    _promise(engine, f"get_status has {', '.join(_STATUS)}", set(_STATUS) <= set(status))
    percent = status["usage_percent"]
    _promise(engine, "usage_percent is 0 to 100", isinstance(percent, int | float) and 0 <= percent <= 100)
    engine.update_model("another-model", 32_000)
    _promise(engine, "update_model sets context_length", engine.context_length == 32_000)
    _promise(engine, "the threshold fits the window", 0 < engine.threshold_tokens <= 32_000)


def _check_hooks(engine: ContextEngine) -> None:
    engine.on_session_start("s-1", model="m", context_length=32_000)
    engine.on_session_start("s-2", boundary_reason="compression", old_session_id="s-1")
    engine.update_from_response(_USAGE)
    engine.on_session_end("s-2", [])
    engine.on_session_reset()
    for counter in _COUNTERS:
        _promise(engine, f"on_session_reset zeroes {counter}", getattr(engine, counter) == 0)
    _promise(engine, "get_tool_schemas returns a list", isinstance(engine.get_tool_schemas(), list))
    answer = json.loads(engine.handle_tool_call("no_such_tool", {}, messages=[]))
    _promise(
        engine,
        "an unknown tool is answered with a JSON error",
        isinstance(answer, dict) and "error" in answer,
    )


def _check_compression(engine: ContextEngine, items: list[object], dialect: str) -> None:
    before = copy.deepcopy(items)
    result = engine.compress(items)
    _promise(engine, "compress never changes its input", items == before)
    _promise(engine, "compress returns a new list", isinstance(result, list) and result is not items)
    illegal, was_illegal = find_errors(result, dialect=dialect), find_errors(items, dialect=dialect)
    _promise(engine, "what was legal stays legal", len(illegal) <= len(was_illegal))
    old, new = parse(items, dialect), parse(result, dialect)
    count = TokenCounter()
    _promise(engine, "a compression never makes it larger", sum(map(count, new)) <= sum(map(count, old)))
    _promise(engine, "the newest request stays word for word", _newest_request(new) == _newest_request(old))
    _promise(engine, "surviving messages keep their order", _is_in_order(old, new))
    waiting = len(pair_calls(old).open_calls)
    _promise(engine, "a call that waits for its result stays", len(pair_calls(new).open_calls) == waiting)


def _check_odd_input(engine: ContextEngine) -> None:
    for odd in ([], [None], [{"role": "user"}], [{"role": 7, "content": []}]):
        try:
            engine.compress(odd)
        except MidfoldError:
            continue
        except Exception as error:
            raise EngineContractError(engine.name, f"odd input gives a typed error, not {error!r}") from error


def _newest_request(messages: Sequence[Message]) -> str:
    """Return the newest words of the user; a summary is the user's by role alone, but never the newest."""
    requests = [message for message in messages if message.role == "user" and message.text.strip()]
    return requests[-1].text if requests else ""


def _is_in_order(old: Sequence[Message], new: Sequence[Message]) -> bool:
    indices = {digest(message): index for index, message in enumerate(old)}
    survivors = [indices[key] for message in new if (key := digest(message)) in indices]
    repeated = len(set(map(digest, old))) < len(old)
    return repeated or survivors == sorted(survivors)


def _with_open_call(items: list[object], dialect: str) -> list[object]:
    """Cut the conversation right after a call, as it stands while a tool runs."""
    messages = parse(items, dialect)
    last_call = max((index for index, message in enumerate(messages) if any(message.calls)), default=None)
    return items if last_call is None else items[: last_call + 1]
