"""OpenAI Responses: a flat list of typed items, one message each.

Walk: the content of a message item; every other item is one part.
"""

from collections.abc import Sequence
from functools import partial

from midfold.messages import Media, Message, Part, Reasoning, Text, ToolCall, ToolResult
from midfold.wire.blocks import (
    Blocks,
    BuildBlock,
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
    ToolOffer,
    Unreadable,
    Unwritable,
    Walk,
    as_item,
    describe,
    json_text,
    list_field,
    patch,
    plain,
    read_opaque,
    text_field,
)
from midfold.wire.media import is_file_id, media_from_data, media_from_url, url_of

_OWN_ITEMS = frozenset({"reasoning", "item_reference", "compaction"})
_OWN_BLOCKS = frozenset({"input_text", "output_text", "input_image", "input_file"})
# Where each kind of call keeps what it asks for; the first field that is there counts.
_ARGUMENT_FIELDS = ("arguments", "input", "action", "operation")
_OUTPUT_SUFFIX = "_call_output"


def recognises(item: Item) -> Evidence:
    kind = item.get("type")
    if isinstance(kind, str) and kind != "message":
        is_own = kind in _OWN_ITEMS or "_call" in kind or kind.startswith("mcp_")
        return Evidence.PROOF if is_own else Evidence.NONE
    if any(block["type"] in _OWN_BLOCKS for block in blocks_of(item)):
        return Evidence.PROOF
    if kind == "message" and "tool_calls" not in item:
        # Anthropic's replies are of this type, too, but their content is never a text.
        return Evidence.PROOF if isinstance(item.get("content"), str) else Evidence.HINT
    return Evidence.NONE


def role_of(item: Item) -> str:
    kind = _kind_of(item)
    if kind == "message":
        role = item.get("role")
        if not isinstance(role, str) or not role:
            raise Unreadable(f"role is {describe(role)}; expected one of developer, user, assistant")
        return role
    return "tool" if kind.endswith(_OUTPUT_SUFFIX) else "assistant"


def _kind_of(item: Item) -> str:
    kind = item.get("type")
    if kind is None and "role" in item:
        return "message"
    if not isinstance(kind, str):
        raise Unreadable(f"type is {describe(kind)}; expected the kind of an item")
    return kind


def walk(item: Item) -> Walk:
    kind = _kind_of(item)
    if kind == "message":
        return [("content", _BLOCKS.read_content(item.get("content")))]
    return [(WHOLE_ITEM, [_read_item(item, kind)])]


def _read_item(item: Item, kind: str) -> Part:
    if kind.endswith(_OUTPUT_SUFFIX):
        return _read_output(item, kind)
    # A call of the client's own tools; hosted tools have no call id and answer by themselves.
    if kind.endswith("_call") and item.get("call_id") is not None:
        return _read_call(item, kind)
    if kind == "reasoning":
        return Reasoning(_reasoning_text(item), text_field(item, "encrypted_content"))
    if kind == "image_generation_call" and isinstance(item.get("result"), str):
        return Media("image", "image/png", item["result"])
    return read_opaque(kind, item)


def _read_image(block: Item) -> Part:
    reference = text_field(block, "image_url") or text_field(block, "file_id")
    if not reference:
        return read_opaque(block["type"], block)
    return media_from_url("image", reference, detail=text_field(block, "detail"))


def _read_file(block: Item) -> Part:
    if data := text_field(block, "file_data"):
        return media_from_data("document", data)
    reference = text_field(block, "file_url") or text_field(block, "file_id")
    return media_from_url("document", reference) if reference else read_opaque("input_file", block)


_BLOCKS = Blocks(
    {
        "input_text": read_text,
        "output_text": read_text,
        "text": read_text,
        "summary_text": read_text,
        "reasoning_text": read_text,
        "refusal": read_refusal,
        "input_image": _read_image,
        "computer_screenshot": _read_image,
        "input_file": _read_file,
    }
)


