"""The table of dialects, and whole lists in them: recognised, read and written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from midfold.errors import MalformedMessage, UnknownDialect
from midfold.messages import Message
from midfold.wire import anthropic, openai_chat, openai_responses, sharegpt
from midfold.wire.dialect import Dialect, Evidence, Unreadable, Unwritable, as_item, describe_keys

DIALECTS: dict[str, Dialect] = {
    module.DIALECT.name: module.DIALECT for module in (sharegpt, openai_responses, anthropic, openai_chat)
}
"""In the order in which they are tried: the most distinctive spelling first."""
DEFAULT_DIALECT = openai_chat.DIALECT.name
"""The dialect of messages that could be anybody's."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """Which dialect a list of items is, and how sure that is."""

    dialect: str
    evidence: Evidence


def detect(messages: Sequence[object]) -> str:
    """Name the dialect of a list of wire items.

    The first item that only one dialect writes decides; without one, the first that looks like one. Plain
    user and assistant texts could be anybody's and count as OpenAI chat. Raises `UnknownDialect` when the
    items are no messages at all.
    """
    return recognise(messages).dialect


def recognise(messages: Sequence[object]) -> Recognition:
    """Name the dialect of a list of wire items, and how much they tell."""
    if not messages:
        raise UnknownDialect("the list of messages is empty")
    hint: Recognition | None = None
    for index, raw in enumerate(messages):
        if _is_anybodys(raw):
            continue
        item = _item_at(index, raw)
        for name, dialect in DIALECTS.items():
            evidence = dialect.recognises(item)
            if evidence is Evidence.PROOF:
                return Recognition(name, evidence)
            if evidence is Evidence.HINT and hint is None:
                hint = Recognition(name, evidence)
        if "role" not in item:
            keys = describe_keys(item)
            raise UnknownDialect(f"message {index} has no role, no from and no known type, but {keys}")
    return hint or Recognition(DEFAULT_DIALECT, Evidence.NONE)


def _is_anybodys(raw: object) -> bool:
    """Recognise plain words at a glance: there may be thousands before an item that tells anything."""
    return (
        type(raw) is dict
        and len(raw) == 2
        and type(raw.get("content")) is str
        and raw.get("role") in ("user", "assistant", "system")
    )


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
    """Write messages as wire items; one that says what it was read from is that very object.

    Raises `MalformedMessage` with the index of the first message whose edits the dialect cannot say.
    """
    write = get_dialect(dialect).write
    rendered: list[object] = []
    index = 0
    try:
        for index, message in enumerate(messages):  # noqa: B007 - the error names it
            rendered += write(message)
    except (Unwritable, Unreadable) as error:
        raise MalformedMessage(index, str(error)) from error
    return rendered


def _item_at(index: int, raw: object) -> dict[str, object]:
    try:
        return as_item(raw)
    except Unreadable as error:
        raise MalformedMessage(index, str(error)) from error
