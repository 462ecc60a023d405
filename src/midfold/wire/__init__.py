"""Providers' spellings, and nothing else's: every other package asks about parts.

`parse` and `render` are exact inverses for messages nobody edited: each comes back as the very same object.
"""

from midfold.wire import cache_control, sse, usage, validate
from midfold.wire.convert import Conversion, Loss, convert
from midfold.wire.dialects import DIALECTS, detect, parse, render
from midfold.wire.request import Request, read_request

__all__ = [
    "DIALECTS",
    "Conversion",
    "Loss",
    "Request",
    "cache_control",
    "convert",
    "detect",
    "parse",
    "read_request",
    "render",
    "sse",
    "usage",
    "validate",
]
