"""A client's request as the gateway reads it, and the request that is sent in its place."""

from collections.abc import Mapping, Sequence

from midfold.errors import DialectError
from midfold.folding import count_leading_system
from midfold.late_dataclasses import dataclass, field, replace
from midfold.messages import Message, MessageCache, chain_digests
from midfold.transcripts import decode_json
from midfold.wire import Request, read_request
from midfold.wire.apis import CLIENT_HINTS, asked_window, find_client_hint
from midfold.wire.validate import continues_stored_history

OWN_HEADER = "x-midfold-session"
HINT_HEADERS = (OWN_HEADER, "x-claude-code-session-id", "session-id")
_MOST_HINT_CHARS = 256


@dataclass(frozen=True, slots=True)
class ClientHistory:
    """The part of a request that identifies the conversation."""

    hint: str
    dialect: str
    chain: Sequence[bytes]
    """the chained digests of its messages, oldest first"""

    settled_length: int = 0
    """how many messages there are up to the newest reply: clients put words behind it that they send once"""

    @classmethod
    def of(cls, messages: Sequence[Message], hint: str, dialect: str) -> "ClientHistory":
        """Identify a conversation by its messages and by what the client calls it."""
        replies = (index for index in range(len(messages), 0, -1) if messages[index - 1].role == "assistant")
        return cls(hint, dialect, chain_digests(messages), next(replies, 0))

    @property
    def end(self) -> bytes:
        return self.chain[-1] if self.chain else b""

    @property
    def settled(self) -> bytes:
        """The chained digest of the newest reply; empty where there is none."""
        return self.chain[self.settled_length - 1] if self.settled_length else b""


@dataclass(frozen=True, slots=True)
class MovedMessage:
    """A message beside the history of a request."""

    message: Message
    behind: int | None
    """how many messages of the history stand behind it; `None` where it stands before all of them"""


@dataclass(frozen=True, slots=True)
class ClientTurn:
    """A request that was read: its messages, and the history that they make."""

    request: Request
    messages: list[Message] = field(repr=False)
    history: ClientHistory = field(repr=False)
    body: bytes = field(repr=False)
    hashes: list[bytes] = field(default_factory=list, repr=False)
    """of what each item of the request says"""
    asked_window: int | None = None
    """the window that the client asks for beyond the model's usual one"""
    moved: tuple[MovedMessage, ...] = field(default=(), repr=False)
    """the messages that were set aside: they are in the body alone"""

    @property
    def model(self) -> str:
        return self.request.model or ""

    def reusing(self, known: Sequence[Message], hashes: Sequence[bytes]) -> "ClientTurn":
        """Return the turn with the messages of the last one where they say the same, by their hashes.

        A client sends fresh JSON; what was read of the very same objects need not be looked at again.
        """
        messages = [
            known[index] if index < len(hashes) and hashes[index] == each else message
            for index, (each, message) in enumerate(zip(self.hashes, self.messages, strict=True))
        ]
        request = replace(self.request, messages=[message.raw for message in messages])
        return replace(self, request=request, messages=messages)

    def with_moved(self, messages: Sequence[Message], items: Sequence[object], kept: int) -> list[object]:
        """Put what was set aside back where it stood among `items`.

        The last `kept` of them are the client's; what stood before those comes behind the summary.
        """
        lead = count_leading_system(messages)
        placed = list(items)
        for moved in reversed(self.moved):
            at = lead if moved.behind is None else max(len(items) - min(moved.behind, kept), lead)
            placed.insert(at, moved.message.raw)
        return placed

    @property
    def output_cap(self) -> int | None:
        return self.request.max_output


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request for the upstream. Sizes are estimated tokens, system prompt and tools included."""

    body: bytes = field(repr=False)
    items: list[object] = field(repr=False)
    """the messages that are sent, before cache breakpoints"""
    is_edited: bool = False
    """whether they are others than the client sent"""
    tokens: int = 0
    client_tokens: int = 0
    """of the request as the client sent it"""
    folds: int = 0
    offloaded: int = 0
    output_cap: int | None = None
    warning: str = ""
    recovered: str = ""
    """what was done after the upstream had refused it"""
    tools: tuple[object, ...] = field(default=(), repr=False)
    """the tools that were added to the client's own"""
    hidden: frozenset[str] = frozenset()
    """their names: the gateway answers them, and the client sees nothing of it"""

    @property
    def saved_tokens(self) -> int:
        return max(self.client_tokens - self.tokens, 0)

    @property
    def is_changed(self) -> bool:
        """Whether the client is told: by then it is not what it sent that is answered."""
        return self.is_edited or bool(self.recovered)

    def with_warning(self, warning: str) -> "PreparedRequest":
        return replace(self, warning=warning) if warning and not self.warning else self


class HostileRequest(Exception):
    """A request is refused, as reading it could only do harm; `str()` says why."""


class UnreadableRequest(Exception):
    """A request is passed on as it is, as nothing can be read of it; `str()` says why."""


def read_turn(body: bytes, dialect: str, headers: Mapping[str, str], cache: MessageCache) -> ClientTurn:
    """Read a request whose body is unpacked; raises `UnreadableRequest` and `HostileRequest`.

    Whether it makes sense is for the upstream to say.
    """
    try:
        decoded = decode_json(body)
        request = read_request(decoded, dialect)
    except RecursionError:
        raise HostileRequest("the body is nested too deeply") from None
    except (ValueError, DialectError) as error:
        if type(error) is ValueError:  # JSON is sound, and has a number that Python would not convert
            raise HostileRequest("the body has a number that is too long") from None
        raise UnreadableRequest(f"its body could not be read ({type(error).__name__})") from None
    if request.raw is None:
        raise UnreadableRequest("its body is no object")
    if continues_stored_history(request.raw):
        raise UnreadableRequest("its history is kept by the provider")
    try:
        read = cache.read_items(request.messages, dialect)
    except RecursionError:
        raise HostileRequest("the body is nested too deeply") from None
    except DialectError as error:
        raise UnreadableRequest(f"its messages could not be read ({type(error).__name__})") from None
    messages = read.messages
    history = ClientHistory.of(messages, find_hint(headers, request.raw), dialect)
    window = asked_window(headers.get("anthropic-beta", ""))
    return ClientTurn(request, messages, history, body, read.hashes, window)


def find_hint(headers: Mapping[str, str], body: Mapping[str, object]) -> str:
    """Return what the client calls the conversation; empty where it calls it nothing."""
    for name in HINT_HEADERS:
        if value := headers.get(name, "").strip():
            return f"{name}:{value}"[:_MOST_HINT_CHARS]
    for name in CLIENT_HINTS:
        if value := find_client_hint(body, name).strip():
            return f"{name}:{value}"[:_MOST_HINT_CHARS]
    return ""
