"""Calls to models through each provider's API: what to send, and how to read what comes back.

Everything here is pure. A stream is collected into the body that a plain reply would have been, so there is
one way to read a reply, and the code that does the network knows no API.
"""

from collections.abc import Mapping
from types import MappingProxyType

from midfold.errors import ConfigError
from midfold.wire.apis.api import (
    Api,
    CallChunk,
    Collector,
    Completion,
    Finish,
    Quirks,
    ReasoningChunk,
    StreamCut,
    StreamDone,
    StreamEvent,
    TextChunk,
)
from midfold.wire.apis.client_requests import (
    CLIENT_HINTS,
    asked_window,
    find_client_hint,
    has_own_marker,
    set_output_cap,
)
from midfold.wire.apis.errors import write_error, write_error_event
from midfold.wire.apis.replies import ReplyError, StreamReader, find_error, read_reply, stated_status
from midfold.wire.apis.requests import convert_tools, encode_body, fit_request
from midfold.wire.dialects import DEFAULT_DIALECT, DIALECTS

__all__ = [
    "APIS",
    "CLIENT_HINTS",
    "Api",
    "CallChunk",
    "Collector",
    "Completion",
    "Finish",
    "Quirks",
    "ReasoningChunk",
    "ReplyError",
    "StreamCut",
    "StreamDone",
    "StreamEvent",
    "StreamReader",
    "TextChunk",
    "asked_window",
    "convert_tools",
    "encode_body",
    "find_api",
    "find_client_hint",
    "find_error",
    "fit_request",
    "get_api",
    "has_own_marker",
    "read_reply",
    "set_output_cap",
    "stated_status",
    "write_error",
    "write_error_event",
]

APIS: Mapping[str, Api] = MappingProxyType(
    {
        name: api
        for name in dict.fromkeys((DEFAULT_DIALECT, *DIALECTS))
        if (api := DIALECTS[name].load_api()) is not None
    }
)
"""The APIs by the dialect that they speak."""


def get_api(name: str) -> Api:
    """Return the API of that name; raise `ConfigError` with the names there are."""
    if name not in APIS:
        raise ConfigError("api", name, hint=f"one of {', '.join(APIS)}")
    return APIS[name]


def find_api(path: str) -> Api | None:
    """Return the API that answers a path with a completion, whatever base and query; `None` for any other."""
    endpoint = path.partition("?")[0].rstrip("/")
    return next((api for api in APIS.values() if endpoint.endswith(api.path)), None)
