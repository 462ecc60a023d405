"""What the dialects with content blocks share when a part of a block is spelled anew."""

from collections.abc import Callable

from midfold.messages import Media, Opaque, Part, Text, ToolResult
from midfold.wire.dialect import Item, Unreadable, describe
from midfold.wire.plain import plain


def read_result(
    call_id: str, content: object, read: Callable[[object], Part], is_error: bool = False, name: str = ""
) -> ToolResult:
    """Read what a tool gave back: a text, or blocks whose words are joined, one block a line."""
    if isinstance(content, str):
        return ToolResult(call_id, content, is_error, (), name)
    content = plain(content)
    if content is None:
        content = []
    if not isinstance(content, list):
        raise Unreadable(f"a tool result is {describe(content)}; expected text or a list of blocks")
    parts = [read(plain(block)) for block in content]
    words = "\n".join([part.text for part in parts if isinstance(part, Text | Opaque)])
    media = tuple([part for part in parts if isinstance(part, Media)])
    return ToolResult(call_id, words, is_error, media, name)


def respell_text(old: object, text: str, kind: str = "text") -> object:
    """Put `text` in place of a string or of a block, whose other keys stay if it was text already."""
    if not isinstance(old, dict):
        return text
    if "text" in old:
        return {**old, "text": text}
    return keep_marker(old, {"type": kind, "text": text})


def respell_result(
    old: object, result: ToolResult, read: Callable[[object], Part], kind: str = "text"
) -> object:
    """Spell the content of a result: text alone, or text before those of its media that it still has."""
    if not isinstance(old, list) or not result.media:
        return result.text
    kept = [block for block in old if read(plain(block)) in result.media]
    return [{"type": kind, "text": result.text}, *kept]


def keep_marker(old: object, block: Item) -> Item:
    """A cache marker belongs to the position, not to the words, so it survives an edit."""
    if isinstance(old, dict) and "cache_control" in old:
        return {**block, "cache_control": old["cache_control"]}
    return block
