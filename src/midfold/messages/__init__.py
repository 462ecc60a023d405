"""The messages and parts of a conversation, whatever provider it was written for.

A `Message` is a reading of one wire item: small frozen parts to ask about, and `raw`, the caller's own
object, to hand back. Digests recognise a history that a client sends again; pairing finds which result
answers which call.
"""

from typing import TYPE_CHECKING

from midfold.lazy_exports import lazy_getattr
from midfold.messages.digests import (
    EMPTY_CHAIN,
    SILENT,
    MessageDigest,
    canonical_bytes,
    chain_digests,
    digest,
    digest_messages,
    join_digests,
    link,
    own_digest,
)
from midfold.messages.pairing import Location, Pairing, pair_calls
from midfold.messages.parts import (
    PARTS,
    SYSTEM_ROLES,
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
    is_request,
    newest_request,
    texts_of,
)

if TYPE_CHECKING:
    from midfold.messages.cache import NO_HASH, MessageCache

__all__ = [
    "EMPTY_CHAIN",
    "NO_HASH",
    "PARTS",
    "SILENT",
    "SYSTEM_ROLES",
    "Location",
    "Media",
    "Message",
    "MessageCache",
    "MessageDigest",
    "Opaque",
    "Pairing",
    "Part",
    "Reasoning",
    "Removed",
    "Text",
    "ToolCall",
    "ToolResult",
    "canonical_bytes",
    "chain_digests",
    "digest",
    "digest_messages",
    "is_request",
    "join_digests",
    "link",
    "newest_request",
    "own_digest",
    "pair_calls",
    "texts_of",
]

# A fold has no use for these.
__getattr__ = lazy_getattr(
    __name__,
    {
        "cache": "NO_HASH MessageCache",
    },
)
