"""Content blocks: reading them and writing edited ones, for all dialects that have them."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from midfold.late_dataclasses import dataclass
from midfold.messages import Media, Opaque, Part, Text, ToolCall, ToolResult
from midfold.wire.dialect import (
    Item,
    Unreadable,
    Unwritable,
    as_item,
    describe,
    plain,
    read_opaque,
    text_field,
)
from midfold.wire.media import stub

ReadBlock: TypeAlias = Callable[[object], Part]
BuildBlock: TypeAlias = Callable[[Part], Item]


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks that a dialect knows: what reads each, by its type."""

    readers: Mapping[str, Callable[[Item], Part]]

    def read(self, block: object) -> Part:
        """Read one block; one that no reader knows is opaque."""
        if isinstance(block, str):
            return Text(block)
        block = as_item(block)
        kind = block.get("type")
        if not isinstance(kind, str):
            raise Unreadable("a content block has no type")
        reader = self.readers.get(kind)
        return reader(block) if reader else read_opaque(kind, block)

    def read_content(self, content: object) -> list[Part]:
        """Read content that is a text or a list of blocks; missing and null count as empty."""
        if type(content) is str:
            return [Text(content)]
        if type(content) is not list:
            content = plain(content)
            if content is None:
                return []
            if not isinstance(content, list):
                raise Unreadable(f"content is {describe(content)}; expected text or a list of blocks")
        readers = self.readers
        try:
            return [readers[block["type"]](block) for block in content]
        except (KeyError, TypeError):
            # Not all of them are plain and known, so they are looked at one by one.
            return [self.read(block) for block in content]


def read_text(block: Item) -> Part:
    """Read a block of words."""
    return Text(text_field(block, "text"))


def read_refusal(block: Item) -> Part:
    """Read the words with which a model refuses."""
    return Text(text_field(block, "refusal"))


def read_result(
    call_id: str, content: object, read: ReadBlock, is_error: bool = False, name: str = ""
) -> ToolResult:
    """Read what a tool gave back: a text, or blocks whose words are joined, one block a line."""
    if isinstance(content, str):
        return ToolResult(call_id, content, is_error, (), name)
    content = plain(content)
    if content is None:
        content = []
    if not isinstance(content, list):
        raise Unreadable(f"a tool result is {describe(content)}; expected text or a list of blocks")
    parts = [read(block) for block in content]
    # Clients add and drop empty texts as they like.
    words = "\n".join([part.text for part in parts if isinstance(part, Text | Opaque) and part.text])
    media = tuple([part for part in parts if isinstance(part, Media)])
    return ToolResult(call_id, words, is_error, media, name)


def blocks_of(item: Item) -> list[Item]:
    """Return the blocks of an item's content that have a type, to recognise who wrote it."""
    content = plain(item.get("content"))
    blocks = map(plain, content) if isinstance(content, list) else ()
    return [block for block in blocks if isinstance(block, dict) and isinstance(block.get("type"), str)]


def rewrite_text(old: object, text: str) -> object:
    """Put other words into a string or a block of text, whose other keys stay."""
    if not isinstance(old, dict):
        return text
    return {**old, "refusal" if old.get("type") == "refusal" else "text": text}


def rewrite_block(old: object, part: Part, build: BuildBlock) -> Item:
    """Build the block of another part in the place of `old`.

    A cache marker belongs to the position, not to the words, so it survives an edit.
    """
    return _mark(build(part), _markers([old]))


def rewrite_arguments(old: object, call: ToolCall) -> object:
    """Write arguments in the shape they had: as text, or as the value that the text stands for."""
    if old is None or isinstance(old, str):
        return call.arguments
    value = call.parse_arguments() if call.arguments else {}
    if type(value) is not type(old):
        raise Unwritable(f"the arguments of {call.name!r} are {describe(value)}; expected {describe(old)}")
    return value


def rewrite_result(
    old: object, result: ToolResult, read: ReadBlock, build: BuildBlock, kind: str = "text"
) -> object:
    """Write the content of a result: its words, then its media, each in the old block it stood in."""
    old_blocks = old if isinstance(old, list) else []
    held: dict[Part, list[object]] = {}
    for block in reversed(old_blocks):
        held.setdefault(read(block), []).append(block)
    media = [held[item].pop() if held.get(item) else build(item) for item in result.media]
    blocks: list[object] = [{"type": kind, "text": result.text}] if result.text.strip() else []
    blocks += media
    markers = _markers(old_blocks)
    if not blocks or (not media and not markers):
        return result.text
    return blocks if _markers(media) else [*blocks[:-1], _mark(as_item(blocks[-1]), markers)]


def add_to_content(content: object, part: Part, build: BuildBlock) -> object:
    """Add a part to content: one more block to a list, one more paragraph to a text."""
    content = plain(content)
    if isinstance(content, list):
        return [*content, build(part)]
    words = content if isinstance(content, str) else ""
    if isinstance(part, Text):
        return "\n\n".join(filter(None, [words, part.text]))
    return [*([build(Text(words))] if words else []), build(part)]


def build_or_stub(part: Part, build: BuildBlock) -> Item:
    """Build a block; of media that cannot be carried here, one that says what stood there."""
    try:
        return build(part)
    except Unwritable:
        if isinstance(part, Media):
            return build(Text(stub(part)))
        raise


def _markers(blocks: Sequence[object]) -> list[object]:
    return [
        block["cache_control"]
        for block in map(plain, blocks)
        if isinstance(block, dict) and block.get("cache_control")
    ]


def _mark(block: Item, markers: Sequence[object]) -> Item:
    return {**block, "cache_control": markers[-1]} if markers else block
