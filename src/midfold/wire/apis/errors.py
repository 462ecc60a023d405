"""Errors as a provider would write them: for clients that are told of a failure which no provider reported.

Before the first byte of an answer an error is its body. Later it is the last event of the stream, and the
event that says that all is well never comes.
"""

import json

from midfold.wire import anthropic, openai_responses
from midfold.wire.dialect import Item

_NAME_BY_STATUS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_OTHER = "api_error"


def write_error(dialect: str, status: int, message: str) -> Item:
    """Return the body of an answer that failed with a status."""
    name = _NAME_BY_STATUS.get(status, _OTHER)
    if dialect == anthropic.DIALECT.name:
        return {"type": "error", "error": {"type": name, "message": message}}
    return {"error": {"message": message, "type": name, "param": None, "code": None}}


def write_error_event(dialect: str, status: int, message: str) -> bytes:
    """Return the event that ends a stream which cannot go on. The message is data, whatever it holds."""
    if dialect == openai_responses.DIALECT.name:
        name = _NAME_BY_STATUS.get(status, _OTHER)
        event: Item = {"type": "error", "code": name, "message": message, "param": None}
        return b"event: error\ndata: " + _encode(event) + b"\n\n"
    data = b"data: " + _encode(write_error(dialect, status, message)) + b"\n\n"
    return b"event: error\n" + data if dialect == anthropic.DIALECT.name else data


def _encode(event: Item) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode()
