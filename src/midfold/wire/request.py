"""A request body, or a transcript in the shape of one: messages and what travels beside them."""

from collections.abc import Sequence
from dataclasses import dataclass

from midfold.errors import UnknownDialect
from midfold.wire.dialect import Evidence, Item, describe, describe_keys, plain
from midfold.wire.dialects import DIALECTS, detect, get_dialect, recognise

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
        return {**self.raw, _message_key(self.raw): list(messages)}


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
    """Name the dialect: a body may tell more than its messages, unless one of them is proof."""
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
