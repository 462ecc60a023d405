"""Anthropic Messages: content is text or blocks, results ride in user messages, thinking is signed.

Walk: the content's blocks, in order.
"""

from collections.abc import Sequence

from midfold.late_dataclasses import replace
from midfold.messages import SYSTEM_ROLES, Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.wire.blocks import (
    Blocks,
    add_to_content,
    blocks_of,
    build_or_stub,
    read_result,
    read_text,
    rewrite_arguments,
    rewrite_block,
    rewrite_result,
    rewrite_text,
)
from midfold.wire.dialect import (
    Change,
    Dialect,
    Edits,
    Evidence,
    Features,
    Item,
    ToolOffer,
    Unreadable,
    Unwritable,
    Walk,
    as_item,
    describe,
    json_text,
    patch,
    plain,
    read_opaque,
    text_field,
)
from midfold.wire.media import is_file_id, is_text, is_url, media_from_data

RESULT_BLOCK = "tool_result"
"""The type of a block in a message of the user that holds the result of a call."""
_OWN_BLOCKS = frozenset({"tool_use", RESULT_BLOCK, "redacted_thinking"})
_SERVER_TOOL_SUFFIXES = ("_tool_use", "_tool_result")
_SHARED_BLOCKS = frozenset({"search_result", "container_upload"})
_PLAIN_TEXT = "text/plain"


def recognises(item: Item) -> Evidence:
    if item.get("role") not in ("user", "assistant") or item.get("tool_calls") or item.get("function_call"):
        return Evidence.NONE
    blocks = blocks_of(item)
    if any(block["type"] in _OWN_BLOCKS or block["type"].endswith(_SERVER_TOOL_SUFFIXES) for block in blocks):
        return Evidence.PROOF
    if item.get("type") == "message" and "stop_reason" in item:
        return Evidence.PROOF
    return Evidence.HINT if any(map(_is_hint, blocks)) else Evidence.NONE


def _is_hint(block: Item) -> bool:
    """Whether a block looks like Anthropic's; other servers have blocks of the same types."""
    match block["type"]:
        case "image" | "document":
            return isinstance(plain(block.get("source")), dict)
        case "thinking":
            return isinstance(block.get("thinking"), str)
        case kind:
            return kind in _SHARED_BLOCKS


def role_of(item: Item) -> str:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise Unreadable(f"role is {describe(role)}; expected user or assistant")
    return role


def walk(item: Item) -> Walk:
    return [("content", _BLOCKS.read_content(item.get("content")))]


def _read_call(block: Item) -> Part:
    given = block.get("input")
    arguments = "{}" if given is None else json_text(given if type(given) is dict else plain(given))
    return ToolCall(text_field(block, "id"), text_field(block, "name"), arguments)


def _read_result(block: Item) -> Part:
    is_error = block.get("is_error") is True
    return read_result(text_field(block, "tool_use_id"), block.get("content"), _BLOCKS.read, is_error)


def _read_thinking(block: Item) -> Part:
    return Reasoning(text_field(block, "thinking"), text_field(block, "signature"))


def _read_redacted(block: Item) -> Part:
    return Reasoning("", text_field(block, "data"))


def _read_media(block: Item) -> Part:
    """Read an image or a document by its source; one made of blocks of its own is opaque."""
    kind = block["type"]
    source = plain(block.get("source"))
    if not isinstance(source, dict):
        return read_opaque(kind, block)
    mime = text_field(source, "media_type") or (_PLAIN_TEXT if source.get("type") == "text" else "")
    if data := text_field(source, "data"):
        return Media(kind, mime, data) if mime else media_from_data(kind, data)
    reference = text_field(source, "url") or text_field(source, "file_id")
    return Media(kind, mime, reference) if reference else read_opaque(kind, block)


_BLOCKS = Blocks(
    {
        "text": read_text,
        "tool_use": _read_call,
        "tool_result": _read_result,
        "thinking": _read_thinking,
        "redacted_thinking": _read_redacted,
        "image": _read_media,
        "document": _read_media,
    }
)


def rewrite(item: Item, _: Message, edits: Edits) -> Item:
    """Write an edited message."""
    return patch(item, edits, _rewrite_part, _add)


def _rewrite_part(old: object, change: Change) -> object:
    match change.old, change.new:
        case Text(), Text(text):
            return rewrite_text(old, text)
        case ToolResult() as was, ToolResult() as result:
            return _rewrite_result(as_item(old), was, result)
        case ToolCall() as was, ToolCall() as call:
            return _rewrite_call(as_item(old), was, call)
        case Reasoning(), Reasoning(text, signature) if isinstance(old, dict) and "thinking" in old:
            return {**old, "thinking": text, "signature": signature}
        case _, Reasoning() as thinking if isinstance(old, dict):
            return build_block(thinking)  # a cache marker must not stand on thinking
        case _, part if isinstance(old, dict):
            return rewrite_block(old, part, build_block)
        case _:
            return None


