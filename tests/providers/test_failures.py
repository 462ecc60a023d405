"""How long to wait after a failure is taken from the headers, and from the body where they do not say."""

import json

import pytest

from midfold.errors import RateLimited
from midfold.providers import find_endpoint
from midfold.providers.failures import judge_answer, judge_reply_error
from midfold.wire.apis import ReplyError

ENDPOINT = find_endpoint("scripted", base_url="http://127.0.0.1:1/v1", api="openai_chat")
SLOW_DOWN = {"error": {"code": 429, "message": "Quota exceeded. Please retry in 30.6s."}}


def test_the_body_says_how_long_to_wait():
    failed = judge_answer(ENDPOINT, 429, {}, json.dumps(SLOW_DOWN).encode())
    assert isinstance(failed.error, RateLimited)
    assert failed.may_pass
    assert failed.error.retry_after == pytest.approx(30.6)


def test_the_header_counts_before_the_body():
    failed = judge_answer(ENDPOINT, 429, {"Retry-After": "0"}, json.dumps(SLOW_DOWN).encode())
    assert failed.error.retry_after == 0


def test_a_failure_inside_a_reply_keeps_the_headers_of_the_reply():
    report = {"error": {"code": 429, "message": "Slow down"}}
    failed = judge_reply_error(ENDPOINT, ReplyError(report["error"], report), {"Retry-After": "7"})
    assert isinstance(failed.error, RateLimited)
    assert failed.error.retry_after == 7


def test_an_address_or_model_that_is_not_found_says_what_to_check():
    error = judge_answer(ENDPOINT, 404, {}, b'{"error": {"message": "Not Found."}}').error
    advice = "check the model's name, and whether http://127.0.0.1:1/v1 is the address of its API"
    assert str(error).endswith(f"answered 404: Not Found; {advice}")
