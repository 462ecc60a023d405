"""What clients do to a history when they send it again, one habit a name.

A client that knows nothing of folds sends its whole history with every request, and hardly ever byte by byte
as it did before. None of these habits says anything else than before, so none may cost a fold.
"""

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from midfold.messages import SYSTEM_ROLES
from midfold.wire import parse

_MARKER = {"type": "ephemeral"}
_THINKING_FIELDS = ("reasoning_content", "reasoning")
_THINKING_BLOCKS = ("thinking", "redacted_thinking")
_TEXT_BLOCKS = ("text", "input_text", "output_text")
CLEARED = "[old tool result cleared]"
"""What stands in the place of a result that a client cleared."""
_SAFE_INTEGER = 2**53
"""From here on a number is another one once a client that only knows floats has read it."""
_EVERY = 3
"""An empty message comes behind about one in so many."""


class Habit(StrEnum):
    """Something that clients do between one request and the next."""

    DROPS_THINKING = "drops thinking"
    """of all but the newest request"""
    MOVES_MARKERS = "moves cache markers"
    SWITCHES_BLOCKS = "switches between texts and blocks"
    DUMPS_ARGUMENTS = "dumps arguments anew"
    """other key order, spacing and escapes; whole numbers as floats and back"""
    REWORDS_SYSTEM = "rewords the system prompt"
    COUNTS_SYSTEM = "adds and removes system messages"
    EMPTY_PARTS = "sends empty texts"
    EMPTY_MESSAGES = "sends empty messages"
    ADDS_KEYS = "adds keys that nobody knows"


Items = list[dict[str, Any]]


def resend(items: Iterable[object], dialect: str, habits: Iterable[Habit], request: int = 0) -> Items:
    """Return a history as a client with these habits sends it for its request of this number.

    The result is fresh JSON; the same arguments give the same result.
    """
    sent: Items = json.loads(json.dumps(list(items)))
    for habit in sorted(set(habits)):
        chance = random.Random(f"{habit} {request}")
        sent = _HABITS[habit](sent, dialect, chance)
    return sent


def clear_results(items: Iterable[object], stop: int) -> list[object]:
    """Return a history in which the client itself cleared the tool results before message `stop`.

    This is no habit: it says less than before, so a fold about such a result is about another history.
    """
    cleared: Items = json.loads(json.dumps(list(items)))
    for item in cleared[:stop]:
        if item.get("role") == "tool":
            item["content"] = CLEARED
        elif item.get("type") == "function_call_output":
            item["output"] = CLEARED
        for block in _blocks(item):
            if block["type"] == "tool_result":
                block["content"] = CLEARED
    return list(cleared)


def _drop_thinking(items: Items, dialect: str, _: random.Random) -> Items:
    roles = [message.role for message in parse(items, dialect)]
    newest = max((index for index, role in enumerate(roles) if role == "user"), default=0)
    if dialect == "anthropic":
        newest = max((index for index in range(len(items)) if _is_request(items[index])), default=0)
    old = (_without_thinking(item) for item in items[:newest])
    return [*(item for item in old if item), *items[newest:]]


def _is_request(item: Mapping[str, Any]) -> bool:
    """Whether an item of Anthropic's is the user's own words, and not a result of a tool."""
    return item["role"] == "user" and not any(block["type"] == "tool_result" for block in _blocks(item))


