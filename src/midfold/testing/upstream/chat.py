"""A reply of OpenAI's chat completions, and of all APIs that copy them."""

from collections.abc import Iterator

from midfold.messages import ToolCall
from midfold.testing.upstream.grammar import CREATED, Json, ScriptedTurn, in_pieces, write_event
from midfold.testing.upstream.script import ApiError, FinishReason
from midfold.tokens import CanonicalUsage

_FINISH: dict[str, str] = {FinishReason.CALLS: "tool_calls", FinishReason.FILTER: "content_filter"}


def render(turn: ScriptedTurn) -> Json:
    """Write a whole reply."""
    reply = turn.reply
    message: Json = {"role": "assistant", "content": reply.text or None, "refusal": None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [_call(call) for call in reply.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(turn)}
    usage = {"usage": _usage(turn.usage)} if turn.usage else {}
    return {**_envelope(turn, "chat.completion"), "choices": [choice], **usage}


def stream(turn: ScriptedTurn) -> Iterator[bytes]:
    """Write a reply as chunks, up to the one that says why it stopped, or to the error that broke it off."""
    reply = turn.reply
    yield _chunk(turn, {"role": "assistant", "content": ""})
    for piece in in_pieces(reply.reasoning):
        yield _chunk(turn, {"reasoning_content": piece})
    for piece in in_pieces(reply.text):
        yield _chunk(turn, {"content": piece})
    for index, call in enumerate(reply.calls):
        start = {"index": index, **_call(ToolCall(call.id, call.name, ""))}
        yield _chunk(turn, {"tool_calls": [start]})
        for piece in in_pieces(call.arguments):
            yield _chunk(turn, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if reply.error:
        yield write_event(render_error(reply.error, turn.number))
        return
    yield _chunk(turn, {}, _finish(turn))
    if turn.usage_chunk and turn.usage:
        envelope = _envelope(turn, "chat.completion.chunk")
        yield write_event({**envelope, "choices": [], "usage": _usage(turn.usage)})
    yield b"data: [DONE]\n\n"


def render_error(error: ApiError, number: int) -> Json:  # noqa: ARG001 - one signature for all grammars
    """Write an error, as the body of an answer or as the event that breaks off a stream."""
    return {"error": {"message": error.message, "type": error.type, "param": None, "code": error.code}}


def _chunk(turn: ScriptedTurn, delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    usage = {"usage": None} if turn.usage_chunk else {}
    return write_event({**_envelope(turn, "chat.completion.chunk"), "choices": [choice], **usage})


def _envelope(turn: ScriptedTurn, kind: str) -> Json:
    return {"id": f"chatcmpl-{turn.number}", "object": kind, "created": CREATED, "model": turn.model}


def _call(call: ToolCall) -> Json:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _finish(turn: ScriptedTurn) -> str:
    return _FINISH.get(turn.reply.why, turn.reply.why)


def _usage(usage: CanonicalUsage) -> Json:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens, "audio_tokens": 0},
    }
