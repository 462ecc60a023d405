"""A reply of OpenAI's Responses API: a list of items, every step of which is an event of its own."""

from collections.abc import Iterator

from midfold.testing.upstream.grammar import CREATED, Json, ScriptedTurn, in_pieces, write_event
from midfold.testing.upstream.script import ApiError, FinishReason
from midfold.tokens import CanonicalUsage

FAILED = "failed"
"""A `finish` of its own: with an error, the stream ends in `response.failed` instead of a bare `error`."""

_CUT_SHORT: dict[str, str] = {FinishReason.LENGTH: "max_output_tokens", FinishReason.FILTER: "content_filter"}
_COMPLETE = (FinishReason.STOP, FinishReason.CALLS)


def render(turn: ScriptedTurn) -> Json:
    """Write a whole reply."""
    return _response(turn, _status(turn), _items(turn))


def stream(turn: ScriptedTurn) -> Iterator[bytes]:
    """Write a reply as numbered events, up to the one that ends it or to the error that broke it off."""
    for number, event in enumerate(_events(turn)):
        yield write_event({**event, "sequence_number": number}, str(event["type"]))


def render_error(error: ApiError, number: int) -> Json:  # noqa: ARG001 - one signature for all grammars
    """Write an error as the body of an answer."""
    return {"error": {"message": error.message, "type": error.type, "param": None, "code": error.code}}


def _events(turn: ScriptedTurn) -> Iterator[Json]:
    opening = _response(turn, "in_progress", [])
    yield {"type": "response.created", "response": opening}
    yield {"type": "response.in_progress", "response": opening}
    for index, item in enumerate(_items(turn)):
        indices = {"output_index": index}
        yield {"type": "response.output_item.added", **indices, "item": {**item, **_emptied(item)}}
        yield from _growth(item, {"item_id": item["id"], **indices})
        yield {"type": "response.output_item.done", **indices, "item": item}
    error = turn.reply.error
    if error and turn.reply.finish != FAILED:
        yield {"type": "error", "code": error.code or error.type, "message": error.message, "param": None}
        return
    status = _status(turn)
    yield {"type": f"response.{status}", "response": _response(turn, status, _items(turn))}


def _items(turn: ScriptedTurn) -> list[Json]:
    reply, number = turn.reply, turn.number
    items: list[Json] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"id": f"rs_{number}", "type": "reasoning", "summary": summary})
    if reply.text:
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed"}
        items.append({**message, "content": [_text(reply.text)]})
    return items + [
        {
            "id": f"fc_{number}_{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }
        for index, call in enumerate(reply.calls)
    ]


def _emptied(item: Json) -> Json:
    """Return what differs in an item while nothing has been added to it."""
    match item["type"]:
        case "reasoning":
            return {"summary": []}
        case "message":
            return {"status": "in_progress", "content": []}
        case _:
            return {"status": "in_progress", "arguments": ""}


def _growth(item: Json, indices: Json) -> Iterator[Json]:
    match item:
        case {"type": "reasoning", "summary": [{"text": str(text)}]}:
            part, indices = {"type": "summary_text"}, {**indices, "summary_index": 0}
            yield {"type": "response.reasoning_summary_part.added", **indices, "part": {**part, "text": ""}}
            yield from _deltas("response.reasoning_summary_text", text, indices, "text")
            yield {"type": "response.reasoning_summary_part.done", **indices, "part": {**part, "text": text}}
        case {"type": "message", "content": [{"text": str(text)}]}:
            indices = {**indices, "content_index": 0}
            yield {"type": "response.content_part.added", **indices, "part": _text("")}
            yield from _deltas("response.output_text", text, {**indices, "logprobs": []}, "text")
            yield {"type": "response.content_part.done", **indices, "part": _text(text)}
        case {"arguments": str(arguments)}:
            yield from _deltas("response.function_call_arguments", arguments, indices, "arguments")


def _deltas(kind: str, text: str, indices: Json, name: str) -> Iterator[Json]:
    for piece in in_pieces(text):
        yield {"type": f"{kind}.delta", **indices, "delta": piece}
    yield {"type": f"{kind}.done", **indices, name: text}


def _text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _status(turn: ScriptedTurn) -> str:
    if turn.reply.finish == FAILED:
        return "failed"
    return "completed" if turn.reply.why in _COMPLETE else "incomplete"


def _response(turn: ScriptedTurn, status: str, items: list[Json]) -> Json:
    why, error = turn.reply.why, turn.reply.error or ApiError()
    failed = {"code": error.code or "server_error", "message": error.message}
    return {
        "id": f"resp_{turn.number}",
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": failed if status == "failed" else None,
        "incomplete_details": {"reason": _CUT_SHORT.get(why, why)} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "model": turn.model,
        "output": items,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": _usage(turn.usage) if turn.usage and status != "in_progress" else None,
    }


def _usage(usage: CanonicalUsage) -> Json:
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.total_tokens,
    }
