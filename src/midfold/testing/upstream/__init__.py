"""A model provider on loopback that says and does what a test scripts: answers, delays, lies, broken lines.

It is a real HTTP server, so that whatever a client meets on a bad day can be met in a test. `Upstream`
serves; `script` holds the answers it can give; `overflow` knows how real providers refuse what is too long.
"""

from midfold.testing.upstream.overflow import PROVIDERS, overflow
from midfold.testing.upstream.received import Received
from midfold.testing.upstream.script import (
    HANG_UP,
    NEVER,
    RESET,
    Answer,
    ApiError,
    DeliveryFault,
    Ending,
    FinishReason,
    Framing,
    HttpStatus,
    Raw,
    Reply,
    Script,
    UsageReport,
    echo,
    redirect,
)
from midfold.testing.upstream.server import Upstream
from midfold.testing.upstream.unreachable import Unreachable

__all__ = [
    "HANG_UP",
    "NEVER",
    "PROVIDERS",
    "RESET",
    "Answer",
    "ApiError",
    "DeliveryFault",
    "Ending",
    "FinishReason",
    "Framing",
    "HttpStatus",
    "Raw",
    "Received",
    "Reply",
    "Script",
    "Unreachable",
    "Upstream",
    "UsageReport",
    "echo",
    "overflow",
    "redirect",
]