def _without_thinking(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") == "reasoning":
        return {}
    left = {key: value for key, value in item.items() if key not in _THINKING_FIELDS}
    if not any(block["type"] in _THINKING_BLOCKS for block in _blocks(item)):
        return left
    left["content"] = [block for block in item["content"] if block["type"] not in _THINKING_BLOCKS]
    return left if left["content"] else {}


def _move_markers(items: Items, dialect: str, chance: random.Random) -> Items:
    """Mark the end of the newest messages, and of one before them; what was marked before is not."""
    if dialect not in ("anthropic", "openai_chat"):
        return items
    for item in items:
        for block in _blocks(item):
            block.pop("cache_control", None)
    marked = [*range(len(items) - 2, len(items)), chance.randrange(len(items))]
    for index in marked:
        item = items[index]
        if isinstance(item.get("content"), str) and item["content"]:
            item["content"] = [{"type": "text", "text": item["content"]}]
        texts = [block for block in _blocks(item) if block["type"] not in _THINKING_BLOCKS]
        if texts and texts[-1].get("text") != "":
            texts[-1]["cache_control"] = _MARKER
    return items


def _switch_blocks(items: Items, dialect: str, chance: random.Random) -> Items:
    for item in items:
        kind = _text_kind(item, dialect)
        for field in ("content", "output"):
            if field in item and chance.random() < 0.5:
                item[field] = _switch(item[field], kind)
        for block in _blocks(item):
            if block["type"] == "tool_result" and chance.random() < 0.5:
                block["content"] = _switch(block.get("content"), kind)
    return items


def _text_kind(item: Mapping[str, Any], dialect: str) -> str:
    if dialect != "openai_responses":
        return "text"
    return "output_text" if item.get("role") == "assistant" else "input_text"


def _switch(content: object, kind: str) -> object:
    if isinstance(content, str) and content:
        return [{"type": kind, "text": content}]
    match content:
        case [{"type": str(known), "text": str(text), **rest}] if known in _TEXT_BLOCKS and not rest:
            return text
        case _:
            return content


def _dump_arguments(items: Items, _dialect: str, chance: random.Random) -> Items:
    for item in items:
        for holder, field in _argument_places(item):
            given = holder[field]
            try:
                value = json.loads(given) if isinstance(given, str) else given
            except ValueError:
                continue
            value = _retyped(value, chance)
            holder[field] = _dump(value, chance) if isinstance(given, str) else value
    return items


def _argument_places(item: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    for call in item.get("tool_calls") or ():
        if "function" in call:
            yield call["function"], "arguments"
    if item.get("type") == "function_call":
        yield item, "arguments"
    for block in _blocks(item):
        if block["type"] == "tool_use":
            yield block, "input"


def _retyped(value: object, chance: random.Random) -> object:
    """Return the same value with its keys in another order, and whole numbers as floats or back."""
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: _retyped(value[name], chance) for name in names}
    if isinstance(value, list):
        return [_retyped(inner, chance) for inner in value]
    if type(value) is int and abs(value) < _SAFE_INTEGER and chance.random() < 0.5:
        return float(value)
    if type(value) is float and value.is_integer() and abs(value) < _SAFE_INTEGER and chance.random() < 0.5:
        return int(value)
    return value


def _dump(value: object, chance: random.Random) -> str:
    return json.dumps(
        value,
        ensure_ascii=chance.random() < 0.5,
        indent=chance.choice([None, None, 2]),
        separators=chance.choice([None, (",", ":")]),
    )


def _reword_system(items: Items, dialect: str, chance: random.Random) -> Items:
    """Say what time it is and what `git status` says, as coding agents do."""
    words = f"\nToday is day {chance.randrange(10**6)}. Modified files: {chance.randrange(40)}."
    for item in items[: _count_system(items, dialect)]:
        if isinstance(item.get("value"), str):
            item["value"] += words
        elif isinstance(item.get("content"), str):
            item["content"] += words
        elif texts := [block for block in _blocks(item) if block["type"] in _TEXT_BLOCKS]:
            texts[-1]["text"] += words
    return items


def _count_messages_of_system(items: Items, dialect: str, chance: random.Random) -> Items:
    """Send the system prompt alone, with one more message, or not at all."""
    if dialect == "anthropic":
        return items  # it travels beside the messages
    lead = _count_system(items, dialect)
    match chance.randrange(3):
        case 0:
            return items[lead:]
        case 1:
            return [*items[:lead], _system_item(dialect), *items[lead:]]
        case _:
            return items


def _system_item(dialect: str) -> dict[str, Any]:
    words = "The user writes from a train; answers should be short."
    if dialect == "sharegpt":
        return {"from": "system", "value": words}
    role = "developer" if dialect == "openai_responses" else "system"
    return {"role": role, "content": words}


def _count_system(items: Items, dialect: str) -> int:
    roles = [message.role for message in parse(items, dialect)]
    return next((index for index, role in enumerate(roles) if role not in SYSTEM_ROLES), len(roles))


def _add_empty_parts(items: Items, dialect: str, chance: random.Random) -> Items:
    """Add empty texts to lists of blocks, and write no content as an empty one."""
    for item in items:
        if chance.random() < 0.5:
            continue
        results = [block.get("content") for block in _blocks(item) if block["type"] == "tool_result"]
        for content in (item.get("content"), item.get("output"), *results):
            if isinstance(content, list):
                # Thinking comes first, and results come first: an empty text may stand behind both.
                content.append({"type": _text_kind(item, dialect), "text": ""})
        if item.get("content") is None and item.get("tool_calls"):
            item["content"] = ""
    return items


def _add_empty_messages(items: Items, dialect: str, chance: random.Random) -> Items:
    """Put empty messages of the assistant behind some, never between a call and its result."""
    sent: Items = []
    for item, message in zip(items, parse(items, dialect), strict=True):
        sent.append(item)
        is_request = message.role == "user" and not any(message.results) and item is not items[-1]
        if is_request and chance.randrange(_EVERY) == 0:
            sent.append(_empty_item(dialect, chance))
    return sent


def _empty_item(dialect: str, chance: random.Random) -> dict[str, Any]:
    match dialect:
        case "sharegpt":
            return {"from": "gpt", "value": ""}
        case "openai_responses":
            return {"type": "message", "role": "assistant", "content": []}
        case "anthropic":
            return {"role": "assistant", "content": chance.choice([[], "", [{"type": "text", "text": ""}]])}
        case _:
            return {"role": "assistant", "content": chance.choice(["", None, []])}


def _add_keys(items: Items, _dialect: str, chance: random.Random) -> Items:
    for item in items:
        if chance.random() < 0.5:
            item["x_trace"] = f"{chance.getrandbits(32):08x}"
        for block in _blocks(item):
            if block["type"] in _TEXT_BLOCKS and chance.random() < 0.5:
                block["x_seen"] = chance.randrange(9)
    return items


def _blocks(item: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = item.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


_HABITS: dict[Habit, Callable[[Items, str, random.Random], Items]] = {
    Habit.DROPS_THINKING: _drop_thinking,
    Habit.MOVES_MARKERS: _move_markers,
    Habit.SWITCHES_BLOCKS: _switch_blocks,
    Habit.DUMPS_ARGUMENTS: _dump_arguments,
    Habit.REWORDS_SYSTEM: _reword_system,
    Habit.COUNTS_SYSTEM: _count_messages_of_system,
    Habit.EMPTY_PARTS: _add_empty_parts,
    Habit.EMPTY_MESSAGES: _add_empty_messages,
    Habit.ADDS_KEYS: _add_keys,
}