def _read_output(item: Item, kind: str) -> ToolResult:
    call_id, output = text_field(item, "call_id"), plain(item.get("output"))
    if kind == "shell_call_output" and isinstance(output, list):
        chunks = list(map(as_item, output))
        return ToolResult(call_id, "\n".join(map(_shell_words, chunks)), any(map(_has_failed, chunks)))
    if isinstance(output, dict):
        output = [output]
    return read_result(call_id, output, _read_output_block)


def _read_output_block(block: object) -> Part:
    """Read a block of an output; some tools give back objects of their own shape."""
    block = plain(block)
    return Text(json_text(block)) if isinstance(block, dict) and "type" not in block else _BLOCKS.read(block)


def _shell_words(chunk: Item) -> str:
    return "\n".join(filter(None, [text_field(chunk, "stdout"), text_field(chunk, "stderr")]))


def _has_failed(chunk: Item) -> bool:
    outcome = plain(chunk.get("outcome"))
    return isinstance(outcome, dict) and (outcome.get("type") != "exit" or bool(outcome.get("exit_code")))


def _argument_field(item: Item) -> str:
    return next((field for field in _ARGUMENT_FIELDS if item.get(field) is not None), "arguments")


def _read_call(item: Item, kind: str) -> ToolCall:
    name = text_field(item, "name") or kind.removesuffix("_call")
    arguments = plain(item.get(_argument_field(item)))
    return ToolCall(text_field(item, "call_id"), name, "" if arguments is None else json_text(arguments))


def _reasoning_text(item: Item) -> str:
    blocks = [_BLOCKS.read(block) for block in (*list_field(item, "summary"), *list_field(item, "content"))]
    return "\n".join([block.text for block in blocks if isinstance(block, Text)])


def rewrite(item: Item, message: Message, edits: Edits) -> Item:
    """Write an edited message; what else takes the place of a call or an output is a message item."""
    role = "user" if message.role == "tool" else message.role
    return patch(item, edits, partial(_rewrite_part, role=role), partial(_add, role=role))


def _rewrite_part(old: object, change: Change, role: str) -> object:
    build_block = _block_builder(role)
    match change.old, change.new:
        case Text(), Text(text):
            return rewrite_text(old, text)
        case ToolCall() as was, ToolCall() as call:
            return _rewrite_call(as_item(old), was, call)
        case ToolResult() as was, ToolResult() as result:
            return _rewrite_result(as_item(old), was, result)
        case Reasoning() as was, Reasoning() as thinking:
            return _rewrite_reasoning(as_item(old), was, thinking)
        case _, Text() | Media() as part if not change.path:
            return {"type": "message", "role": role, "content": [build_block(part)]}
        case _, Text() | Media() as part if isinstance(old, dict):
            return rewrite_block(old, part, build_block)
        case _:
            return None


def _rewrite_call(item: Item, was: ToolCall, call: ToolCall) -> Item:
    changed: Item = {"call_id": call.id}
    if call.name != was.name:
        if "name" not in item:
            raise Unwritable(f"a {item['type']} has no field for the name of its tool")
        changed["name"] = call.name
    if call.arguments != was.arguments:
        field = _argument_field(item)
        changed[field] = rewrite_arguments(plain(item.get(field)), call)
    return {**item, **changed}


def _rewrite_result(item: Item, was: ToolResult, result: ToolResult) -> Item:
    changed: Item = {"call_id": result.call_id}
    if item["type"] == "shell_call_output":
        changed["output"] = _rewrite_shell(plain(item.get("output")), result)
    elif result.is_error != was.is_error:
        raise Unwritable(f"a {item['type']} has no field to say that it is an error")
    elif (result.text, result.media) != (was.text, was.media):
        changed["output"] = _rewrite_output(plain(item.get("output")), result)
    return {**item, **changed}


def _rewrite_output(old: object, result: ToolResult) -> object:
    if isinstance(old, dict) and "type" in old:
        raise Unwritable(f"the output must stay a {old['type']}")
    return rewrite_result(old, result, _read_output_block, _block_builder("user"), "input_text")


