"""From an answer to the status, headers and pieces of a body that say it."""

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus

from midfold.late_dataclasses import dataclass
from midfold.testing.upstream import anthropic, chat, responses
from midfold.testing.upstream.grammar import CREATED, Json, ScriptedTurn, write_json
from midfold.testing.upstream.received import Received, UpstreamApi
from midfold.testing.upstream.script import ApiError, HttpStatus, Reply, UsageReport
from midfold.tokens import CanonicalUsage, TokenCounter

_LIE = 10


@dataclass(frozen=True, slots=True)
class Response:
    """The bytes that go over the wire. A stream has a piece for each event."""

    status: int
    headers: Mapping[str, str]
    pieces: tuple[bytes, ...]
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class _Grammar:
    render: Callable[[ScriptedTurn], Json]
    stream: Callable[[ScriptedTurn], Iterator[bytes]]
    render_error: Callable[[ApiError, int], Json]


_CHAT = _Grammar(chat.render, chat.stream, chat.render_error)
_ANTHROPIC = _Grammar(anthropic.render, anthropic.stream, anthropic.render_error)
_GRAMMARS = {
    UpstreamApi.CHAT: _CHAT,
    UpstreamApi.RESPONSES: _Grammar(responses.render, responses.stream, responses.render_error),
    UpstreamApi.MESSAGES: _ANTHROPIC,
    UpstreamApi.COUNT_TOKENS: _ANTHROPIC,
}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def compose(answer: Reply | HttpStatus, received: Received, number: int) -> Response:
    """Say an answer in the grammar of the API that asked; `number` goes into the ids."""
    if isinstance(answer, HttpStatus):
        return _compose_status(answer, received, number)
    grammar = _grammar(received)
    headers = {**_request_id(received, number), **answer.headers}
    usage = _measure(answer, received)
    turn = ScriptedTurn(number, received.model, answer, usage, received.wants_usage)
    if received.streams:
        headers = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", **headers}
        return Response(200, headers, tuple(grammar.stream(turn)), streamed=True)
    body = grammar.render_error(answer.error, number) if answer.error else grammar.render(turn)
    return Response(200, {"Content-Type": "application/json", **headers}, (write_json(body),))


def list_models(names: tuple[str, ...], window_tokens: int | None) -> HttpStatus:
    """List the models so that clients of either provider can read it."""
    models: list[Json] = [
        {
            "id": name,
            "object": "model",
            "created": CREATED,
            "owned_by": "midfold",
            "type": "model",
            "display_name": name,
            "created_at": "2025-10-09T08:53:20Z",
            "lifecycle": "active",
            "max_input_tokens": window_tokens,
            "max_model_len": window_tokens,
        }
        for name in names
    ]
    ends = {"first_id": names[0], "last_id": names[-1]} if names else {"first_id": None, "last_id": None}
    return HttpStatus(200, {"object": "list", "data": models, "has_more": False, **ends})


def name_status(status: int) -> str:
    """Return the words that go with a status; providers have some of their own."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Site is overloaded"


def _compose_status(answer: HttpStatus, received: Received, number: int) -> Response:
    kind = "text/plain; charset=utf-8" if isinstance(answer.body, str | bytes) else "application/json"
    match answer.body:
        case str() as text:
            body = text.encode()
        case bytes() as body:
            pass
        case None:
            error = answer.error or _describe(answer.status)
            body = write_json(_grammar(received).render_error(error, number))
        case fields:
            body = write_json(fields)
    headers = {"Content-Type": kind, **_request_id(received, number), **answer.headers}
    return Response(answer.status, headers, (body,))


def _describe(status: int) -> ApiError:
    """Name an error after its status, as providers do."""
    return ApiError(name_status(status), _ERROR_TYPES.get(status, "api_error"))


def _grammar(received: Received) -> _Grammar:
    return _GRAMMARS.get(received.api, _CHAT) if received.api else _CHAT


def _request_id(received: Received, number: int) -> dict[str, str]:
    name = "request-id" if _grammar(received) is _ANTHROPIC else "x-request-id"
    return {name: f"req_{number}"}


def _measure(reply: Reply, received: Received) -> CanonicalUsage | None:
    """Return the usage that the reply reports: counted, scripted or a lie."""
    if isinstance(reply.usage, CanonicalUsage):
        return reply.usage
    if reply.usage is UsageReport.MISSING:
        return None
    count = TokenCounter().count_text
    sent, thought = received.count_tokens(), count(reply.reasoning)
    said = count(reply.text) + thought + sum(count(call.name + call.arguments) for call in reply.calls)
    match reply.usage:
        case UsageReport.LOW:
            sent, said, thought = (max(1, tokens // _LIE) for tokens in (sent, said, thought))
        case UsageReport.HIGH:
            sent, said, thought = sent * _LIE, said * _LIE, thought * _LIE
        case UsageReport.COUNTED:
            pass
    return CanonicalUsage(input_tokens=sent, output_tokens=said, reasoning_tokens=thought)
