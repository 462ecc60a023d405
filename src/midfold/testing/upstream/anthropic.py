"""A reply of Anthropic's Messages API: a list of blocks, each of which opens, grows and closes."""

from collections.abc import Iterator

from midfold.messages import ToolCall
from midfold.testing.upstream.grammar import Json, ScriptedTurn, in_pieces, write_event
from midfold.testing.upstream.script import ApiError, FinishReason
from midfold.tokens import CanonicalUsage

_FINISH: dict[str, str] = {
    FinishReason.STOP: "end_turn",
    FinishReason.CALLS: "tool_use",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.FILTER: "refusal",
}
_SIGNATURE = "c2NyaXB0ZWQ="


def render(turn: ScriptedTurn) -> Json:
    """Write a whole reply."""
    reply = turn.reply
    content: list[Json] = []
    if reply.reasoning:
        content.append({"type": "thinking", "thinking": reply.reasoning, "signature": _SIGNATURE})
    if reply.text:
        content.append({"type": "text", "text": reply.text})
    content += [{**_open_call(call), "input": call.parse_arguments()} for call in reply.calls]
    usage = {"usage": _usage(turn.usage)} if turn.usage else {}
    return {**_envelope(turn), "content": content, "stop_reason": _finish(turn), **usage}


def stream(turn: ScriptedTurn) -> Iterator[bytes]:
    """Write a reply as events, up to `message_stop` or to the error that broke it off."""
    yield _event("message_start", message={**_envelope(turn), **_opening_usage(turn)})
    yield _event("ping")
    for index, (block, deltas) in enumerate(_blocks(turn)):
        yield _event("content_block_start", index=index, content_block=block)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    if turn.reply.error:
        yield write_event(render_error(turn.reply.error, turn.number), "error")
        return
    usage = {"usage": _usage(turn.usage)} if turn.usage else {}
    yield _event("message_delta", delta={"stop_reason": _finish(turn), "stop_sequence": None}, **usage)
    yield _event("message_stop")


def render_error(error: ApiError, number: int) -> Json:
    """Write an error, as the body of an answer or as the event that breaks off a stream."""
    named = {"type": error.type, "message": error.message}
    return {"type": "error", "error": named, "request_id": f"req_{number}"}


def _blocks(turn: ScriptedTurn) -> Iterator[tuple[Json, list[Json]]]:
    """Give each block as it opens, and what is added to it."""
    reply = turn.reply
    if reply.reasoning:
        deltas: list[Json] = [
            {"type": "thinking_delta", "thinking": piece} for piece in in_pieces(reply.reasoning)
        ]
        signature: Json = {"type": "signature_delta", "signature": _SIGNATURE}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if reply.text:
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": piece} for piece in in_pieces(reply.text)],
        )
    for call in reply.calls:
        pieces = ["", *in_pieces(call.arguments)]
        yield _open_call(call), [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _event(kind: str, **fields: object) -> bytes:
    return write_event({"type": kind, **fields}, kind)


def _envelope(turn: ScriptedTurn) -> Json:
    return {
        "id": f"msg_{turn.number}",
        "type": "message",
        "role": "assistant",
        "model": turn.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _open_call(call: ToolCall) -> Json:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}


def _finish(turn: ScriptedTurn) -> str:
    return _FINISH.get(turn.reply.why, turn.reply.why)


def _opening_usage(turn: ScriptedTurn) -> Json:
    """Report the input before the reply is made: the output is then a single token."""
    return {"usage": {**_usage(turn.usage), "output_tokens": 1}} if turn.usage else {}


def _usage(usage: CanonicalUsage) -> Json:
    one_hour = usage.cache_write_1h_tokens
    return {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_tokens - one_hour,
            "ephemeral_1h_input_tokens": one_hour,
        },
        "output_tokens": usage.output_tokens,
    }
