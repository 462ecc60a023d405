"""The ways in which an error arrives: wrapped, spelt otherwise, with what logs and libraries add."""

import json
import re

import pytest


def separate(text, separator):
    """Write the numbers of a text with a separator between thousands."""
    return re.sub(r"(?<![\w.-])\d{4,9}(?!\w)", lambda n: f"{int(n[0]):,}".replace(",", separator), text)


def represent(text):
    """Write an error as an SDK's exception does: the `repr` of the parsed body behind a prefix."""
    try:
        return f"Error code: 400 - {json.loads(text)!r}"
    except ValueError:
        return repr({"error": {"message": text}})


def as_object(text):
    return text if text.startswith('{"') else json.dumps({"error": text})


def as_html(text):
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return f"<html><body><pre>{text}</pre></body></html>"


TRACE = 'Traceback (most recent call last):\n  File "/app/client.py", line 4096, in call\n    raise it\n'
FRAMES = "\n    at async Object.request (/app/node_modules/sdk/src/core.ts:512:24)\n    at 131072:1"
LOG = "time=2025-10-01T12:00:59.123Z level=ERROR request_id=8192abc status=400 msg="

MUTATIONS = {
    "json in a string": json.dumps,
    "json in a message": lambda text: json.dumps({"error": {"message": text}}),
    "json in a message in a message": lambda text: json.dumps(
        {"error": {"message": json.dumps({"error": {"message": text}})}}
    ),
    "a repr": represent,
    "a repr around it": lambda text: f"Error code: 400 - { ({'error': {'message': text}})!r}",
    "the repr of bytes": lambda text: repr(text.encode()),
    "bytes": str.encode,
    "a parsed object": lambda text: {"error": {"message": text}},
    "thousands by comma": lambda text: separate(text, ","),
    "thousands by space": lambda text: separate(text, " "),
    "thousands by narrow space": lambda text: separate(text, "\u202f"),
    "thousands by underscore": lambda text: separate(text, "_"),
    "thousands by dot": lambda text: separate(text, "."),
    "upper case": str.upper,
    "lower case": str.lower,
    "a library's prefix": lambda text: f"litellm.BadRequestError: OpenAIException - {text}",
    "a prefix and a suffix": lambda text: f"API call failed: {text} (attempt 1 of 3)",
    "a gateway's metadata": lambda text: json.dumps(
        {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": text}}}
    ),
    "a list": lambda text: f"[{as_object(text)}]",
    "a stream": lambda text: f"data: {as_object(text)}\n\ndata: [DONE]\n\n",
    "an error event": lambda text: (
        f"event: error\ndata: {json.dumps({'type': 'error', 'error': {'message': text}})}\n\n"
    ),
    "a page": as_html,
    "a log line": lambda text: LOG + json.dumps(text),
    "a note of the attempt": lambda text: f"Attempt 3/5 failed after 12000 ms: {text}",
    "a note of the trace": lambda text: f"{text} (trace_id: 4096, elapsed: 8123ms)",
    "a traceback": lambda text: f"{TRACE}APIError: {text}",
    "stack frames": lambda text: f"{text}{FRAMES}",
}


@pytest.fixture(params=MUTATIONS)
def mutate(request):
    return MUTATIONS[request.param]


@pytest.fixture(scope="session")
def mutations():
    return MUTATIONS
