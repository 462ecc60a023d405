"""OpenAI chat completions, and the many servers that speak it.

Walk: thinking, content, images, refusal, legacy function call, tool calls. A tool message is one result.
"""

from midfold.messages import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.wire.blocks import (
    Blocks,
    add_to_content,
    blocks_of,
    build_or_stub,
    read_refusal,
    read_result,
    read_text,
    rewrite_arguments,
    rewrite_block,
    rewrite_result,
    rewrite_text,
)
from midfold.wire.dialect import (
    WHOLE_ITEM,
    Change,
    Dialect,
    Edits,
    Evidence,
    Features,
    Item,
    Path,
    Unreadable,
    Unwritable,
    Walk,
    as_item,
    describe,
    json_text,
    list_field,
    object_field,
    patch,
    plain,
    read_opaque,
    text_field,
)
from midfold.wire.media import is_file_id, is_url, media_from_data, media_from_url, stub, url_of

_RESULT_ROLES = ("tool", "function")
_REASONING_FIELDS = ("reasoning_content", "reasoning")
_LISTS = ("tool_calls", "images")
_OWN_BLOCKS = frozenset({"image_url"})
_SHARED_BLOCKS = frozenset({"input_audio", "file", "refusal"})


def recognises(item: Item) -> Evidence:
    blocks = blocks_of(item)
    if (
        item.get("tool_calls")
        or item.get("function_call")
        or item.get("role") in _RESULT_ROLES
        or any(field in item for field in _REASONING_FIELDS)
        or any(block["type"] in _OWN_BLOCKS for block in blocks)
    ):
        return Evidence.PROOF
    if item.get("role") == "developer" or any(block["type"] in _SHARED_BLOCKS for block in blocks):
        return Evidence.HINT
    return Evidence.NONE


def role_of(item: Item) -> str:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise Unreadable(f"role is {describe(role)}; expected one of system, user, assistant, tool")
    return "tool" if role == "function" else role


def walk(item: Item) -> Walk:
    if item.get("role") in _RESULT_ROLES:
        return [(WHOLE_ITEM, [_read_result(item)])]
    fields: Walk = []
    for field in _REASONING_FIELDS:
        if item.get(field):
            fields.append((field, [Reasoning(text_field(item, field))]))
            break
    content = item.get("content")
    if content is not None:
        fields.append(("content", _BLOCKS.read_content(content)))
    if item.get("images"):
        fields.append(("images", _read_images(plain(item["images"]))))
    if item.get("refusal"):
        fields.append(("refusal", [Text(text_field(item, "refusal"))]))
    if item.get("function_call"):
        fields.append(("function_call", [_read_function("", object_field(item, "function_call"))]))
    if item.get("tool_calls"):
        fields.append(("tool_calls", [_read_call(call) for call in list_field(item, "tool_calls")]))
    return fields


def _read_image(block: Item) -> Part:
    given = block.get("image_url")
    image = {"url": given} if isinstance(given, str) else object_field(block, "image_url")
    url = text_field(image, "url")
    if not url:
        return read_opaque("image_url", block)
    return media_from_url("image", url, detail=text_field(image, "detail"))


def _read_audio(block: Item) -> Part:
    audio = object_field(block, "input_audio")
    return Media("audio", f"audio/{text_field(audio, 'format')}", text_field(audio, "data"))


def _read_file(block: Item) -> Part:
    file = object_field(block, "file")
    if data := text_field(file, "file_data"):
        return media_from_data("document", data)
    if file_id := text_field(file, "file_id"):
        return media_from_url("document", file_id)
    return read_opaque("file", block)


_BLOCKS = Blocks(
    {
        "text": read_text,
        "refusal": read_refusal,
        "image_url": _read_image,
        "input_audio": _read_audio,
        "file": _read_file,
    }
)


def _read_images(images: object) -> list[Part]:
    """Read the images that Ollama carries beside the content: a list of bare base64."""
    if not isinstance(images, list) or not all(isinstance(image, str) for image in images):
        return []
    return [media_from_data("image", image) for image in images]


def _read_result(item: Item) -> ToolResult:
    name = item.get("name") or item.get("tool_name")
    name = name if isinstance(name, str) else ""
    is_error = item.get("is_error") is True
    return read_result(text_field(item, "tool_call_id"), item.get("content"), _BLOCKS.read, is_error, name)


def _read_call(call: object) -> ToolCall:
    call = as_item(call)
    if call.get("custom") is not None:
        custom = object_field(call, "custom")
        return ToolCall(text_field(call, "id"), text_field(custom, "name"), text_field(custom, "input"))
    return _read_function(text_field(call, "id"), object_field(call, "function"))


def _read_function(call_id: str, function: Item) -> ToolCall:
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = _arguments_text(plain(arguments))
    return ToolCall(call_id, text_field(function, "name"), arguments)


def _arguments_text(arguments: object) -> str:
    """Some servers hand arguments over as objects, and none at all as null."""
    if arguments is None:
        return ""
    if not isinstance(arguments, dict | list):
        raise Unreadable(f"arguments are {describe(arguments)}; expected JSON text")
    return json_text(arguments)


def rewrite(item: Item, _: Message, edits: Edits) -> Item:
    """Write an edited message; a list that lost its last element goes, and lost content is null."""
    patched = patch(item, edits, _rewrite_part, _add)
    if "content" in item and patched.get("content", []) == []:
        patched = {**patched, "content": None}
    return {key: value for key, value in patched.items() if key not in _LISTS or value != []}


