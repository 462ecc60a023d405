"""A reply of status 200 may still hold an overflow: in its body, its finish reason or its usage."""

import json

import pytest

from midfold.tokens.usage import CanonicalUsage
from midfold.wire.failures import FailureKind, FailureSign, find_silent_error, judge_reply

OVERFLOW = {
    "message": "the request exceeds the available context size",
    "n_prompt_tokens": 14_429,
    "n_ctx": 8192,
}
FINE = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}}

TOO_LONG = {"message": "prompt is too long: 9000 tokens > 8192 maximum"}
FAILED = {
    "status": "failed",
    "error": {"code": "context_length_exceeded", "message": "Your input is too long"},
}

ERRORS_INSIDE = {
    "openrouter": {"error": {**TOO_LONG, "code": 400}},
    "openrouter-choice": {"choices": [{"error": TOO_LONG}]},
    "minimax": {"choices": None, "base_resp": {"status_code": 1039, "status_msg": "token limit exceeded"}},
    "llama.cpp": {"error": OVERFLOW},
    "llama.cpp-field": f"error: {json.dumps(OVERFLOW)}\n\n",
    "llama.cpp-stream": f"data: {json.dumps({'error': OVERFLOW})}\n\ndata: [DONE]\n\n".encode(),
    "responses": {"type": "response.failed", "response": FAILED},
    "anthropic": f"event: error\ndata: {json.dumps({'type': 'error', 'error': TOO_LONG})}\n\n",
    "vllm": json.dumps({"object": "error", **TOO_LONG}),
}


@pytest.mark.parametrize("body", ERRORS_INSIDE.values(), ids=ERRORS_INSIDE.keys())
def test_an_error_inside_a_reply_is_found_and_read(body):
    silent = judge_reply(body)
    assert silent.sign is FailureSign.ERROR
    assert silent.failure.kind is FailureKind.PROMPT_TOO_LONG


def test_an_error_inside_a_reply_keeps_its_own_kind():
    body = {"base_resp": {"status_code": 1002, "status_msg": "rate limit exceeded(RPM)"}}
    assert judge_reply(body).failure.kind is FailureKind.RATE_LIMIT


@pytest.mark.parametrize("reason", ["model_context_window_exceeded", "MODEL_CONTEXT_WINDOW_EXCEEDED"])
def test_a_finish_reason_tells_of_a_full_window(reason):
    silent = judge_reply(FINE, finish_reasons=[None, reason], sent_tokens=9000)
    assert silent.sign is FailureSign.FINISH
    assert silent.failure.input_tokens == 9000


def test_more_tokens_than_the_window_holds_are_an_overflow():
    silent = judge_reply(usage={"prompt_tokens": 140_000}, sent_tokens=140_000, window_tokens=128_000)
    assert silent.sign is FailureSign.ABOVE_WINDOW
    assert silent.failure.limit == 128_000


@pytest.mark.parametrize("reported", [2048, 4096, 8192])
def test_far_fewer_tokens_than_were_sent_mean_that_the_prompt_was_cut(reported):
    silent = judge_reply(usage={"prompt_eval_count": reported}, sent_tokens=20_000, window_tokens=128_000)
    assert silent.sign is FailureSign.CUT
    assert silent.failure.kind is FailureKind.PROMPT_TOO_LONG


def test_cached_tokens_were_sent_too():
    usage = CanonicalUsage(input_tokens=200, cache_read_tokens=19_000)
    assert judge_reply(usage=usage, sent_tokens=20_000, window_tokens=128_000) is None


def test_a_full_window_and_no_output_is_an_overflow():
    usage = {"prompt_tokens": 131_000, "completion_tokens": 0}
    silent = judge_reply(usage=usage, finish_reasons=["length"], sent_tokens=131_500, window_tokens=131_072)
    assert silent.sign is FailureSign.NO_ROOM


@pytest.mark.parametrize(
    ("usage", "sent"),
    [
        ({"prompt_tokens": 14_000}, 20_000),  # an estimate may be off by a third
        ({"prompt_tokens": 100}, 1000),  # a template or an image may be that much
        ({"prompt_tokens": 0}, 20_000),  # nothing reported is nothing known
        (None, 20_000),
        ({"prompt_tokens": 100}, None),
    ],
)
def test_what_may_be_a_matter_of_counting_is_not_flagged(usage, sent):
    assert (
        judge_reply(FINE, finish_reasons=["stop"], usage=usage, sent_tokens=sent, window_tokens=128_000)
        is None
    )


def test_no_figure_of_a_silent_overflow_may_be_remembered_as_a_limit():
    cut = judge_reply(usage={"prompt_tokens": 8000}, sent_tokens=20_000)
    above = judge_reply(usage={"prompt_tokens": 9000}, sent_tokens=9000, window_tokens=8192)
    assert not cut.failure.is_limit_learnable
    assert not above.failure.is_limit_learnable


@pytest.mark.parametrize("body", [FINE, json.dumps(FINE), b"data: [DONE]\n\n", None, "", 7, {"error": None}])
def test_a_reply_without_an_error_has_none(body):
    assert find_silent_error(body) is None
