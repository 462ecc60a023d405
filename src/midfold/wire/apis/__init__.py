"""Calls to models as the three APIs spell them: what to send, and how to read what comes back.

Everything here is pure. A stream is collected into the body that a plain reply would have been, so there is
one way to read a reply, and whoever does the network needs to know none of the spellings.
"""

from midfold.wire.apis.api import Api, Collector, Quirks
from midfold.wire.apis.apis import APIS, find_api, get_api
from midfold.wire.apis.completion import (
    CallChunk,
    Completion,
    Finish,
    ReasoningChunk,
    StreamCut,
    StreamDone,
    StreamEvent,
    TextChunk,
)
from midfold.wire.apis.errors import find_error, stated_status
from midfold.wire.apis.replies import ReplyError, StreamReader, read_reply
from midfold.wire.apis.requests import encode_body, fit_request
from midfold.wire.apis.tools import convert_tools

__all__ = [
    "APIS",
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
    "convert_tools",
    "encode_body",
    "find_api",
    "find_error",
    "fit_request",
    "get_api",
    "read_reply",
    "stated_status",
]
