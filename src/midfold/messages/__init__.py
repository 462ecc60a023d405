"""What a conversation is made of, whatever provider it was written for.

A `Message` is a reading of one wire item: small frozen parts to ask about, and `raw`, the caller's own
object, to hand back. Digests recognise a history that a client sends again; pairing finds which result
answers which call.
"""

from midfold.messages.digests import chain_digests, digest
from midfold.messages.pairing import Location, Pairing, pair_calls
from midfold.messages.parts import (
    Media,
    Message,
    Opaque,
    Part,
    Reasoning,
    Removed,
    Text,
    ToolCall,
    ToolResult,
)

__all__ = [
    "Location",
    "Media",
    "Message",
    "Opaque",
    "Pairing",
    "Part",
    "Reasoning",
    "Removed",
    "Text",
    "ToolCall",
    "ToolResult",
    "chain_digests",
    "digest",
    "pair_calls",
]