def _rewrite_result(block: Item, was: ToolResult, result: ToolResult) -> Item:
    changed: Item = {}
    if result.call_id != was.call_id:
        changed["tool_use_id"] = result.call_id
    if result.is_error != was.is_error:
        changed["is_error"] = result.is_error
    if (result.text, result.media) != (was.text, was.media):
        changed["content"] = rewrite_result(plain(block.get("content")), result, _BLOCKS.read, build_block)
    return {**block, **changed}


def _rewrite_call(block: Item, was: ToolCall, call: ToolCall) -> Item:
    changed: Item = {"id": call.id, "name": call.name}
    if call.arguments != was.arguments:
        given = plain(block.get("input"))
        changed["input"] = rewrite_arguments({} if given is None else given, call)
    return {**block, **changed}


def _add(item: Item, part: Part) -> Item:
    return {**item, "content": add_to_content(item.get("content"), part, build_block)}


def build(message: Message) -> list[object]:
    """Write a message, results first as the provider demands."""
    results = [build_block(part) for part in message.results]
    rest = [
        build_or_stub(_wrap_arguments(part), build_block) for part in message.parts if _has_substance(part)
    ]
    role = "assistant" if message.role == "assistant" else "user"
    return [{"role": role, "content": [*results, *rest]}] if results or rest else []


def _wrap_arguments(part: Part) -> Part:
    """Put arguments that are no object into one, as Anthropic takes nothing else."""
    if not isinstance(part, ToolCall) or not part.arguments or isinstance(part.parse_arguments(), dict):
        return part
    return replace(part, arguments=json_text({"input": part.parse_arguments()}))


def _has_substance(part: Part) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Reasoning(_, signature):
            return bool(signature)
        case ToolCall() | Media():
            return True
        case _:
            return False


def build_block(part: Part) -> Item:
    """Write one part as a block."""
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case ToolCall(call_id, name, _):
            return {"type": "tool_use", "id": call_id, "name": name, "input": rewrite_arguments({}, part)}
        case ToolResult():
            return _build_result(part)
        case Media("image" | "document" as kind):
            return {"type": kind, "source": _build_source(part)}
        case Reasoning(text, signature) if text and signature:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case Reasoning(_, signature) if signature:
            return {"type": "redacted_thinking", "data": signature}
        case _:
            raise Unwritable(f"a {type(part).__name__} like this cannot stand in content")


def _build_result(result: ToolResult) -> Item:
    words = [{"type": "text", "text": result.text}] if result.text.strip() else []
    media = [build_or_stub(item, build_block) for item in result.media]
    block: Item = {"type": "tool_result", "tool_use_id": result.call_id}
    block["content"] = [*words, *media] if media else result.text
    return {**block, "is_error": True} if result.is_error else block


def _build_source(media: Media) -> Item:
    if is_url(media):
        return {"type": "url", "url": media.source}
    if is_file_id(media):
        return {"type": "file", "file_id": media.source}
    if is_text(media):
        return {"type": "text", "media_type": _PLAIN_TEXT, "data": media.source}
    return {"type": "base64", "media_type": media.mime, "data": media.source}


def recognises_body(body: Item, messages: Sequence[object]) -> Evidence:
    """Recognise the system prompt beside the messages, not among them, and tools by their schemas."""
    first = plain(messages[0])
    if isinstance(first, dict) and first.get("role") in SYSTEM_ROLES:
        return Evidence.NONE
    tools = plain(body.get("tools"))
    tools = map(plain, tools) if isinstance(tools, list) else ()
    is_likely = (
        body.get("system") is not None
        or "anthropic_version" in body
        or any(isinstance(tool, dict) and "input_schema" in tool for tool in tools)
    )
    return Evidence.HINT if is_likely else Evidence.NONE


def build_tool(tool: ToolOffer) -> Item:
    return {**tool.named, "input_schema": tool.schema}


DIALECT = Dialect(
    name="anthropic",
    label="Anthropic Messages",
    recognises=recognises,
    role_of=role_of,
    walk=walk,
    rewrite=rewrite,
    build=build,
    features=Features(
        error_results=True,
        free_arguments=False,
        system_apart=True,
        media=frozenset({"image", "document"}),
        media_in_results=frozenset({"image", "document"}),
    ),
    recognises_body=recognises_body,
    system_field="system",
    counted_as="claude",
    build_tool=build_tool,
    rules="midfold.wire.validate.anthropic",
    api="midfold.wire.apis.anthropic",
)
