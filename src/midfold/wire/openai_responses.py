"""OpenAI Responses: a flat list of typed items, one message each.

Walk: the content of a message item; every other item is one part.
"""

from midfold.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.wire.blocks import keep_marker, read_result, respell_result, respell_text
from midfold.wire.dialect import (
    Dialect,
    Item,
    Unreadable,
    Walk,
    as_item,
    describe,
    holds_block,
    json_text,
    list_field,
    patch,
    text_field,
)
from midfold.wire.media import media_from_url, stub, url_of
from midfold.wire.plain import plain

_OWN_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})
# Where each kind of call keeps what it asks for; the first field that is there counts.
_ARGUMENT_FIELDS = ("arguments", "input", "action", "operation")
_OUTPUT_SUFFIX = "_output"
_WHOLE_ITEM = ()


def recognises(item: Item) -> bool:
    kind = item.get("type")
    if isinstance(kind, str):
        return kind in ("message", "reasoning", "item_reference", "compaction") or "_call" in kind
    return holds_block(item, _OWN_BLOCKS)


def role_of(item: Item) -> str:
    kind = _kind_of(item)
    if kind == "message":
        role = item.get("role")
        if not isinstance(role, str) or not role:
            raise Unreadable(f"role is {describe(role)}; expected one of developer, user, assistant")
        return role
    return "tool" if _is_output(kind) else "assistant"


def _kind_of(item: Item) -> str:
    kind = item.get("type")
    if kind is None and "role" in item:
        return "message"
    if not isinstance(kind, str):
        raise Unreadable(f"type is {describe(kind)}; expected the kind of an item")
    return kind


def _is_output(kind: str) -> bool:
    return kind.endswith("_call" + _OUTPUT_SUFFIX)


def _is_call(item: Item, kind: str) -> bool:
    """A call of the client's own tools; hosted tools have no call id and answer by themselves."""
    return kind.endswith("_call") and bool(item.get("call_id"))


def walk(item: Item) -> Walk:
    kind = _kind_of(item)
    if kind == "message":
        yield from _walk_content(item.get("content"))
    elif _is_output(kind):
        yield ("output",), _read_output(item)
    elif _is_call(item, kind):
        yield (_argument_field(item),), _read_call(item, kind)
    elif kind == "reasoning":
        yield _WHOLE_ITEM, Reasoning(_reasoning_text(item), text_field(item, "encrypted_content"))
    elif kind == "image_generation_call" and isinstance(item.get("result"), str):
        yield _WHOLE_ITEM, Media("image", "image/png", item["result"])
    else:
        yield _WHOLE_ITEM, Opaque(kind, json_text(item))


def _walk_content(content: object) -> Walk:
    if isinstance(content, str):
        yield ("content",), Text(content)
    elif isinstance(content, list):
        for position, block in enumerate(content):
            yield ("content", position), read_block(plain(block))
    elif content is not None:
        raise Unreadable(f"content is {describe(content)}; expected text or a list of parts")


def read_block(block: object) -> Part:
    """Read one element of a content list."""
    if isinstance(block, str):
        return Text(block)
    block = as_item(block)
    match block.get("type"):
        case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text":
            return Text(text_field(block, "text"))
        case "refusal":
            return Text(text_field(block, "refusal"))
        case "input_image" | "computer_screenshot":
            place = text_field(block, "image_url") or text_field(block, "file_id")
            return media_from_url("image", place, detail=text_field(block, "detail"))
        case "input_file":
            place = next(
                filter(None, (text_field(block, key) for key in ("file_data", "file_url", "file_id"))), ""
            )
            return media_from_url("document", place)
        case str(kind):
            return Opaque(kind, json_text(block))
        case _:
            raise Unreadable("a content part has no type")


def _read_output(item: Item) -> ToolResult:
    output = plain(item.get("output"))
    if isinstance(output, dict):
        output = [output] if "type" in output else json_text(output)
    return read_result(text_field(item, "call_id"), output, read_block)


def _argument_field(item: Item) -> str:
    return next((field for field in _ARGUMENT_FIELDS if item.get(field) is not None), "arguments")


def _read_call(item: Item, kind: str) -> ToolCall:
    name = text_field(item, "name") or kind.removesuffix("_call")
    arguments = plain(item.get(_argument_field(item)))
    return ToolCall(text_field(item, "call_id"), name, "" if arguments is None else json_text(arguments))


def _reasoning_text(item: Item) -> str:
    blocks = [read_block(plain(block)) for key in ("summary", "content") for block in list_field(item, key)]
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def respell(old: object, part: Part) -> object:
    """Spell `part` where `old` stood."""
    match part:
        case Text(text):
            return respell_text(old, text, "input_text")
        case ToolResult():
            return respell_result(old, part, read_block, "input_text")
        case ToolCall():
            return part.arguments if isinstance(old, str) else part.parse_arguments()
        case _:
            return keep_marker(old, _build_block(part, "input_text"))


def build(message: Message) -> list[object]:
    """Spell a message as items: thinking, words, calls, results."""
    items: list[object] = []
    words = [
        part for part in message.parts if isinstance(part, Media) or (isinstance(part, Text) and part.text)
    ]
    kind = "output_text" if message.role == "assistant" else "input_text"
    items += [_build_item(part) for part in message.parts if isinstance(part, Reasoning) and part.signature]
    items += [_build_item(part) for part in message.results]
    if words:
        role = "user" if message.role == "tool" else message.role
        content = [_build_block(part, kind) for part in words]
        items.append({"type": "message", "role": role, "content": content})
    items += [_build_item(part) for part in message.calls]
    return items


def _build_item(part: Part) -> Item:
    match part:
        case ToolCall(call_id, name, arguments):
            return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
        case ToolResult(call_id, text, _, media):
            said: list[Part] = [Text(text), *media]
            output: object = [_build_block(piece, "input_text") for piece in said] if media else text
            return {"type": "function_call_output", "call_id": call_id, "output": output}
        case Reasoning(text, signature):
            summary = [{"type": "summary_text", "text": text}] if text else []
            return {"type": "reasoning", "summary": summary, "encrypted_content": signature}
        case _:
            raise Unreadable(f"a {type(part).__name__} is not an item of its own")


def _build_block(part: Part, kind: str) -> Item:
    match part:
        case Text(text) | Opaque(_, text):
            return {"type": kind, "text": text}
        case Media("image") as media if kind == "input_text":
            return {"type": "input_image", "image_url": url_of(media), "detail": media.detail or "auto"}
        case Media() as media:
            return {"type": kind, "text": stub(media)}
        case _:
            raise Unreadable(f"a {type(part).__name__} cannot stand in content")


def rewrite(item: Item, message: Message) -> list[object]:
    """Spell an edited message; an item that was one part as a whole is built anew, or gone with it."""
    if any(path == _WHOLE_ITEM for path, _ in walk(item)):
        return build(message)
    return [patch(item, message, walk, respell)]


DIALECT = Dialect("openai_responses", recognises, role_of, walk, rewrite, build)