def _rewrite_shell(old: object, result: ToolResult) -> list[Item]:
    """Write the words as one chunk, with an outcome that says whether it failed as the old ones did."""
    if result.media:
        raise Unwritable("the output of a shell cannot hold media")
    chunks = map(as_item, old) if isinstance(old, list) else ()
    outcomes = [chunk.get("outcome") for chunk in chunks if _has_failed(chunk) == result.is_error]
    ended = next(filter(None, reversed(outcomes)), None) or {
        "type": "exit",
        "exit_code": int(result.is_error),
    }
    return [{"stdout": result.text, "stderr": "", "outcome": ended}]


def _rewrite_reasoning(item: Item, was: Reasoning, thinking: Reasoning) -> Item:
    changed: Item = {"summary": _build_summary(thinking.text)}
    if thinking.signature != was.signature:
        changed["encrypted_content"] = thinking.signature
    return {key: value for key, value in item.items() if key != "content"} | changed


def _add(item: Item, part: Part, role: str) -> Item:
    if _kind_of(item) != "message" or not isinstance(part, Text | Media):
        raise Unwritable(f"a {type(part).__name__} cannot be added to a {_kind_of(item)}")
    return {**item, "content": add_to_content(item.get("content"), part, _block_builder(role))}


def build(message: Message) -> list[object]:
    """Write a message as items: thinking, results, words, calls."""
    role = "user" if message.role == "tool" else message.role
    build_block = _block_builder(role)
    words = [
        build_or_stub(part, build_block)
        for part in message.parts
        if isinstance(part, Media) or (isinstance(part, Text) and part.text)
    ]
    thinking = [part for part in message.parts if isinstance(part, Reasoning) and part.signature]
    return [
        *map(_build_reasoning, thinking),
        *map(_build_result, message.results),
        *([{"type": "message", "role": role, "content": words}] if words else []),
        *map(_build_call, message.calls),
    ]


def _build_reasoning(thinking: Reasoning) -> Item:
    summary = _build_summary(thinking.text)
    return {"type": "reasoning", "summary": summary, "encrypted_content": thinking.signature}


def _build_summary(text: str) -> list[Item]:
    return [{"type": "summary_text", "text": text}] if text else []


def _build_result(result: ToolResult) -> Item:
    said: list[Part] = [Text(result.text), *result.media]
    blocks = [build_or_stub(part, _block_builder("user")) for part in said]
    output = blocks if result.media else result.text
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _build_call(call: ToolCall) -> Item:
    return {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _block_builder(role: str) -> BuildBlock:
    """Return what builds the blocks of a message: those of the model's own words have another type."""
    return _build_output_block if role == "assistant" else _build_input_block


def _build_output_block(part: Part) -> Item:
    if not isinstance(part, Text):
        raise Unwritable(f"a {type(part).__name__} cannot stand in a message of the assistant")
    return {"type": "output_text", "text": part.text}


def _build_input_block(part: Part) -> Item:
    match part:
        case Text(text):
            return {"type": "input_text", "text": text}
        case Media("image", _, source, detail):
            reference = {"file_id": source} if is_file_id(part) else {"image_url": url_of(part)}
            return {"type": "input_image", **reference, "detail": detail or "auto"}
        case _:
            raise Unwritable(f"a {type(part).__name__} like this cannot stand in content")


def recognises_body(body: Item, _messages: Sequence[object]) -> Evidence:
    """Nobody else calls the messages `input`."""
    is_own = body.get("messages") is None and body.get("input") is not None
    return Evidence.PROOF if is_own else Evidence.NONE


def build_tool(tool: ToolOffer) -> Item:
    return {"type": "function", **tool.named, "parameters": tool.schema}


DIALECT = Dialect(
    name="openai_responses",
    label="OpenAI Responses",
    recognises=recognises,
    role_of=role_of,
    walk=walk,
    rewrite=rewrite,
    build=build,
    features=Features(media=frozenset({"image"}), media_in_results=frozenset({"image"})),
    recognises_body=recognises_body,
    message_fields=("input",),
    system_field="instructions",
    build_tool=build_tool,
    input_includes_cache=True,
    rules="midfold.wire.validate.openai_responses",
    api="midfold.wire.apis.openai_responses",
)
