"""Beside its kind a failure keeps what people are to read, and how long the provider asks to wait."""

import json

import pytest

from midfold.wire.failures import classify

TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
        ({"error": {"message": "Not Found", "type": "invalid_request_error", "code": None}}, "Not Found"),
        (
            {
                "error": {
                    "code": 400,
                    "message": "Bad key",
                    "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "KEY"}],
                }
            },
            "Bad key",
        ),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": TOO_LONG}}}, TOO_LONG),
        (
            {"error": {"message": "Param Incorrect", "param": "max_tokens is too large: 9"}},
            "max_tokens is too large: 9",
        ),
        ({"message": "Slow down", "provider_name": "Amazon Bedrock"}, "Slow down"),
        ({"code": "invalid_key"}, "code: invalid_key"),
        ("plain text", "plain text"),
        ({}, ""),
    ],
)
def test_people_read_what_was_written_for_people(body, message):
    assert classify(400, body).message == message
    assert classify(400, body if isinstance(body, str) else json.dumps(body)).message == message


def test_the_message_for_people_is_unwrapped():
    inner = json.dumps({"error": {"message": TOO_LONG}})
    body = {"error": {"message": "Provider returned error", "metadata": {"raw": inner}}}
    assert classify(400, body).message == TOO_LONG


def google(**info):
    info["@type"] = "type.googleapis.com/google.rpc.RetryInfo"
    return {"error": {"code": 429, "message": "Resource has been exhausted.", "details": [info]}}


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (google(retryDelay="30s"), 30.0),
        (google(retryDelay="30.638054576s"), 30.638054576),
        (google(retryDelay="soon"), None),
        ({"error": {"message": "Slow down", "retry_after": 12.5}}, 12.5),
        ("Quota exceeded. Please retry in 30.6s.", 30.6),
        ("Rate limit reached: Limit 100000, Used 97050. Please try again in 9m38.016s.", 578.016),
        ("Please try again in 1h2m3s", 3723.0),
        ("Please try again in 650ms.", 0.65),
        ("Rate limit of 8 per 86400s exceeded. Please wait 40000 seconds before retrying.", 40_000.0),
        ("exceeded token rate limit. Please retry after 26 seconds.", 26.0),
        ("reached max organization TPM: 32000, please try again after 1 seconds", 1.0),
        ("wait for 2 minutes and 5 seconds", 125.0),
        ("Too many requests, please wait before trying again.", None),
        ("Please try again later.", None),
        ("Rate limit reached, retry in inf s", None),
    ],
)
def test_a_wait_that_the_body_states_is_read(body, seconds):
    assert classify(429, body).retry_after == (seconds if seconds is None else pytest.approx(seconds))
