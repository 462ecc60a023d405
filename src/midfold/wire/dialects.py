"""The table of dialects, whole lists in them (recognised, read and written), and the request around one."""

from collections.abc import Iterable, Sequence

from midfold.errors import MalformedMessage, UnknownDialect
from midfold.late_dataclasses import dataclass, replace
from midfold.messages import Message
from midfold.wire import anthropic, openai_chat, openai_responses, sharegpt
from midfold.wire.dialect import (
    Dialect,
    Evidence,
    Item,
    Unreadable,
    Unwritable,
    as_item,
    describe,
    describe_keys,
    plain,
)

DIALECTS: dict[str, Dialect] = {
    module.DIALECT.name: module.DIALECT for module in (sharegpt, openai_responses, anthropic, openai_chat)
}
"""In the order in which they are tried: the most distinctive format first."""
DEFAULT_DIALECT = openai_chat.DIALECT.name
"""The dialect of messages that could be anybody's."""


@dataclass(frozen=True, slots=True)
class Recognition:
    """The dialect of a list of items, and how sure that is."""

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
    """Name the dialect of a list of wire items, and how strong the evidence is."""
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
    """Recognise plain words at a glance: there may be thousands before an item that shows anything."""
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


_OUTPUT_CAP_KEYS = ("max_tokens", "max_completion_tokens", "max_output_tokens")


@dataclass(frozen=True, slots=True)
class Request:
    """The content of one call. `raw` is the body it was read from, or `None` for a bare list."""

    dialect: str
    messages: list[object]
    system: object = None
    tools: list[object] | None = None
    model: str | None = None
    max_output: int | None = None
    stream: bool = False
    raw: Item | None = None

    @property
    def counted_as(self) -> str | None:
        """The model whose tokens count: the one that is named, else one of those that the dialect is for."""
        return self.model or get_dialect(self.dialect).counted_as

    @property
    def system_text(self) -> str:
        """The words of the system prompt that travels beside the messages."""
        if isinstance(self.system, str):
            return self.system
        blocks = map(plain, self.system) if isinstance(self.system, list) else ()
        return "\n".join(str(block.get("text", "")) for block in blocks if isinstance(block, dict))

    def with_messages(self, messages: Sequence[object]) -> object:
        """Return the body with other messages in it: a list for a bare list, else a copy of the object."""
        if self.raw is None:
            return list(messages)
        return self.with_body(messages)

    def with_body(self, messages: Sequence[object]) -> Item:
        """Return a copy of the body with other messages in it; only for a request that was read from one."""
        raw = self.raw or {}
        return {**raw, _message_key(raw): list(messages)}

    def with_output_cap(self, cap: int | None) -> "Request":
        """Return the request with another output cap, where its body has one."""
        raw = self.raw or {}
        key = next((key for key in _OUTPUT_CAP_KEYS if raw.get(key) is not None), None)
        return self if key is None else replace(self, max_output=cap, raw={**raw, key: cap})


def read_request(body: object, dialect: str | None = None) -> Request:
    """Read a request body, a saved transcript, or a bare list of messages."""
    body = plain(body)
    if isinstance(body, list):
        return Request(dialect or detect(body), body)
    if not isinstance(body, dict):
        raise UnknownDialect(
            f"expected a list of messages or an object that holds one, found {describe(body)}"
        )
    key = _message_key(body)
    messages = plain(body[key])
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    if not isinstance(messages, list):
        raise UnknownDialect(f"{key} is {describe(messages)}; expected a list of messages")
    spoken = get_dialect(dialect or _dialect_of(body, messages))
    tools = plain(body.get("tools"))
    return Request(
        dialect=spoken.name,
        messages=messages,
        system=plain(body.get(spoken.system_field)) if spoken.system_field else None,
        tools=tools if isinstance(tools, list) else None,
        model=body["model"] if isinstance(body.get("model"), str) else None,
        max_output=_first_count(body),
        stream=body.get("stream") is True,
        raw=body,
    )


def _message_key(body: Item) -> str:
    # The dialects whose messages look like anybody's stand last in the table, and their field comes first.
    for dialect in reversed(DIALECTS.values()):
        for key in dialect.message_fields:
            if body.get(key) is not None:
                return key
    raise UnknownDialect(
        f"expected a list under messages, input or conversations; the keys are {describe_keys(body)}"
    )


def _dialect_of(body: Item, messages: list[object]) -> str:
    """Name the dialect: a body may show more than its messages, unless one of them is proof."""
    found = recognise(messages)
    for name, dialect in DIALECTS.items():
        evidence = dialect.recognises_body(body, messages)
        is_doubtful = found.evidence is not Evidence.PROOF
        if evidence is Evidence.PROOF or (evidence is Evidence.HINT and is_doubtful):
            return name
    return found.dialect


def _first_count(body: Item) -> int | None:
    counts = (body.get(key) for key in _OUTPUT_CAP_KEYS)
    return next((count for count in counts if isinstance(count, int) and not isinstance(count, bool)), None)