def _rewrite_part(old: object, change: Change) -> object:
    match change.old, change.new:
        case ToolResult() as was, ToolResult() as result:
            return _rewrite_result(as_item(old), was, result)
        case ToolResult(), Text() | Media() as part:
            return {"role": "user", "content": add_to_content(None, part, build_block)}
        case ToolCall() as was, ToolCall() as call:
            return _rewrite_call(as_item(old), was, call)
        case Reasoning(), Reasoning(text, signature):
            _refuse_signature(signature)
            return text
        case Text(), Text(text):
            return rewrite_text(old, text)
        case _, Text() | Media() as part if _is_block(change.path):
            return rewrite_block(old, part, build_block)
        case _:
            return None


def _is_block(path: Path) -> bool:
    return len(path) == 2 and path[0] == "content"


def _rewrite_result(item: Item, was: ToolResult, result: ToolResult) -> Item:
    changed: Item = {}
    if result.call_id != was.call_id:
        changed["tool_call_id"] = result.call_id
    if result.name != was.name:
        changed |= {key: result.name for key in ("name", "tool_name") if item.get(key)}
    if result.is_error != was.is_error:
        if "is_error" not in item:
            raise Unwritable("a tool message has no field to say that the result is an error")
        changed["is_error"] = result.is_error
    if (result.text, result.media) != (was.text, was.media):
        changed["content"] = rewrite_result(plain(item.get("content")), result, _BLOCKS.read, _refuse_media)
    return {**item, **changed}


def _refuse_media(part: Part) -> Item:
    raise Unwritable(f"a tool message is text and cannot hold a {type(part).__name__}")


def _refuse_signature(signature: str) -> None:
    if signature:
        raise Unwritable("there is no field for the signature of thinking")


def _rewrite_call(old: Item, was: ToolCall, call: ToolCall) -> Item:
    holder = next((key for key in ("custom", "function") if old.get(key) is not None), None)
    if holder is None:
        if call.id:
            raise Unwritable("a function_call has no field for an id")
        return _rewrite_function(old, was, call, "arguments")
    body = as_item(old[holder])
    rewritten = _rewrite_function(body, was, call, "input" if holder == "custom" else "arguments")
    changed = {} if call.id == was.id else {"id": call.id}
    return {**old, **changed, holder: rewritten}


def _rewrite_function(old: Item, was: ToolCall, call: ToolCall, field: str) -> Item:
    changed: Item = {} if call.name == was.name else {"name": call.name}
    if call.arguments != was.arguments:
        changed[field] = rewrite_arguments(plain(old.get(field)), call)
    return {**old, **changed}


def _add(item: Item, part: Part) -> Item:
    if item.get("role") in _RESULT_ROLES:
        raise Unwritable("nothing can be added to a tool message")
    match part:
        case Text() | Media():
            return {**item, "content": add_to_content(item.get("content"), part, build_block)}
        case ToolCall():
            return {**item, "tool_calls": [*list_field(item, "tool_calls"), _build_call(part)]}
        case Reasoning(text, signature) if not any(item.get(field) for field in _REASONING_FIELDS):
            _refuse_signature(signature)
            return {**item, "reasoning_content": text}
        case _:
            raise Unwritable(f"a {type(part).__name__} cannot stand in this message")


def build(message: Message) -> list[object]:
    """Write a message: each result as a tool message of its own, then whatever else it holds."""
    items: list[object] = [
        {"role": "tool", "tool_call_id": result.call_id, "content": _build_result_text(result)}
        for result in message.results
    ]
    item = _build_rest(message)
    if item is not None:
        items.append(item)
    return items


def _build_result_text(result: ToolResult) -> str:
    return "\n".join([*filter(None, [result.text]), *(stub(media) for media in result.media)])


def _build_rest(message: Message) -> Item | None:
    blocks = [
        build_or_stub(part, build_block)
        for part in message.parts
        if isinstance(part, Media) or (isinstance(part, Text) and part.text)
    ]
    calls = [_build_call(part) for part in message.calls]
    if not blocks and not calls:
        return None
    item: Item = {"role": message.role, "content": _shorten(blocks)}
    thinking = "\n".join(part.text for part in message.parts if isinstance(part, Reasoning) and part.text)
    if thinking:
        item["reasoning_content"] = thinking
    if calls:
        item["tool_calls"] = calls
    return item


def build_block(part: Part) -> Item:
    """Write one part as a block."""
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Media("image") as media if not is_file_id(media):
            detail = {"detail": media.detail} if media.detail else {}
            return {"type": "image_url", "image_url": {"url": url_of(media), **detail}}
        case Media("audio", mime, data) as media if mime and not is_url(media):
            return {"type": "input_audio", "input_audio": {"data": data, "format": mime.rpartition("/")[2]}}
        case _:
            raise Unwritable(f"a {type(part).__name__} like this cannot stand in content")


def _shorten(blocks: list[Item]) -> object:
    """Write content the way most servers expect: null, a string where it is one text, else the list."""
    if not blocks:
        return None
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def _build_call(call: ToolCall) -> Item:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


DIALECT = Dialect(
    name="openai_chat",
    label="OpenAI chat",
    recognises=recognises,
    role_of=role_of,
    walk=walk,
    rewrite=rewrite,
    build=build,
    features=Features(thinking=True, media=frozenset({"image", "audio"})),
    rules="midfold.wire.validate.openai_chat",
    api="midfold.wire.apis.openai_chat",
)
