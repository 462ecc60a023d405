"""A quick count for reports over thousands of messages, where ten times the speed is worth a tenth."""

from typing import assert_never

from midfold.messages import Media, Message, Opaque, Part, Reasoning, Removed, Text, ToolCall, ToolResult
from midfold.tokens import approximate_tokens, count_media


def approximate(message: Message, /) -> int:
    """Estimate the tokens of a message without a vocabulary."""
    return sum([_approximate_part(part) for part in message.parts])


def _approximate_part(part: Part) -> int:
    match part:
        case Text(text) | Opaque(_, text) | Reasoning(text):
            return approximate_tokens(text)
        case ToolCall(_, name, arguments):
            return approximate_tokens(name) + approximate_tokens(arguments)
        case ToolResult(_, text, _, media):
            return approximate_tokens(text) + sum([_approximate_part(item) for item in media])
        case Media(_, mime, source):
            return approximate_tokens(source) if mime.startswith("text/") else count_media(part, "")
        case Removed():
            return 0
        case _:
            assert_never(part)
