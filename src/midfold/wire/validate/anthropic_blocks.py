"""The rules for single blocks of an Anthropic message, whatever stands around them."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from midfold.ports import Fault
from midfold.wire.dialect import Item, describe
from midfold.wire.validate.profiles import Profile, read_list, read_text, shown

THINKING = ("thinking", "redacted_thinking")


class Block(NamedTuple):
    """A block and the index of its message, which a system prompt has not.

    Tens of thousands are made for a long list, and a tuple is made thrice as fast as a frozen dataclass.
    """

    message: int | None
    role: str
    kind: str
    """Empty for what is no object, or one without a type."""
    item: Item


def read_blocks(index: int | None, role: str, content: object) -> list[Block]:
    """Read the blocks of a message; plain text is one text block, and empty text none."""
    if isinstance(content, str):
        return [Block(index, role, "text", {"text": content})] if content else []
    blocks = []
    for value in read_list(content) or ():
        item = value if isinstance(value, dict) else {}
        blocks.append(Block(index, role, read_text(item, "type") or "", item))
    return blocks


def read_inner(block: Block) -> list[Block]:
    """Read the blocks inside a tool result; plain text is none."""
    content = block.item.get("content")
    return [] if isinstance(content, str) else read_blocks(block.message, block.role, content)


def check_blocks(blocks: Iterable[Block], profile: Profile) -> Iterator[Fault]:
    """Check each block by its kind."""
    for block in blocks:
        rule = _RULES.get(block.kind)
        if rule is not None:
            yield from rule(block, profile)


def _check_typeless(block: Block, _: Profile) -> Iterator[Fault]:
    yield Fault("AN4", block.message, "a block of the content is not an object with a type")


def _check_text(block: Block, _: Profile) -> Iterator[Fault]:
    text = block.item.get("text")
    if not isinstance(text, str):
        yield Fault("AN5", block.message, f"the text of a block is {describe(text)}")
    elif not text.strip():
        yield Fault("AN5", block.message, "a text block is empty or only white space")


def _check_call(block: Block, profile: Profile) -> Iterator[Fault]:
    if block.role != "assistant":
        yield Fault("AN10", block.message, "a tool_use may stand in an assistant message only")
    call_id, name, arguments = block.item.get("id"), block.item.get("name"), block.item.get("input")
    # Only the characters are refused everywhere; a length is a matter of the route.
    if not isinstance(call_id, str) or not profile.accepts_id(call_id[: profile.id_chars_max]):
        found = shown(call_id) if isinstance(call_id, str) else describe(call_id)
        yield Fault("AN11", block.message, f"the call id is {found}; expected letters, digits, _ or -")
    if not isinstance(arguments, dict):
        yield Fault(
            "AN13", block.message, f"the input of a call is {describe(arguments)}; expected an object"
        )
    if not isinstance(name, str) or not profile.accepts_tool_name(name):
        found = shown(name) if isinstance(name, str) else describe(name)
        yield Fault("AN14", block.message, f"the tool name is {found}; expected {profile.tool_name_hint}")


def _check_result(block: Block, _: Profile) -> Iterator[Fault]:
    if block.role != "user":
        yield Fault("AN10", block.message, "a tool_result may stand in a user message only")


def _check_thinking(block: Block, _: Profile) -> Iterator[Fault]:
    if not read_text(block.item, "signature"):
        yield Fault("AN16", block.message, "a thinking block has no signature")
    if read_text(block.item, "thinking") is None:
        yield Fault("AN16", block.message, "a thinking block has no thinking, not even an empty text")


_RULES: dict[str, Callable[[Block, Profile], Iterator[Fault]]] = {
    "": _check_typeless,
    "text": _check_text,
    "tool_use": _check_call,
    "tool_result": _check_result,
    "thinking": _check_thinking,
}


def check_markers(marked: Iterable[Block]) -> Iterator[Fault]:
    """Check the blocks that carry a cache marker, also inside tool results."""
    for block in marked:
        if block.kind in THINKING:
            yield Fault("AN9", block.message, "a cache marker stands on a thinking block")
        elif block.kind == "text" and not (read_text(block.item, "text") or "").strip():
            yield Fault("AN9", block.message, "a cache marker stands on an empty text block")


def check_sizes(blocks: Sequence[Block], profile: Profile) -> Iterator[Fault]:
    """Check the images and the request as a whole."""
    images = [block for block in blocks if block.kind == "image"]
    many = len(images) > profile.many_images
    side_px_max = profile.many_images_side_px_max if many else profile.image_side_px_max
    for image in images:
        data = _data(image)
        if len(data) > profile.image_base64_chars_max:
            limit = f"at most {profile.image_base64_chars_max:,} are accepted"
            yield Fault("AN24", image.message, f"an image has {len(data):,} bytes of base64; {limit}")
        elif (side_px := _longer_side_px(data)) > side_px_max:
            limit = f"at most {side_px_max:,} are accepted with {len(images)} images"
            yield Fault("AN24", image.message, f"an image is {side_px:,} pixels long; {limit}")
    # Characters are a lower bound of bytes, so this never reports a request that would pass.
    if sum(map(_chars, blocks)) > profile.request_bytes_max:
        yield Fault("AN24", None, f"the request has over {profile.request_bytes_max:,} bytes")


_TEXT_KEYS = {"tool_result": "content", "thinking": "thinking"}


def _chars(block: Block) -> int:
    """Count the characters of a block without those of the blocks inside it, which are counted themselves."""
    if block.kind == "tool_use":
        return _input_chars(block.item.get("input"))
    text = block.item.get(_TEXT_KEYS.get(block.kind, "text"))
    return len(text) if isinstance(text, str) else len(_data(block))


def _input_chars(value: object) -> int:
    """Count the characters of all texts in the input of a call, however deeply it is nested."""
    chars = 0
    unread = [value]
    while unread:
        match unread.pop():
            case str() as text:
                chars += len(text)
            case dict() as item:
                unread.extend(item.values())
            case list() as items:
                unread.extend(items)
    return chars


def _data(block: Block) -> str:
    """Return the data that a block carries, or an empty text when it has none or only a reference."""
    source = block.item.get("source")
    return (read_text(source, "data") or "") if isinstance(source, dict) else ""


_PNG_HEADER_BASE64_CHARS = 32  # 24 bytes: signature, chunk length and name, width, height
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _longer_side_px(data: str) -> int:
    """Read the size of a PNG, which is what screenshots are; 0 for other formats."""
    try:
        header = b64decode(data[:_PNG_HEADER_BASE64_CHARS])
    except ValueError:
        return 0
    if len(header) < 24 or not header.startswith(_PNG_SIGNATURE):
        return 0
    return max(int.from_bytes(header[16:20]), int.from_bytes(header[20:24]))
