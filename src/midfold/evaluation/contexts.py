"""Contexts that are cheap to make, to compare a fold with: newest messages, no tool output, a list of names.

They are texts to look names and facts up in, not lists that a provider would take.
"""

from collections.abc import Iterator, Sequence

from midfold.evaluation.conversations import MeasuredConversation
from midfold.evaluation.names import read_names
from midfold.evaluation.texts import SEPARATOR, read_strings, read_texts
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message, ToolCall, ToolResult

_LIST_PART = 0.5


@dataclass(frozen=True, slots=True)
class ReadableContext:
    """The words that a method leaves, and their size."""

    text: str
    tokens: int


def take_newest(before: MeasuredConversation, ceiling: int) -> ReadableContext:
    """Keep system prompt and newest messages; of the one that does not fit as a whole, its end."""
    fixed = before.overhead_tokens + sum(before.sizes[: before.lead])
    room = left = max(0, ceiling - fixed)
    texts: list[str] = []
    for index in range(len(before.messages) - 1, before.lead - 1, -1):
        text, size = before.source.texts[index], before.sizes[index]
        if size > left:
            texts.append(text[len(text) - len(text) * left // size :])
            left = 0
            break
        texts.append(text)
        left -= size
    head = [before.request.system_text, *before.source.texts[: before.lead]]
    return ReadableContext(SEPARATOR.join([*head, *reversed(texts)]), fixed + room - left)


def drop_output(before: MeasuredConversation, _ceiling: int) -> ReadableContext:
    """Keep everything but results of tools, whatever its size."""
    bare = [_drop_results(message) for message in before.messages]
    text = SEPARATOR.join(text for message in bare for text in read_texts(message))
    return ReadableContext(text, before.overhead_tokens + sum(map(before.count, bare)))


def take_names(before: MeasuredConversation, ceiling: int) -> ReadableContext:
    """Give up to half of the room to the names that were used last, and the rest to the newest messages."""
    fixed = before.overhead_tokens + sum(before.sizes[: before.lead])
    names: list[str] = []
    left = int(max(0, ceiling - fixed) * _LIST_PART)
    for name in _latest_names(before.messages[before.lead :]):
        left -= before.count.count_text(f" {name}")
        if left < 0:
            break
        names.append(name)
    listed = " ".join(names)
    tokens = before.count.count_text(listed)
    newest = take_newest(before, ceiling - tokens)
    return ReadableContext(f"{newest.text}{SEPARATOR}{listed}", newest.tokens + tokens)


def agent_names(message: Message) -> Iterator[str]:
    """Yield the names in the agent's own words and call arguments."""
    if message.role != "assistant":
        return
    yield from read_names(message.text)
    for call in message.calls:
        for text in _argument_texts(call):
            yield from read_names(text)


def _argument_texts(call: ToolCall) -> list[str]:
    arguments = call.parse_arguments()
    return list(read_strings(arguments)) if isinstance(arguments, dict | list) else [call.arguments]


def _latest_names(messages: Sequence[Message]) -> list[str]:
    """Return the names that agent and user used, the newest first, each once."""
    used = (
        name
        for message in reversed(messages)
        for name in (agent_names(message) if message.role == "assistant" else read_names(message.text))
    )
    return list(dict.fromkeys(used))


def _drop_results(message: Message) -> Message:
    for position, part in enumerate(message.parts):
        if isinstance(part, ToolResult):
            message = message.with_part(position, replace(part, text="", media=()))
    return message
