"""Provider formats: parsing, rendering, validating, API requests, errors, client session files.

Provider formats live here alone; every other package asks about the parts of a message.

`parse` and `render` are exact inverses for messages nobody edited: each comes back as the very same object.
"""

from typing import TYPE_CHECKING

from midfold.lazy_exports import lazy_getattr
from midfold.wire import validate
from midfold.wire.anthropic import RESULT_BLOCK
from midfold.wire.dialect import Evidence, Unreadable, describe, describe_keys, plain
from midfold.wire.dialects import (
    DEFAULT_DIALECT,
    DIALECTS,
    Recognition,
    Request,
    detect,
    get_dialect,
    parse,
    read_request,
    recognise,
    render,
)
from midfold.wire.sharegpt import is_known_speaker

if TYPE_CHECKING:
    from midfold.wire.cache_control import (
        MESSAGE_BREAKPOINTS,
        System,
        apply_cache_control,
        caching_applies,
        count_markers,
        strip_cache_control,
    )
    from midfold.wire.conversion import Conversion, ConversionLoss, convert
    from midfold.wire.growing_conversion import GrowingConversion
    from midfold.wire.sse import StreamTooLong
    from midfold.wire.usage import find_report, merge_usage, normalize_usage, reported_cost
    from midfold.wire.usage_reports import add_prompt_tokens

__all__ = [
    "DEFAULT_DIALECT",
    "DIALECTS",
    "MESSAGE_BREAKPOINTS",
    "RESULT_BLOCK",
    "Conversion",
    "ConversionLoss",
    "Evidence",
    "GrowingConversion",
    "Recognition",
    "Request",
    "StreamTooLong",
    "System",
    "Unreadable",
    "add_prompt_tokens",
    "apply_cache_control",
    "cache_control",
    "caching_applies",
    "convert",
    "count_markers",
    "describe",
    "describe_keys",
    "detect",
    "find_report",
    "get_dialect",
    "is_known_speaker",
    "merge_usage",
    "normalize_usage",
    "parse",
    "plain",
    "read_request",
    "recognise",
    "render",
    "reported_cost",
    "sse",
    "strip_cache_control",
    "usage",
    "validate",
]

# A fold has no use for these.
__getattr__ = lazy_getattr(
    __name__,
    {
        "cache_control": "MESSAGE_BREAKPOINTS System apply_cache_control caching_applies count_markers "
        "strip_cache_control",
        "conversion": "Conversion ConversionLoss convert",
        "growing_conversion": "GrowingConversion",
        "sse": "StreamTooLong",
        "usage": "find_report merge_usage normalize_usage reported_cost",
        "usage_reports": "add_prompt_tokens",
    },
)
