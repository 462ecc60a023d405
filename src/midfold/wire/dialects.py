"""The four dialects by name: telling them apart, reading and writing whole lists."""

from collections.abc import Iterable, Sequence

from midfold.errors import MalformedMessage, UnknownDialect
from midfold.messages import Message
from midfold.wire import anthropic, openai_chat, openai_responses, sharegpt
from midfold.wire.dialect import Dialect, Unreadable, as_item

DIALECTS: dict[str, Dialect] = {
    module.DIALECT.name: module.DIALECT for module in (sharegpt, openai_responses, anthropic, openai_chat)
}
"""In the order in which they are tried: the most distinctive spelling first."""


def detect(messages: Sequence[object]) -> str:
    """Name the dialect of a list of wire items.

    The first item that only one dialect writes decides. Plain user and assistant texts could be anybody's
    and count as OpenAI chat. Raises `UnknownDialect` when the items are no messages at all.
    """
    if not messages:
        raise UnknownDialect("the list of messages is empty")
    for index, raw in enumerate(messages):
        item = _item_at(index, raw)
        for name, dialect in DIALECTS.items():
            if dialect.recognises(item):
                return name
        if "role" not in item:
            keys = ", ".join(sorted(map(str, item))[:6]) or "no keys"
            raise UnknownDialect(f"message {index} has neither role nor from nor type, but {keys}")
    return openai_chat.DIALECT.name


def get_dialect(name: str) -> Dialect:
    """Return the dialect called `name`, or raise `UnknownDialect` with the names there are."""
    if name not in DIALECTS:
        raise UnknownDialect(f"{name!r}; the known ones are {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]


def parse(messages: Sequence[object], dialect: str | None = None) -> list[Message]:
    """Read wire items (dicts or SDK objects) as messages, each keeping its item as `raw`.

    Raises `MalformedMessage` with the index of the first item that cannot be read.
    """
    read = get_dialect(dialect or detect(messages)).read
    parsed: list[Message] = []
    try:
        # One try around the loop, not one a message: this is the path every request takes.
        for raw in messages:
            parsed.append(read(raw))  # noqa: PERF401 - len(parsed) is the index in the error
    except Unreadable as error:
        raise MalformedMessage(len(parsed), str(error)) from error
    except RecursionError as error:
        raise MalformedMessage(len(parsed), "its values are nested too deeply") from error
    return parsed


def render(messages: Iterable[Message], dialect: str) -> list[object]:
    """Spell messages as wire items; one that was not edited is the object it was read from."""
    write = get_dialect(dialect).write
    return [item for message in messages for item in write(message)]


def _item_at(index: int, raw: object) -> dict[str, object]:
    try:
        return as_item(raw)
    except Unreadable as error:
        raise MalformedMessage(index, str(error)) from error
